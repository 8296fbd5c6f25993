//! The servers' log lines while a cell runs: their elections and their pauses.

use hustings_record::{Event, Nanos};

use super::backend::Backend;

/// Logs have millisecond precision.
const LOG_PRECISION_NS: Nanos = 1_000_000;

/// Marks the start of the log lines that belong to this cell.
#[must_use]
pub(super) struct ServerLogs {
    began: Nanos,
    /// Clock offset of the logs at that start.
    log_clock: (i64, Nanos),
}

impl ServerLogs {
    pub(super) fn begin<B: Backend>(backend: &B) -> Self {
        Self { began: backend.now(), log_clock: backend.log_clock() }
    }

    /// Records the lines logged since then, and the bound on the error of their times.
    pub(super) async fn end<B: Backend>(self, backend: &B) {
        let ((before, read), (ahead_ns, read_again)) = (self.log_clock, backend.log_clock());
        let bound_ns = before.abs_diff(ahead_ns) + read + read_again + LOG_PRECISION_NS;
        backend.record(Event::LogClock { t: backend.now(), ahead_ns, bound_ns });
        for server in 1..=backend.servers() {
            match backend.server_log(server).await {
                // Older lines belong to other cells.
                Ok(lines) => lines.into_iter().filter(|(t, _)| *t >= self.began).for_each(|(t, line)| {
                    backend.record(Event::ServerLog { t, server, line });
                }),
                Err(text) => backend.record(Event::Note { t: backend.now(), cand: None, text }),
            }
        }
    }
}
