//! The paths of programs, and of recipes with equal paths: to the servers through relays that decode the traffic, and
//! to the resource over HTTP. They have their own thread, so that a relay never waits for other work of the host.

use std::collections::BTreeMap;
use std::rc::Rc;
use std::sync::Arc;

use anyhow::Context as _;
use hustings_record::{Nanos, Token};
use tokio::runtime::Builder;
use tokio::sync::{mpsc, oneshot};
use tokio::task::LocalSet;

use crate::foreign::intake::{Intake, PendingWrite, WriteStatement};
use crate::foreign::resource::Resource;
use crate::process::clock;
use crate::witness::{Relay, RelayCallback, RelayEvent, RelayLines};

/// Open until dropped.
pub(super) struct Paths {
    /// The candidates' connect string: the relays, and the root of their znodes.
    pub(super) cluster: String,
    /// The connect string of this process itself, with relays of its own: equally many hops, without counting as a
    /// candidate.
    pub(super) own_cluster: String,
    /// The candidates' connections.
    pub(super) lines: Arc<RelayLines>,
    /// The URL for each candidate's writes.
    addresses: BTreeMap<u32, String>,
    resource: Resource,
    _open: oneshot::Sender<()>,
}

/// Input from the paths.
pub(super) struct Streams {
    /// Writes of candidates.
    pub(super) writes: mpsc::Receiver<PendingWrite>,
    /// Traffic on their connections. Each event is queued here before the data is forwarded. So it is available here
    /// before any consequence can be observed.
    pub(super) passed: mpsc::UnboundedReceiver<PathEvent>,
}

/// An event on a candidate's connection, at `t`.
pub(super) struct PathEvent {
    pub(super) t: Nanos,
    pub(super) connection: u64,
    pub(super) what: RelayEvent,
}

impl Paths {
    /// Opens them for these candidates, to the servers of this connect string.
    ///
    /// # Errors
    /// There is no thread or no port, or a server's address is invalid.
    pub(super) async fn open(cluster: &str, candidates: Vec<u32>) -> anyhow::Result<(Self, Streams)> {
        let (open, dropped) = oneshot::channel();
        let (tell, told) = oneshot::channel();
        let (pass, passed) = mpsc::unbounded_channel();
        let lines = Arc::<RelayLines>::default();
        let (cluster, theirs) = (cluster.to_owned(), lines.clone());
        let work = move || {
            let served = Builder::new_current_thread().enable_all().build().map(|runtime| {
                LocalSet::new().block_on(&runtime, async move {
                    let heard: RelayCallback = Rc::new(move |connection, what| {
                        // There is no receiver where candidates report their own actions.
                        let _ = pass.send(PathEvent { t: clock::now(), connection, what });
                    });
                    match PathHandles::open(&cluster, &candidates, &theirs, heard).await {
                        Ok((opened, writes)) => {
                            // The caller may be gone.
                            let _ = tell.send(Ok((opened.clusters.clone(), opened.addresses(&candidates), writes)));
                            let _ = dropped.await;
                        }
                        Err(error) => _ = tell.send(Err(error)),
                    }
                });
            });
            // No result is sent then, so the caller gets an error.
            served.unwrap_or_else(|error| tracing::error!(%error, "no async runtime"));
        };
        std::thread::Builder::new().name("paths".to_owned()).spawn(work).context("no thread for the paths")?;
        let ([cluster, own_cluster], addresses, writes) = told.await.context("the thread of the paths has ended")??;
        let resource = Resource::new().context("no client for writes")?;
        let paths = Self { cluster, own_cluster, lines, addresses, resource, _open: open };
        Ok((paths, Streams { writes, passed }))
    }

    /// The URL for a candidate's writes.
    pub(super) fn address(&self, cand: u32) -> &str {
        self.addresses.get(&cand).map_or("", String::as_str)
    }

    /// Sends a write for a candidate, begun at `t`, and waits for the reply.
    pub(super) async fn write(&self, cand: u32, token: Token, t: Nanos) {
        let said = WriteStatement { token: Some(token.czxid), t: Some(t), term: None };
        self.resource.write(self.address(cand), &said).await;
    }
}

