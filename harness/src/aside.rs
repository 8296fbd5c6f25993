//! Segments of processes that carry links: they write down their own stalls, as every process does, cell by cell. Which segment
//! is the present one they are told on standard input, a line of JSON an order, and each is answered by a line on standard
//! output: their APIs have no authentication, and shall name no files.

use std::io::{self, Write as _};
use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use tokio::io::{AsyncBufReadExt as _, BufReader};

use crate::journal::{Journal, Owner};
use crate::stall;

/// What such a process is told.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Order {
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

/// Takes orders until standard input ends, and then for ever writes down what there is.
pub(crate) async fn obey() -> io::Result<()> {
    let mut orders = BufReader::new(tokio::io::stdin()).lines();
    let mut journal: Option<Journal> = None;
    loop {
        let order = tokio::select! {
            order = orders.next_line() => order?,
            () = write(journal.clone()) => None,
        };
        let Some(order) = order else {
            write(journal).await;
            return Ok(());
        };
        let outcome = match serde_json::from_str(&order) {
            Ok(order) => carry_out(order, &mut journal),
            Err(error) => Err(format!("this is no order: {error}")),
        };
        let mut out = io::stdout().lock();
        serde_json::to_writer(&mut out, &Outcome { failed: outcome.err() })?;
        out.write_all(b"\n")?;
        out.flush()?;
    }
}

/// Writes down stalls while there is a segment; never ends.
async fn write(journal: Option<Journal>) {
    match journal {
        Some(journal) => {
            tokio::join!(stall::watch(journal.clone()), journal.flush_forever());
        }
        None => std::future::pending().await,
    }
}

fn carry_out(order: Order, journal: &mut Option<Journal>) -> Result<(), String> {
    let ended = journal.take().map_or(Ok(()), |journal| journal.end());
    if let Order::Begin { cell, writer, segment } = order {
        let owner = Owner { cell, writer: &writer, host: None, generation: 0 };
        let begun = Journal::create(&segment, &owner).map_err(|error| format!("{}: {error}", segment.display()));
        *journal = Some(begun?);
    }
    ended
}
