//! Segments of processes that carry links or act as servers. They record their own stalls cell by cell, as every
//! process does. Orders select the current segment: one line of JSON each on standard input, answered by a line on
//! standard output. Their APIs have no authentication, so they must not accept file names.

mod recorder;

use std::convert::Infallible;
use std::io::{self, Write as _};
use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use tokio::io::{AsyncBufReadExt as _, BufReader};

use crate::proxy::Taps;
use crate::recording::journal::{Journal, SegmentOwner};
use crate::recording::stall;
pub(crate) use recorder::LinkHosts;
pub(crate) use recorder::Recorder;

/// An order to such a process.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum SidecarOrder {
    /// A cell begins: records go to this segment from now on, with the traffic of its links if requested.
    Begin {
        cell: u32,
        writer: String,
        segment: PathBuf,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        witnessed: Option<LinkHosts>,
    },
    /// The cell and its segment end.
    End,
}

/// The result of an order.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct SidecarOutcome {
    pub(crate) failed: Option<String>,
}

/// The segment of such a process during a cell.
#[derive(Default)]
pub(crate) struct Sidecar {
    /// Access to the traffic, if the process forwards any.
    taps: Option<Taps>,
    journal: Option<Journal>,
    recorder: Option<Recorder>,
}

impl Sidecar {
    /// The segment of a process that carries links.
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
            self.journal = Some(Journal::create(&segment, &owner).map_err(|error| error.to_string())?);
        }
        ended
    }

    /// Records stalls and traffic while a segment is open. Never returns.
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

/// Executes orders until standard input ends, and then continues to record.
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
