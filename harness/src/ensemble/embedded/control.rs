//! Faults on embedded servers. They are all of one process, which does to each what signals and cut links do to processes;
//! where the effect can be seen from outside, that is looked at too.

use std::io;
use std::time::Duration;

use futures::future::LocalBoxFuture;
use tokio::net::TcpStream;
use tokio::time::timeout;

use super::super::control::{PartitionEvidence, ServerEvidence};
use super::super::four_letter;
use super::super::{EnsembleError, ServerControl};
use crate::sidecar;
use crate::wire::serve::{NOT_PAUSED, PAUSED_ALREADY};

use super::{EmbeddedEnsemble, EmbeddedError, ServerOrder};

const ANSWERS_WITHIN: Duration = Duration::from_secs(5);

impl ServerControl for EmbeddedEnsemble {
    fn kill(&self, server: u32) -> LocalBoxFuture<'_, ServerEvidence> {
        Box::pin(async move {
            let seen = self.one(server, "killed", ServerOrder::Kill { server }).await?;
            match timeout(ANSWERS_WITHIN, TcpStream::connect(self.address(server)?)).await {
                Ok(Err(error)) if error.kind() == io::ErrorKind::ConnectionRefused => {
                    Ok(format!("server {server}: {seen}; a connection is refused"))
                }
                other => Err(cannot(server, "killed", format!("{seen}, and a connection is not refused: {other:?}"))),
            }
        })
    }

    fn start(&self, server: u32, empty: bool) -> LocalBoxFuture<'_, ServerEvidence> {
        Box::pin(async move {
            let seen = self.one(server, "started", ServerOrder::Start { server, empty }).await?;
            self.answers(server, "started", seen).await
        })
    }

    fn pause(&self, server: u32) -> LocalBoxFuture<'_, ServerEvidence> {
        Box::pin(async move {
            let seen = self.one(server, "paused", ServerOrder::Pause { server }).await?;
            Ok(format!("server {server}: {seen}"))
        })
    }

    fn resume(&self, server: u32) -> LocalBoxFuture<'_, ServerEvidence> {
        Box::pin(async move {
            let seen = self.one(server, "resumed", ServerOrder::Resume { server }).await?;
            self.answers(server, "resumed", seen).await
        })
    }

    fn cut_noting<'a>(&'a self, servers: &'a [u32], in_effect: &'a dyn Fn()) -> LocalBoxFuture<'a, PartitionEvidence> {
        Box::pin(async move {
            let text = self.several(servers, "cut off", ServerOrder::Cut { servers: servers.to_vec() }).await?;
            in_effect();
            Ok((text, None))
        })
    }

    fn rejoin<'a>(&'a self, servers: &'a [u32]) -> LocalBoxFuture<'a, ServerEvidence> {
        Box::pin(self.several(servers, "rejoined", ServerOrder::Rejoin { servers: servers.to_vec() }))
    }
}

impl EmbeddedEnsemble {
    fn address(&self, server: u32) -> Result<std::net::SocketAddr, EnsembleError> {
        let at = usize::try_from(server).ok().and_then(|server| server.checked_sub(1));
        at.and_then(|at| self.addresses.get(at)).copied().ok_or(EnsembleError::NoSuchServer(server))
    }

    pub(super) async fn one(&self, server: u32, what: &'static str, order: ServerOrder) -> ServerEvidence {
        self.address(server)?;
        self.obeyed(&order).await?.map_err(|why| {
            let is_in_effect = [NOT_PAUSED, PAUSED_ALREADY].contains(&why.as_str());
            let error = cannot(server, what, why);
            if is_in_effect { error.in_effect() } else { error }
        })
    }

    /// Has the process write down its own stalls.
    pub(super) async fn record(&self, order: sidecar::SidecarOrder) -> anyhow::Result<()> {
        let obeyed = self.obeyed(&ServerOrder::Record { order }).await?;
        obeyed.map(drop).map_err(|why| anyhow::anyhow!("the servers' process cannot write down its own stalls: {why}"))
    }

    async fn several(&self, servers: &[u32], what: &'static str, order: ServerOrder) -> ServerEvidence {
        let address = servers.iter().try_for_each(|server| self.address(*server).map(drop));
        address?;
        let seen = self.obeyed(&order).await?;
        seen.map(|seen| format!("servers {servers:?}: {seen}")).map_err(|why| EnsembleError::Cut {
            servers: servers.to_vec(),
            what,
            why,
        })
    }

    async fn answers(&self, server: u32, what: &'static str, seen: String) -> ServerEvidence {
        match four_letter::ask(self.address(server)?, "ruok", ANSWERS_WITHIN).await {
            Ok(answer) if answer == "imok" => Ok(format!("server {server}: {seen}; it answers imok")),
            other => Err(cannot(server, what, format!("{seen}, and it does not answer ruok: {other:?}"))),
        }
    }

    /// Orders are given one at a time, and none after one that was not answered.
    async fn obeyed(&self, order: &ServerOrder) -> Result<Result<String, String>, EnsembleError> {
        let mut process = self.process.lock().await;
        let Some(process) = process.as_mut() else { return Ok(Err("the ensemble was stopped".into())) };
        if self.unanswered.get() {
            return Err(EmbeddedError::Unanswered.into());
        }
        // The wait for such an answer ends early only if an interrupted run gives the process up.
        self.unanswered.set(matches!(order, ServerOrder::Record { .. }));
        let obeyed = process.obey(order).await;
        self.unanswered.set(obeyed.is_err());
        obeyed.map_err(|error| EmbeddedError::Died { status: error.to_string() }.into())
    }
}

fn cannot(server: u32, what: &'static str, why: impl ToString) -> EnsembleError {
    EnsembleError::Control { server, what, why: why.to_string() }
}
