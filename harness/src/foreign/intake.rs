//! HTTP server for the writes of external leaders. Each slot has an unguessable path of its own, so a write
//! belongs to its slot regardless of its content.

use std::collections::{BTreeMap, HashMap};
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use anyhow::Context as _;
use axum::body::Bytes;
use axum::extract::{DefaultBodyLimit, Path, State};
use axum::http::StatusCode;
use axum::response::{IntoResponse as _, Response};
use axum::routing::post;
use axum::{Json, Router};
use hustings_record::Nanos;
use serde::{Deserialize, Serialize};
use serde_json::json;
use tokio::net::TcpListener;
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinSet;

use crate::client::secret::secret;
use crate::process::clock;
use crate::process::lock::lock;
use crate::protocol::WriteAnswer;

/// Maximum length of a write.
const BODY_BYTES_MAX: usize = 1_024;
/// Maximum number of accepted writes of a slot per second; further ones are refused.
const WRITES_A_SECOND: u32 = 2_000;
const SECOND_NS: Nanos = 1_000_000_000;
/// Maximum number of queued writes.
const WAITING_MAX: usize = 1 << 14;
/// Maximum time that a hanging resource may take for a reply.
const ANSWERED_WITHIN: Duration = Duration::from_secs(120);

/// A leader's statement about its write. All parts are optional: the path identifies the slot.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct WriteStatement {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub term: Option<u32>,
    /// The czxid of the znode on which the leadership rests.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub token: Option<i64>,
    /// When it was sent, by CLOCK_MONOTONIC.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub t: Option<Nanos>,
}

/// A received write that waits for its reply.
#[derive(Debug)]
pub struct PendingWrite {
    pub t: Nanos,
    pub slot: u32,
    pub said: WriteStatement,
    pub answer: oneshot::Sender<ResourceAnswer>,
}

/// The resource's reply to a write.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct ResourceAnswer {
    /// Its position in the order of all writes.
    pub seq: u64,
    pub fenced: FenceDecision,
}

/// The decision of a resource with a fence.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum FenceDecision {
    Taken,
    Refused,
}

impl From<WriteAnswer> for ResourceAnswer {
    fn from(WriteAnswer { seq, refused }: WriteAnswer) -> Self {
        Self { seq, fenced: if refused { FenceDecision::Refused } else { FenceDecision::Taken } }
    }
}

/// A port for writes. Dropping it closes it.
pub struct Intake {
    address: SocketAddr,
    paths: BTreeMap<u32, String>,
    _serving: JoinSet<()>,
}

struct IntakeState {
    slots: HashMap<String, u32>,
    tell: mpsc::Sender<PendingWrite>,
    /// By slot: the second, and the writes in it.
    rates: Mutex<HashMap<u32, (Nanos, u32)>>,
}

impl Intake {
    /// Opens a port on this machine's loopback for the writes of these slots.
    ///
    /// # Errors
    /// There is no port, or there are no random bytes.
    pub async fn open(slots: impl IntoIterator<Item = u32>) -> anyhow::Result<(Self, mpsc::Receiver<PendingWrite>)> {
        let listener = TcpListener::bind("127.0.0.1:0").await.context("no port for the programs' writes")?;
        let address = listener.local_addr()?;
        let paths: BTreeMap<u32, String> =
            slots.into_iter().map(|slot| Ok((slot, secret()?))).collect::<anyhow::Result<_>>()?;
        let (tell, incoming) = mpsc::channel(WAITING_MAX);
        let shared = IntakeState {
            slots: paths.iter().map(|(slot, path)| (path.clone(), *slot)).collect(),
            tell,
            rates: Mutex::default(),
        };
        let router = Router::new()
            .route("/{path}", post(write))
            .layer(DefaultBodyLimit::max(BODY_BYTES_MAX))
            .with_state(Arc::new(shared));
        let mut serving = JoinSet::new();
        serving.spawn(async move {
            // It runs until it is dropped.
            let _ = axum::serve(listener, router).await;
        });
        Ok((Self { address, paths, _serving: serving }, incoming))
    }

    /// The URL for a slot's writes.
    #[must_use]
    pub fn url(&self, slot: u32) -> Option<String> {
        self.paths.get(&slot).map(|path| format!("http://{}/{path}", self.address))
    }
}

