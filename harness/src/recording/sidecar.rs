//! Segments of processes that carry links or stand in for servers: they write down their own stalls, as every process does, cell
//! by cell. Which segment is the present one they are told on standard input, a line of JSON an order, and each is answered by a
//! line on standard output: their APIs have no authentication, and shall name no files.

use std::convert::Infallible;
use std::io::{self, Write as _};
use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use tokio::io::{AsyncBufReadExt as _, BufReader};

use crate::process::stall;
use crate::proxy::Taps;
use crate::recording::journal::{Journal, SegmentOwner};
use crate::witness::{Recorder, Witnessed};

/// What such a process is told.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum SidecarOrder {
    /// A cell begins: what is written down from now on goes there; with what passes on its links, if that is wanted.
    Begin {
        cell: u32,
        writer: String,
        segment: PathBuf,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        witnessed: Option<Witnessed>,
    },
    /// It has ended, and so does its segment.
    End,
}

/// What came of it.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct SidecarOutcome {
    pub(crate) failed: Option<String>,
}

/// The segment of such a process, while a cell is under way.
#[derive(Default)]
pub(crate) struct Sidecar {
    /// What tells of what passes here, if anything passes.
    taps: Option<Taps>,
    journal: Option<Journal>,
    recorder: Option<Recorder>,
}

impl Sidecar {
    /// That of a process that carries links.
    pub(crate) fn of_links(taps: Taps) -> Self {
        Self { taps: Some(taps), ..Self::default() }
    }

    pub(crate) fn obey(&mut self, order: SidecarOrder) -> Result<(), String> {
        if let (Some(recorder), Some(journal)) = (self.recorder.take(), &self.journal) {
            recorder.end(journal);
        }
        let ended = self.journal.take().map_or(Ok(()), |journal| journal.end());
        if let SidecarOrder::Begin { cell, writer, segment, witnessed } = order {
            self.recorder = self.taps.as_ref().zip(witnessed).map(|(taps, of)| Recorder::begin(taps, of));
            let owner = SegmentOwner { cell, writer: &writer, host: None, generation: 0 };
            let begun = Journal::create(&segment, &owner).map_err(|error| format!("{}: {error}", segment.display()));
            self.journal = Some(begun?);
        }
        ended
    }

    /// Writes down stalls, and what passes, while there is a segment; never ends.
    pub(crate) async fn write(&mut self) -> Infallible {
        if let Some(journal) = self.journal.clone() {
            let passes = async {
                match &mut self.recorder {
                    Some(recorder) => recorder.write(&journal).await,
                    None => std::future::pending().await,
                }
            };
            tokio::join!(stall::watch(journal.clone()), journal.clone().flush_forever(), passes);
        }
        std::future::pending().await
    }
}

/// Takes orders until standard input ends, and then for ever writes down what there is.
pub(crate) async fn obey(mut sidecar: Sidecar) -> io::Result<Infallible> {
    let mut orders = BufReader::new(tokio::io::stdin()).lines();
    loop {
        let order = tokio::select! {
            order = orders.next_line() => order?,
            never = sidecar.write() => match never {},
        };
        let Some(order) = order else { match sidecar.write().await {} };
        let outcome = match serde_json::from_str(&order) {
            Ok(order) => sidecar.obey(order),
            Err(error) => Err(format!("this is no order: {error}")),
        };
        let mut out = io::stdout().lock();
        serde_json::to_writer(&mut out, &SidecarOutcome { failed: outcome.err() })?;
        out.write_all(b"\n")?;
        out.flush()?;
    }
}
