//! Logs of containers; each line has the time at which the engine received it.

use bollard::container::LogOutput;
use bollard::query_parameters::LogsOptionsBuilder;
use futures::{StreamExt as _, TryStreamExt as _};

use super::super::{EnsembleError, log};
use super::engine::Engine;

/// The longest log that is read.
const LOG_BYTES_MAX: usize = 256 << 20;
/// Lines of a log's end that an error message may need.
const TAIL_LINES: u32 = 200;

/// Everything that a container has logged, on both streams, in order of time.
pub(super) async fn all(engine: &Engine, container: &str) -> Result<String, EnsembleError> {
    read(engine, container, "all").await
}

/// The last lines of a container's log, without their times, indented; empty if there are none or the read fails.
pub(super) async fn tail(engine: &Engine, container: &str) -> String {
    let text = read(engine, container, &TAIL_LINES.to_string()).await.unwrap_or_default();
    let bare = text.lines().map(|line| line.split_once(' ').map_or("", |(_, said)| said));
    log::tail(&bare.collect::<Vec<_>>().join("\n"))
}

async fn read(engine: &Engine, container: &str, lines: &str) -> Result<String, EnsembleError> {
    let options = LogsOptionsBuilder::new().stdout(true).stderr(true).timestamps(true).tail(lines).build();
    let mut left = LOG_BYTES_MAX;
    let parts = engine.docker.logs(container, Some(options)).take_while(move |part| {
        let length = part.as_ref().map_or(0, |part| part.as_ref().len());
        let fits = length <= left;
        left = left.saturating_sub(length);
        std::future::ready(fits)
    });
    let parts: Vec<LogOutput> = engine.call(format!("read the log of {container}"), parts.try_collect()).await?;
    Ok(in_order(&parts.iter().map(|part| String::from_utf8_lossy(part.as_ref())).collect::<String>()))
}

/// Sorts lines by their leading times, which have a fixed length. Lines of equal time keep their order.
fn in_order(text: &str) -> String {
    let mut lines: Vec<&str> = text.lines().collect();
    lines.sort_by_key(|line| line.split(' ').next().unwrap_or_default());
    lines.iter().flat_map(|line| [line, "\n"]).collect()
}

#[cfg(test)]
mod tests {
    use super::in_order;

    #[test]
    fn lines_of_both_streams_are_told_in_the_order_of_time() {
        let text =
            "2025-01-01T00:00:01.5Z b\n2025-01-01T00:00:02.0Z d\n2025-01-01T00:00:01.0Z a\n2025-01-01T00:00:01.5Z c\n";
        let lines: Vec<_> = in_order(text).lines().map(|line| line.split(' ').nth(1).unwrap().to_owned()).collect();
        assert_eq!(lines, ["a", "b", "c", "d"]);
    }
}