async fn write(State(shared): State<Arc<IntakeState>>, Path(path): Path<String>, body: Bytes) -> Response {
    let t = clock::now();
    let Some(&slot) = shared.slots.get(&path) else {
        return refused(StatusCode::NOT_FOUND, "no slot writes here: use the address that `start` gave");
    };
    let said = if body.is_empty() { Ok(WriteStatement::default()) } else { serde_json::from_slice(&body) };
    let said = match said {
        Ok(said) => said,
        Err(error) => return refused(StatusCode::BAD_REQUEST, &format!("the write is no JSON object: {error}")),
    };
    if !shared.has_room(slot, t) {
        return refused(StatusCode::TOO_MANY_REQUESTS, "a slot may write 2000 times a second");
    }
    let (answer, answered) = oneshot::channel();
    if shared.tell.try_send(PendingWrite { t, slot, said, answer }).is_err() {
        return refused(StatusCode::SERVICE_UNAVAILABLE, "the resource is not there");
    }
    match tokio::time::timeout(ANSWERED_WITHIN, answered).await {
        Ok(Ok(answer)) => Json(answer).into_response(),
        _ => refused(StatusCode::SERVICE_UNAVAILABLE, "the resource did not answer"),
    }
}

impl IntakeState {
    fn has_room(&self, slot: u32, t: Nanos) -> bool {
        let mut rates = lock(&self.rates);
        let (second, writes) = rates.entry(slot).or_default();
        if *second != t / SECOND_NS {
            (*second, *writes) = (t / SECOND_NS, 0);
        }
        *writes += 1;
        *writes <= WRITES_A_SECOND
    }
}

fn refused(status: StatusCode, why: &str) -> Response {
    (status, Json(json!({ "error": why }))).into_response()
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn sent(url: &str, body: &str) -> (u16, String) {
        let client = reqwest::Client::builder().no_proxy().build().expect("a client");
        let answer = client.post(url).body(body.to_owned()).send().await.expect("an answer");
        (answer.status().as_u16(), answer.text().await.expect("a text"))
    }

    #[tokio::test]
    async fn a_write_is_its_slot_s_and_what_is_none_is_refused() {
        let (intake, mut incoming) = Intake::open([3, 4]).await.unwrap();
        let (three, four) = (intake.url(3).unwrap(), intake.url(4).unwrap());
        assert!(three != four && intake.url(5).is_none());
        let takes = tokio::spawn(async move {
            let mut all = Vec::new();
            while let Some(PendingWrite { slot, said, answer, .. }) = incoming.recv().await {
                let fenced = if slot == 3 { FenceDecision::Taken } else { FenceDecision::Refused };
                answer.send(ResourceAnswer { seq: all.len() as u64, fenced }).unwrap();
                all.push((slot, said));
            }
            all
        });
        assert_eq!(sent(&three, r#"{"term":1,"token":77}"#).await, (200, r#"{"seq":0,"fenced":"taken"}"#.into()));
        assert_eq!(sent(&four, "").await, (200, r#"{"seq":1,"fenced":"refused"}"#.into()));
        let guess = three.replace(three.rsplit('/').next().unwrap(), "0123456789abcdef0123456789abcdef");
        assert_eq!(sent(&guess, "{}").await.0, 404);
        assert_eq!(sent(&three, "me!").await.0, 400);
        assert_eq!(sent(&three, &"x".repeat(4_000)).await.0, 413);
        drop(intake);
        let all = takes.await.unwrap();
        assert_eq!(
            all,
            [(3, WriteStatement { term: Some(1), token: Some(77), t: None }), (4, WriteStatement::default())]
        );
    }

    #[test]
    fn a_slot_that_writes_without_end_is_stopped_until_the_next_second() {
        let shared = IntakeState { slots: HashMap::new(), tell: mpsc::channel(1).0, rates: Mutex::default() };
        let taken = (0..3_000).filter(|i| shared.has_room(1, *i)).count();
        assert_eq!(taken, 2_000);
        assert!(shared.has_room(2, 0) && shared.has_room(1, SECOND_NS));
    }
}
