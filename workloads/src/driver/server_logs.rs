//! What the servers log while a cell is under way: their elections, and their pauses.

use hustings_record::{Event, Nanos};

use super::backend::Backend;

/// Logs tell milliseconds.
const LOG_PRECISION_NS: Nanos = 1_000_000;

/// From when on what is logged is of this cell.
#[must_use]
pub(super) struct ServerLogs {
    began: Nanos,
    /// The clock of logs when it began.
    log_clock: (i64, Nanos),
}

impl ServerLogs {
    pub(super) fn begin<B: Backend>(backend: &B) -> Self {
        Self { began: backend.now(), log_clock: backend.log_clock() }
    }

    /// Writes down what was logged meanwhile, and how far its times may be off.
    pub(super) async fn end<B: Backend>(self, backend: &B) {
        let ((before, read), (ahead_ns, read_again)) = (self.log_clock, backend.log_clock());
        let bound_ns = before.abs_diff(ahead_ns) + read + read_again + LOG_PRECISION_NS;
        backend.record(Event::LogClock { t: backend.now(), ahead_ns, bound_ns });
        for server in 1..=backend.servers() {
            match backend.server_log(server).await {
                // Older lines are not of this cell.
                Ok(lines) => lines.into_iter().filter(|(t, _)| *t >= self.began).for_each(|(t, line)| {
                    backend.record(Event::ServerLog { t, server, line });
                }),
                Err(text) => backend.record(Event::Note { t: backend.now(), cand: None, text }),
            }
        }
    }
}
