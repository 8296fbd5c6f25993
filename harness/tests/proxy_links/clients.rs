//! Requests of Toxiproxy's clients, in all languages that have one, in their order: the answers match Toxiproxy's
//! source. Each line of `clients.jsonl` is a step: the client, the request, the status, and the parts of the answer
//! that it reads. Deviations are listed with their reasons.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use serde::Deserialize;
use serde_json::Value;

use crate::support::{Proxy, raw};

/// Steps with deviating answers: a part of "client: step: difference", and the reason.
const OTHERWISE: &[(&str, &str)] = &[
    (
        "listen null",
        "where no address is named it listens on the loopback alone: nobody else is to find it by accident",
    ),
    ("populate, second without name: @content-type", "all errors say that they are text, those of populate too"),
    ("save: listen where this machine has no address: error", "the kernel's reason is not in Go's words"),
    ("get after the refused save: listen", "a refused change leaves the proxy where it was"),
    ("get after the refused save: enabled", "a refused change keeps port and connections open"),
    ("get after the refused update: attributes/latency", "a refused update changes no attribute"),
    ("populate, second where this machine has no address: proxies/0/name", "a refused populate creates nothing"),
    ("get the first of the refused populate: the status", "a refused populate creates nothing"),
    ("populate of a disabled one: proxies/0/enabled", "what a populate enables is enabled, whoever disabled it before"),
];

#[derive(Deserialize)]
struct Step {
    client: String,
    does: String,
    method: String,
    path: String,
    #[serde(default)]
    headers: BTreeMap<String, String>,
    body: Option<String>,
    status: u16,
    needs: BTreeMap<String, Value>,
}

/// An answer, and the earlier answers about the proxies.
struct ApiReply {
    status: u16,
    kind: String,
    body: String,
    value: Value,
}

fn ask(proxy: &Proxy, step: &Step, listen: &str) -> ApiReply {
    let body = step.body.as_deref().map(|body| body.replace("@LISTEN@", listen));
    let mut request = format!("{} {} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n", step.method, step.path);
    for (name, value) in &step.headers {
        let _ = write!(request, "{name}: {value}\r\n");
    }
    if let Some(body) = &body {
        let _ = write!(request, "Content-Length: {}\r\n", body.len());
    }
    let answer = raw(proxy.api, format!("{request}\r\n{}", body.unwrap_or_default()).as_bytes());
    let (head, body) = answer.split_once("\r\n\r\n").unwrap_or((&answer, ""));
    let kind =
        head.lines().find_map(|line| line.to_ascii_lowercase().strip_prefix("content-type: ").map(str::to_owned));
    ApiReply {
        status: head.split(' ').nth(1).and_then(|status| status.parse().ok()).unwrap_or(0),
        kind: kind.unwrap_or_default().split(';').next().unwrap_or_default().to_owned(),
        body: body.to_owned(),
        value: serde_json::from_str(body).unwrap_or(Value::Null),
    }
}

/// The value at a path such as `toxics/0/name`; `@len` is the length.
fn at<'v>(value: &'v Value, path: &str) -> Option<std::borrow::Cow<'v, Value>> {
    let mut at = value;
    for part in path.split('/') {
        if part == "@len" {
            let length = at.as_array().map(Vec::len).or_else(|| at.as_object().map(|fields| fields.len()))?;
            return Some(std::borrow::Cow::Owned(length.into()));
        }
        at = match at {
            Value::Array(items) => items.get(part.parse::<usize>().ok()?)?,
            other => other.get(part)?,
        };
    }
    Some(std::borrow::Cow::Borrowed(at))
}

fn is_like(wanted: &Value, found: Option<&Value>, listen: &str) -> bool {
    match (wanted, found) {
        (Value::String(shape), Some(Value::String(text))) => match shape.as_str() {
            "<addr>" => {
                text.strip_prefix("127.0.0.1:").is_some_and(|port| port.parse::<u16>().is_ok_and(|port| port > 0))
            }
            "<addr-any>" => text.starts_with("[::]:") || text.starts_with("0.0.0.0:"),
            "<string>" => !text.is_empty(),
            "@LISTEN@" => text == listen,
            shape => match shape.strip_prefix("<starts: ") {
                Some(begins) => text.starts_with(begins.trim_end_matches('>')),
                None => text == shape,
            },
        },
        (Value::Number(wanted), Some(Value::Number(found))) => wanted.as_f64() == found.as_f64(),
        (wanted, found) => found == Some(wanted) || wanted.is_null() && found.is_none(),
    }
}

fn differences(step: &Step, answer: &ApiReply, listen: &str) -> Vec<String> {
    let mut all = Vec::new();
    let mut differs = |what: &str, wanted: &dyn std::fmt::Display, found: &dyn std::fmt::Display| {
        all.push(format!("{}: {}: {what} is {found}, and not {wanted}", step.client, step.does));
    };
    if answer.status != step.status {
        differs("the status", &step.status, &format!("{} {}", answer.status, answer.body.trim_end()));
        return all;
    }
    for (what, wanted) in &step.needs {
        match what.as_str() {
            "@content-type" if wanted != answer.kind.as_str() => differs(what, wanted, &answer.kind),
            "@body" if wanted != answer.body.as_str() => differs(what, wanted, &format!("{:?}", answer.body)),
            "@content-type" | "@body" => {}
            path => {
                let found = at(&answer.value, path);
                if !is_like(wanted, found.as_deref(), listen) {
                    differs(path, wanted, &found.map_or("nothing".to_owned(), |found| found.to_string()));
                }
            }
        }
    }
    all
}

#[test]
fn clients_in_all_languages_get_the_answers_that_toxiproxy_gives() {
    let steps: Vec<Step> = include_str!("clients.jsonl")
        .lines()
        .map(|line| serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}")))
        .collect();
    let mut found = Vec::new();
    for steps in steps.chunk_by(|one, other| one.client == other.client) {
        let proxy = Proxy::start(&[]);
        let mut listens: BTreeMap<String, String> = BTreeMap::new();
        for step in steps {
            let name = step.path.split('/').nth(2).unwrap_or_default().to_owned();
            let listen = listens.get(&name).cloned().unwrap_or_default();
            let answer = ask(&proxy, step, &listen);
            found.extend(differences(step, &answer, &listen));
            if let (Some(name), Some(listen)) = (answer.value["name"].as_str(), answer.value["listen"].as_str()) {
                listens.insert(name.to_owned(), listen.to_owned());
            }
        }
    }
    let (mut unknown, mut met) = (Vec::new(), BTreeSet::new());
    for difference in found {
        match OTHERWISE.iter().find(|(part, _)| difference.contains(part)) {
            Some((part, _)) => _ = met.insert(*part),
            None => unknown.push(difference),
        }
    }
    println!("{} requests of {} clients", steps.len(), steps.chunk_by(|a, b| a.client == b.client).count());
    assert!(unknown.is_empty(), "{} differ:\n{}", unknown.len(), unknown.join("\n"));
    let gone: Vec<&str> = OTHERWISE.iter().map(|one| one.0).filter(|part| !met.contains(part)).collect();
    assert!(gone.is_empty(), "listed, and the same: {gone:?}");
}
