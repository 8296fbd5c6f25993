//! `--connect`: servers, and after the last one an optional chroot, in ZooKeeper's notation.

use anyhow::{bail, ensure};
use hustings_reports::render::clean_line;

/// Servers as `host:port`, and the path after the last one. Empty: no path.
///
/// # Errors
/// A path is in another place, or is not a valid ZooKeeper path.
pub(super) fn servers_and_chroot(given: &[String]) -> anyhow::Result<(Vec<String>, String)> {
    let (mut servers, mut chroot) = (Vec::new(), "");
    for (at, server) in given.iter().enumerate() {
        let (server, path) = split(server);
        ensure!(
            path.is_empty() || at + 1 == given.len(),
            "--connect has the path {path} behind {server}: it is of all servers, and stands once, behind the last one"
        );
        ensure!(!servers.iter().any(|named| named == server), "--connect names {server} twice: name each server once");
        servers.push(server.to_owned());
        chroot = path;
    }
    if chroot.is_empty() || chroot == "/" {
        return Ok((servers, String::new()));
    }
    check(chroot)?;
    Ok((servers, chroot.to_owned()))
}

/// One item of `--connect`: a server, with or without a path.
///
/// # Errors
/// It contains no server.
pub(super) fn word(text: &str) -> Result<String, String> {
    let (server, path) = split(text.trim());
    address(server).map(|server| format!("{server}{path}"))
}

/// Parses a server given as `host:port`.
///
/// # Errors
/// It is not such an address.
pub(super) fn address(text: &str) -> Result<String, String> {
    let is_host = |host: &str| !host.is_empty() && clean_line(host) == host;
    let parts = text.trim().rsplit_once(':').filter(|(host, _)| is_host(host));
    match parts.and_then(|(_, port)| port.parse::<u16>().ok()) {
        Some(port) if port > 0 => Ok(text.trim().to_owned()),
        _ => Err("give each server as HOST:PORT, like 127.0.0.1:2181".to_owned()),
    }
}

fn split(text: &str) -> (&str, &str) {
    text.split_at(text.find('/').unwrap_or(text.len()))
}

fn check(chroot: &str) -> anyhow::Result<()> {
    let why = if chroot.ends_with('/') {
        "it ends with /"
    } else if chroot[1..].split('/').any(str::is_empty) {
        "a name in it is empty"
    } else if chroot.split('/').any(|name| [".", ".."].contains(&name)) {
        "no znode is called . or .."
    } else if chroot.chars().any(char::is_control) {
        "no znode's name has control characters"
    } else if chroot == "/zookeeper" || chroot.starts_with("/zookeeper/") {
        "what is below /zookeeper is the servers' own"
    } else {
        return Ok(());
    };
    bail!(
        "--connect has the path {chroot} behind its last server, which cannot be used: {why}; give it like /some/path"
    )
}

#[cfg(test)]
mod tests {
    use super::{servers_and_chroot, word};

    fn parse(text: &str) -> Result<(Vec<String>, String), String> {
        let words: Result<Vec<_>, _> = text.split(',').map(word).collect();
        servers_and_chroot(&words?).map_err(|error| error.to_string())
    }

    #[test]
    fn a_path_behind_the_last_server_is_of_all() {
        for (text, chroot) in [("a:1,b:2/some/path", "/some/path"), ("a:1, b:2/", ""), ("a:1,b:2", "")] {
            let (servers, found) = parse(text).expect(text);
            assert_eq!((servers, found.as_str()), (vec!["a:1".to_owned(), "b:2".to_owned()], chroot), "{text}");
        }
        assert_eq!(parse("[::1]:2181/x").expect("one"), (vec!["[::1]:2181".to_owned()], "/x".to_owned()));
    }

    #[test]
    fn a_path_that_is_none_is_told_with_what_is_wrong() {
        for (text, told) in [
            ("a:1/x,b:2", "behind the last one"),
            ("a:1/x/", "ends with /"),
            ("a:1//x", "is empty"),
            ("a:1/x/../y", "called . or .."),
            ("a:1/zookeeper", "the servers' own"),
            ("a/x", "HOST:PORT"),
            ("/x", "HOST:PORT"),
            ("a:0/x", "HOST:PORT"),
            ("\u{1b}[2J:1", "HOST:PORT"),
            ("a:1,b:2,a:1/x", "names a:1 twice"),
        ] {
            let why = parse(text).expect_err(text);
            assert!(why.contains(told), "{text}: {why}");
        }
    }
}
