//! What answers at an address where the API of a Toxiproxy is expected, or wanted.

use std::io::{ErrorKind, Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use hustings_record::words::quoted;
use hustings_reports::render::clean_short;
use serde_json::Value;

/// Limit of the wait for a connection, and for the beginning of an answer.
const WITHIN: Duration = Duration::from_secs(1);
const ANSWER_BYTES_MAX: usize = 512;
const VERSION_CHARS_MAX: usize = 40;

/// The answer to a request for a Toxiproxy's version.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum VersionAnswer {
    /// That of a Toxiproxy of this version.
    Toxiproxy(String),
    /// That of another program: completes "asked for its version, it …".
    Other(String),
}

/// Asks for the version, and reads the beginning of the answer. None: nothing accepts a connection, or answers in time.
/// Blocks for two seconds at most.
pub(crate) fn version_at(api: SocketAddr) -> Option<VersionAnswer> {
    let mut stream = TcpStream::connect_timeout(&api, WITHIN).ok()?;
    stream.set_read_timeout(Some(WITHIN)).ok()?;
    // A program that closes at once is read as such.
    let _ = stream.write_all(format!("GET /version HTTP/1.0\r\nHost: {api}\r\n\r\n").as_bytes());
    let mut answer = [0; ANSWER_BYTES_MAX];
    let bytes = match stream.read(&mut answer) {
        Ok(bytes) => bytes,
        Err(error) if error.kind() == ErrorKind::ConnectionReset => 0,
        Err(_) => return None,
    };
    let text = String::from_utf8_lossy(answer.get(..bytes).unwrap_or_default());
    let body = text.strip_prefix("HTTP/").and_then(|http| http.split_once("\r\n\r\n"));
    Some(match body.and_then(|(_, body)| version(body)) {
        Some(version) => VersionAnswer::Toxiproxy(version),
        None if bytes == 0 => VersionAnswer::Other("closes the connection without an answer".to_owned()),
        None => VersionAnswer::Other(answers(text.lines().next().unwrap_or_default())),
    })
}

/// The version in the answer of a Toxiproxy, which is `{"version": "2.9.0"}` or `2.1.4`. Built from source, it says `git`.
pub(super) fn version(answer: &str) -> Option<String> {
    let value: Option<Value> = serde_json::from_str(answer).ok();
    let version = value.as_ref().and_then(|value| value["version"].as_str()).unwrap_or(answer.trim());
    let number = version.split_once('.').is_some_and(|(major, _)| major.parse::<u32>().is_ok());
    let is_one = number || version.starts_with("git");
    is_one.then(|| clean_short(version, VERSION_CHARS_MAX))
}

/// As in [`VersionAnswer::Other`].
pub(super) fn answers(text: &str) -> String {
    format!("answers {}", quoted(text.trim()))
}

#[cfg(test)]
mod tests {
    use std::io::{Read as _, Write as _};
    use std::net::TcpListener;
    use std::thread;

    use super::{ANSWER_BYTES_MAX, VersionAnswer, WITHIN, version_at};

    /// What is told of a program that reads a request, answers so, and closes. None: it never answers.
    fn version_answer(answer: Option<&'static str>) -> Option<VersionAnswer> {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let api = listener.local_addr().expect("its address");
        let served = thread::spawn(move || {
            let (mut stream, _) = listener.accept().expect("a client");
            let _ = stream.read(&mut [0; ANSWER_BYTES_MAX]).expect("a request");
            match answer {
                Some(answer) => stream.write_all(answer.as_bytes()).expect("sent"),
                None => thread::sleep(2 * WITHIN),
            }
        });
        let told = version_at(api);
        served.join().expect("it served");
        told
    }

    #[test]
    fn another_program_is_told_by_what_it_answers() {
        let other = |told: &str| Some(VersionAnswer::Other(told.to_owned()));
        assert_eq!(version_answer(Some("SSH-2.0-OpenSSH_9.2\r\n")), other("answers \"SSH-2.0-OpenSSH_9.2\""));
        assert_eq!(version_answer(Some("\u{1b}[2J\nmore")), other("answers \"\\u{1b}[2J\""));
        assert_eq!(version_answer(Some("")), other("closes the connection without an answer"));
        let missing = "HTTP/1.1 404 Not Found\r\nServer: other\r\n\r\n404 page not found";
        assert_eq!(version_answer(Some(missing)), other("answers \"HTTP/1.1 404 Not Found\""));
    }

    #[test]
    fn a_toxiproxy_is_told_by_its_version() {
        let toxiproxy = |told: &str| Some(VersionAnswer::Toxiproxy(told.to_owned()));
        assert_eq!(version_answer(Some("HTTP/1.0 200 OK\r\n\r\n{\"version\": \"2.9.0\"}\n")), toxiproxy("2.9.0"));
        assert_eq!(version_answer(Some("HTTP/1.0 200 OK\r\n\r\n2.1.4")), toxiproxy("2.1.4"));
        let odd = "HTTP/1.0 200 OK\r\n\r\n2.\u{1b}[2J\u{7}\u{202e} of a program that is proud of its very long version";
        let shown = "2.\u{fffd}[2J\u{fffd}\u{fffd} of a program that is proud of …";
        assert_eq!(version_answer(Some(odd)), toxiproxy(shown));
    }

    #[test]
    fn of_what_does_not_answer_nothing_is_told() {
        assert_eq!(version_answer(None), None);
        let nobody = TcpListener::bind("127.0.0.1:0").expect("a port").local_addr().expect("its address");
        assert_eq!(version_at(nobody), None);
    }
}
