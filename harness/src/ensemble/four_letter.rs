//! ZooKeeper's four-letter words: one word out, text back until the server closes. Bounded in time and size.

use std::io;
use std::net::SocketAddr;
use std::time::Duration;

use hustings_record::ServerMetrics;
use hustings_reports::render::clean_short;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::timeout;

/// The longest reply that is read: `cons` of a full server has some 200 bytes per connection.
const ANSWER_BYTES_MAX: u64 = 64 << 20;
/// The longest part of a reply that is shown: another program may answer.
const SHOWN_CHARS_MAX: usize = 80;

#[derive(Debug, thiserror::Error)]
pub enum FourLetterError {
    #[error("{word} to {addr}: {source}")]
    Io { word: &'static str, addr: SocketAddr, source: io::Error },
    #[error("{word} to {addr}: no complete answer within {} s", .within.as_secs_f64())]
    TimedOut { word: &'static str, addr: SocketAddr, within: Duration },
    #[error("{word} to {addr}: the answer is longer than {ANSWER_BYTES_MAX} bytes")]
    TooLong { word: &'static str, addr: SocketAddr },
    #[error(
        "{word} was refused ({reply}); the server must be configured with 4lw.commands.whitelist=* or one that holds it"
    )]
    Refused { word: &'static str, reply: String },
}

/// Sends `word` to the client port at `addr` and returns the whole reply.
///
/// # Errors
/// The server cannot be reached, does not end its reply `within` that time, or does not allow the word.
pub async fn ask(addr: SocketAddr, word: &'static str, within: Duration) -> Result<String, FourLetterError> {
    ask_over(TcpStream::connect(addr), addr, word, within).await
}

/// As [`ask`], over the connection to `addr` that `connecting` makes.
///
/// # Errors
/// As for [`ask`].
pub async fn ask_over<S: AsyncRead + AsyncWrite + Unpin>(
    connecting: impl Future<Output = io::Result<S>>,
    addr: SocketAddr,
    word: &'static str,
    within: Duration,
) -> Result<String, FourLetterError> {
    let exchange = async {
        let mut stream = connecting.await?;
        stream.write_all(word.as_bytes()).await?;
        let mut answer = Vec::new();
        match stream.take(ANSWER_BYTES_MAX + 1).read_to_end(&mut answer).await {
            // A TLS connection that ends without a closing message.
            Err(error) if error.kind() != io::ErrorKind::UnexpectedEof => Err(error),
            _ => Ok(answer),
        }
    };
    let answer = match timeout(within, exchange).await {
        Ok(Ok(answer)) => answer,
        Ok(Err(source)) => return Err(FourLetterError::Io { word, addr, source }),
        Err(_) => return Err(FourLetterError::TimedOut { word, addr, within }),
    };
    if answer.len() as u64 > ANSWER_BYTES_MAX {
        return Err(FourLetterError::TooLong { word, addr });
    }
    let text = String::from_utf8_lossy(&answer).into_owned();
    if text.contains("is not executed because it is not in the whitelist") {
        return Err(FourLetterError::Refused { word, reply: shown(&text) });
    }
    Ok(text)
}

/// A part of a reply as it can be shown: one short line.
#[must_use]
pub fn shown(reply: &str) -> String {
    clean_short(reply.trim(), SHOWN_CHARS_MAX)
}

/// Numeric lines of `mntr`, without the `zk_` prefix. Omits lines that are not numbers (version, state, NaN).
#[must_use]
pub fn parse_mntr(text: &str) -> ServerMetrics {
    text.lines()
        .filter_map(|line| {
            let (key, value) = line.split_once('\t')?;
            let value: f64 = value.trim().parse().ok()?;
            value.is_finite().then(|| (key.strip_prefix("zk_").unwrap_or(key).to_owned(), value))
        })
        .collect()
}

/// The mode that `srvr` reports (`leader`, `follower`, `standalone`, …); None while the server does not serve.
#[must_use]
pub fn mode(srvr: &str) -> Option<&str> {
    srvr.lines().find_map(|line| line.strip_prefix("Mode: ")).map(str::trim)
}

/// The last processed zxid that `srvr` reports.
#[must_use]
pub fn zxid(srvr: &str) -> Option<i64> {
    let digits = srvr.lines().find_map(|line| line.strip_prefix("Zxid: 0x"))?;
    u64::from_str_radix(digits.trim(), 16).ok().map(u64::cast_signed)
}

/// The version that `srvr` reports, as `3.8.0`: the text before the first `-` or `,`, as it can be [`shown`].
#[must_use]
pub fn version(srvr: &str) -> Option<String> {
    let line = srvr.lines().find_map(|line| line.strip_prefix("Zookeeper version: "))?;
    line.split(['-', ',']).next().map(shown).filter(|version| !version.is_empty())
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use tokio::io::{AsyncReadExt, AsyncWriteExt};

    use super::{FourLetterError, ask, mode, parse_mntr, version, zxid};

    #[test]
    fn mntr_keeps_finite_numbers_and_drops_the_prefix() {
        let metrics =
            parse_mntr("zk_version\t3.8.0-x, built\nzk_znode_count\t5\nzk_avg_latency\t0.25\nodd\t7\nzk_p50\tNaN\n\nx");
        assert_eq!(
            metrics.into_iter().collect::<Vec<_>>(),
            [("avg_latency".to_owned(), 0.25), ("odd".to_owned(), 7.0), ("znode_count".to_owned(), 5.0)]
        );
    }

    #[test]
    fn srvr_gives_mode_and_version_only_when_they_are_there() {
        let text = "Zookeeper version: 3.8.0-${mvngit.commit.id}, built on 2022\nZxid: 0x20000001f\nMode: follower\n";
        assert_eq!((mode(text), version(text).as_deref()), (Some("follower"), Some("3.8.0")));
        assert_eq!((zxid(text), zxid("Zxid: -")), (Some(0x2_0000_001f), None));
        let idle = "This ZooKeeper instance is not currently serving requests\n";
        assert_eq!((mode(idle), version(idle)), (None, None));
    }

    #[test]
    fn a_version_is_a_short_line_that_does_nothing_on_a_terminal() {
        let srvr = format!("Zookeeper version: 3\u{1b}]0;x\u{7}\u{202e}{}, built\nMode: leader\n", "9".repeat(100_000));
        let version = version(&srvr).expect("a version");
        assert!(version.starts_with("3\u{fffd}]0;x\u{fffd}\u{fffd}99") && version.ends_with('…'), "{version:?}");
        assert!(version.chars().count() <= 80, "{}", version.len());
    }

    /// A server that reads the word, replies with `reply`, and then either closes or hangs.
    async fn against(reply: &'static str, close: bool) -> Result<String, FourLetterError> {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let addr = listener.local_addr().expect("its address");
        let server = async {
            let (mut stream, _) = listener.accept().await.expect("a client");
            stream.read_exact(&mut [0; 4]).await.expect("a word");
            stream.write_all(reply.as_bytes()).await.expect("sent");
            if !close {
                tokio::time::sleep(Duration::from_secs(600)).await;
            }
        };
        let client = ask(addr, "ruok", Duration::from_millis(200));
        tokio::select! {
            biased;
            answer = client => answer,
            () = async { server.await; std::future::pending::<()>().await } => unreachable!("the client ends first"),
        }
    }

    #[tokio::test]
    async fn an_answer_ends_when_the_server_closes() {
        assert_eq!(against("imok", true).await.expect("answered"), "imok");
    }

    #[tokio::test]
    async fn a_server_that_hangs_is_given_up() {
        assert!(matches!(against("im", false).await, Err(FourLetterError::TimedOut { .. })));
    }

    #[tokio::test]
    async fn a_word_that_is_not_allowed_is_an_error() {
        let said = against("ruok is not executed because it is not in the whitelist.\n", true).await;
        assert!(matches!(said, Err(FourLetterError::Refused { .. })));
    }
}
