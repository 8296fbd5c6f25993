//! Segments of processes that carry links or stand in for servers: they write down their own stalls, as every process does, cell
//! by cell. Which segment is the present one they are told on standard input, a line of JSON an order, and each is answered by a
//! line on standard output: their APIs have no authentication, and shall name no files.

use std::convert::Infallible;
use std::io::{self, Write as _};
use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use tokio::io::{AsyncBufReadExt as _, BufReader};

use crate::journal::{Journal, Owner};
use crate::stall;

/// What such a process is told.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Order {
    /// A cell begins: what is written down from now on goes there.
    Begin { cell: u32, writer: String, segment: PathBuf },
    /// It has ended, and so does its segment.
    End,
}

/// What came of it.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Outcome {
    pub(crate) failed: Option<String>,
}

/// The segment of such a process, while a cell is under way.
#[derive(Default)]
pub(crate) struct Aside {
    journal: Option<Journal>,
}

impl Aside {
    pub(crate) fn obey(&mut self, order: Order) -> Result<(), String> {
        let ended = self.journal.take().map_or(Ok(()), |journal| journal.end());
        if let Order::Begin { cell, writer, segment } = order {
            let owner = Owner { cell, writer: &writer, host: None, generation: 0 };
            let begun = Journal::create(&segment, &owner).map_err(|error| format!("{}: {error}", segment.display()));
            self.journal = Some(begun?);
        }
        ended
    }

    /// Writes down stalls while there is a segment; never ends.
    pub(crate) async fn write(&self) -> Infallible {
        if let Some(journal) = self.journal.clone() {
            tokio::join!(stall::watch(journal.clone()), journal.flush_forever());
        }
        std::future::pending().await
    }
}

/// Takes orders until standard input ends, and then for ever writes down what there is.
pub(crate) async fn obey() -> io::Result<Infallible> {
    let mut orders = BufReader::new(tokio::io::stdin()).lines();
    let mut aside = Aside::default();
    loop {
        let order = tokio::select! {
            order = orders.next_line() => order?,
            never = aside.write() => match never {},
        };
        let Some(order) = order else { match aside.write().await {} };
        let outcome = match serde_json::from_str(&order) {
            Ok(order) => aside.obey(order),
            Err(error) => Err(format!("this is no order: {error}")),
        };
        let mut out = io::stdout().lock();
        serde_json::to_writer(&mut out, &Outcome { failed: outcome.err() })?;
        out.write_all(b"\n")?;
        out.flush()?;
    }
}
