//! `parent-delete`: deletes the znode of a group with all its children and creates it again, in one transaction. No
//! client finds it missing, but every candidate's znode is gone. Written once, over a session of the coordinator.

use std::time::Duration;

use hustings_record::Nanos;
use hustings_record::numbers::nanos;

use super::backend::Backend;
use super::cancellation::run_until_cancelled;
use super::injected_fault::{CandidateOrderOutcome, InjectedFault, Remedy, Verification};
use crate::coordination::{CreateMode, Op, OpError, Session};
use crate::plan::ResolvedTarget;

/// The fault is given up after this time.
const AT_MOST: Duration = Duration::from_secs(10);

/// Deletes the group znode of the one target candidate, and creates it again.
pub async fn delete_parent<B: Backend>(backend: &B, hit: &ResolvedTarget) -> InjectedFault {
    let asked = backend.now();
    let state = backend.state();
    let group = hit.cands.first().and_then(|cand| state.leaders.borrow().group_of(*cand));
    let outcome = match group {
        None => Err("there was no leader to hit".to_owned()),
        Some(group) => {
            let path = format!("{}{}", backend.chroot(), state.cell.path(group));
            let until = asked + nanos(AT_MOST);
            let renewed = run_until_cancelled(backend.sleep_until(until), renew(backend, &path)).await;
            renewed.unwrap_or_else(|| Err(format!("not done within {} s", AT_MOST.as_secs())))
        }
    };
    let what = "the group's znode, deleted with all in it and made again, was seen to be another one";
    InjectedFault { proof: Verification::of_order(what, None, asked, backend.now(), outcome), remedy: Remedy::None }
}

/// What is known of the transaction beyond one server: one whose answer was lost may have been carried out.
#[derive(Default)]
struct Renewal {
    /// The czxid of the group's znode before the first attempt.
    was: Option<Option<i64>>,
    /// When the first attempt of unknown outcome was sent.
    sent: Option<Nanos>,
}

/// Tries server after server. Returns when the successful transaction was sent and answered.
async fn renew<B: Backend>(backend: &B, path: &str) -> CandidateOrderOutcome {
    let mut trouble = "no server gave a session".to_owned();
    let mut renewal = Renewal::default();
    for server in 1..=backend.servers() {
        let Some(session) = backend.connect_to(server).await else { continue };
        match renew_by(backend, &session, path, &mut renewal).await {
            Ok(times) => return Ok(times),
            Err(error) => trouble = error.to_string(),
        }
    }
    Err(trouble)
}

/// Candidates come and go in between: a transaction that does not name all children is refused, and then rebuilt.
async fn renew_by<B: Backend, S: Session>(
    backend: &B,
    session: &S,
    path: &str,
    renewal: &mut Renewal,
) -> Result<(Nanos, Nanos), OpError> {
    loop {
        let is = session.exists(path).await?.map(|stat| stat.czxid);
        let was = *renewal.was.get_or_insert(is);
        // A server that lags shows a transaction without an answer only once it has refused another one.
        if let Some(sent) = renewal.sent.filter(|_| is.is_some() && is != was) {
            return Ok((sent, backend.now()));
        }
        let names = session.children(path).await?;
        let delete = |path: String| Op::Delete { path, version: None };
        let mut ops: Vec<Op> = names.iter().map(|name| delete(format!("{path}/{name}"))).collect();
        ops.push(delete(path.to_owned()));
        ops.push(Op::Create { path: path.to_owned(), data: Vec::new(), mode: CreateMode::Persistent });
        let sent = backend.now();
        let outcome = session.multi(ops).await;
        if !matches!(outcome, Err(OpError::Refused(_))) {
            renewal.sent.get_or_insert(sent);
        }
        match outcome {
            Ok(()) => {
                let answered = backend.now();
                let is = session.exists(path).await?.map(|stat| stat.czxid);
                return if is.is_some() && is != was { Ok((sent, answered)) } else { Err(OpError::Unknown) };
            }
            Err(OpError::Refused(_)) => {}
            Err(error) => return Err(error),
        }
    }
}