/// Objects that the thread keeps open.
struct PathHandles {
    _relays: [Vec<Relay>; 2],
    clusters: [String; 2],
    intake: Intake,
}

impl PathHandles {
    async fn open(
        cluster: &str,
        candidates: &[u32],
        lines: &Arc<RelayLines>,
        tell: RelayCallback,
    ) -> anyhow::Result<(Self, mpsc::Receiver<PendingWrite>)> {
        let (theirs, their_cluster) = Relay::open_before(cluster, lines, &tell).await?;
        let unheard: RelayCallback = Rc::new(|_, _| {});
        let (own, own_cluster) = Relay::open_before(cluster, &Arc::default(), &unheard).await?;
        let (intake, writes) = Intake::open(candidates.iter().copied()).await?;
        Ok((Self { _relays: [theirs, own], clusters: [their_cluster, own_cluster], intake }, writes))
    }

    fn addresses(&self, candidates: &[u32]) -> BTreeMap<u32, String> {
        candidates.iter().filter_map(|&cand| Some((cand, self.intake.url(cand)?))).collect()
    }
}

#[cfg(test)]
mod tests {
    use hustings_workloads::model::{Connect, ConnectResponse};
    use tokio::io::AsyncWriteExt as _;
    use tokio::net::{TcpListener, TcpStream};

    use super::*;
    use crate::foreign::intake::{FenceDecision, ResourceAnswer};
    use crate::wire::connect::{write_connect, write_connected};
    use crate::wire::end::addresses;
    use crate::wire::stream::read_frame;

    #[tokio::test]
    async fn they_lead_to_servers_and_resource_until_they_are_dropped() {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let server = listener.local_addr().expect("its address").to_string();
        let (paths, Streams { mut writes, mut passed }) =
            Paths::open(&format!("{server}/root"), vec![3, 4]).await.expect("paths");
        assert!(paths.cluster.ends_with("/root") && !paths.cluster.starts_with(&server), "{}", paths.cluster);

        let relay = addresses(&paths.cluster).next().expect("a relay").to_owned();
        let mut client = TcpStream::connect(relay).await.expect("it listens");
        let (mut served, _) = listener.accept().await.expect("it passes clients on");
        client.write_all(&write_connect(&Connect::default())).await.expect("sent");
        read_frame(&mut served).await.expect("it is passed on");
        let granted = ConnectResponse { session: 7, password: [1; 16], timeout_ms: 2_000 };
        served.write_all(&write_connected(&granted, true)).await.expect("sent");
        read_frame(&mut client).await.expect("it is passed back");
        // It was queued before it was forwarded.
        let told = std::iter::from_fn(|| passed.try_recv().ok().map(|passed| passed.what)).collect::<Vec<_>>();
        assert!(
            matches!(
                &told[..],
                [RelayEvent::Opened, RelayEvent::Said(crate::witness::DecodedMessage::Established { session: 7, .. })]
            ),
            "{told:?}"
        );
        assert_eq!(
            (paths.lines.holders(7), paths.lines.holders(8)),
            (vec![server.parse().expect("an address")], vec![])
        );

        let takes = async {
            let PendingWrite { slot, said, answer, .. } = writes.recv().await.expect("a write");
            answer.send(ResourceAnswer { seq: 0, fenced: FenceDecision::Taken }).expect("who asked is there");
            (slot, said.token, said.t)
        };
        let ((), written) = tokio::join!(paths.write(4, Token { czxid: 77, session: 1 }, 5), takes);
        assert_eq!(written, (4, Some(77), Some(5)));

        drop(paths);
        assert!(read_frame(&mut served).await.is_err(), "the relay is gone");
        assert!(writes.recv().await.is_none(), "and so is what took writes");
    }

    #[tokio::test]
    async fn what_is_no_server_is_said() {
        let error = Paths::open("localhost:here", vec![0]).await.err().expect("an error");
        assert!(error.to_string().contains("localhost:here is no address"), "{error:#}");
    }
}
