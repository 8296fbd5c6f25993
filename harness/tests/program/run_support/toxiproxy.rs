//! An external Toxiproxy.

use std::io::{BufRead as _, BufReader};
use std::process::Stdio;

use super::{Bench, ChildGuard};

/// A server with Toxiproxy's plain API, and its address.
pub(crate) fn toxiproxy(bench: &Bench) -> (ChildGuard, String) {
    let mut command = bench.command(&["proxy", "--plain", "--listen", "127.0.0.1:0"]);
    // It does not belong to the run's processes.
    command.env_remove("HUSTINGS_TMP");
    let mut child = ChildGuard(command.stdout(Stdio::piped()).spawn().expect("it starts"));
    let mut line = String::new();
    BufReader::new(child.0.stdout.take().expect("its output")).read_line(&mut line).expect("a line");
    let said: serde_json::Value = serde_json::from_str(&line).expect("JSON");
    (child, said["api"].as_str().expect("an address").to_owned())
}

/// The names of its proxies.
pub(crate) fn proxies(api: &str) -> Vec<String> {
    let client = reqwest::blocking::Client::builder().no_proxy().build().expect("a client");
    let answer = client.get(format!("http://{api}/proxies")).send().expect("it answers");
    let text = answer.text().expect("text");
    let all: serde_json::Map<String, serde_json::Value> = serde_json::from_str(&text).expect("JSON");
    all.into_iter().map(|(name, _)| name).collect()
}
