//! Whether a Docker engine answers. No run needs one.

use std::io::{self, Read, Write};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::{Context, Found};

const ANSWER_WITHIN: Duration = Duration::from_secs(2);

pub(super) fn docker(_: &Context) -> Found {
    let host = std::env::var("DOCKER_HOST").unwrap_or_default();
    let socket = match host.strip_prefix("unix://") {
        Some(path) => PathBuf::from(path),
        None if host.is_empty() => PathBuf::from("/var/run/docker.sock"),
        None => return Found::info(format!("DOCKER_HOST is {host}: only local sockets are looked at")),
    };
    match ping(&socket) {
        Ok(()) => Found::info(format!("an engine answers at {}", socket.display())),
        Err(e) => Found::info(format!("no engine answers at {}: {e}", socket.display())),
    }
}

fn ping(socket: &Path) -> io::Result<()> {
    let mut stream = UnixStream::connect(socket)?;
    stream.set_read_timeout(Some(ANSWER_WITHIN))?;
    stream.set_write_timeout(Some(ANSWER_WITHIN))?;
    stream.write_all(b"GET /_ping HTTP/1.0\r\nHost: docker\r\n\r\n")?;
    let mut first = [0; 12];
    stream.read_exact(&mut first)?;
    let text = String::from_utf8_lossy(&first).into_owned();
    if text.ends_with(" 200") { Ok(()) } else { Err(io::Error::other(format!("it said {text:?}"))) }
}
