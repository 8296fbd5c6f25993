//! `Session`, `Watch` and `States` over the ensemble in memory.

use std::cell::RefCell;
use std::future::poll_fn;
use std::rc::Rc;
use std::task::Poll;

use hustings_workloads::coordination::{
    CreateMode, Created, Op, OpError, Refusal, Session, SessionState, Stat, States, Watch, WatchEvent,
};

use super::ensemble::{Ensemble, Kind, Slot};

pub(crate) const TIMEOUT_MS: u64 = 1_000;

#[derive(Clone)]
pub(crate) struct TestSession {
    pub(crate) id: i64,
    pub(crate) ensemble: Ensemble,
}

pub(crate) struct TestWatch {
    id: u64,
    session: i64,
    slot: Rc<RefCell<Slot>>,
    ensemble: Ensemble,
}

impl Drop for TestWatch {
    fn drop(&mut self) {
        self.ensemble.disarm(self.id);
    }
}

impl Watch for TestWatch {
    async fn fired(&mut self) -> WatchEvent {
        poll_fn(|cx| {
            if let Some(event) = self.slot.borrow_mut().event.take() {
                return Poll::Ready(event);
            }
            if let SessionState::Ended(end) = self.ensemble.changes(self.session).1 {
                return Poll::Ready(WatchEvent::Ended(end));
            }
            self.slot.borrow_mut().waker = Some(cx.waker().clone());
            self.ensemble.on_change(self.session, cx.waker().clone());
            Poll::Pending
        })
        .await
    }
}

pub(crate) struct TestStates {
    session: TestSession,
    seen: u64,
    ended: bool,
}

impl States for TestStates {
    fn now(&mut self) -> SessionState {
        let (changes, state) = self.session.ensemble.changes(self.session.id);
        self.seen = changes;
        self.ended = matches!(state, SessionState::Ended(_));
        state
    }

    async fn changed(&mut self) -> SessionState {
        poll_fn(|cx| {
            let (changes, state) = self.session.ensemble.changes(self.session.id);
            if changes > self.seen && !self.ended {
                self.seen = changes;
                self.ended = matches!(state, SessionState::Ended(_));
                return Poll::Ready(state);
            }
            self.session.ensemble.on_change(self.session.id, cx.waker().clone());
            Poll::Pending
        })
        .await
    }
}

impl Session for TestSession {
    type Watch = TestWatch;
    type States = TestStates;

    fn id(&self) -> i64 {
        self.id
    }

    fn timeout_ms(&self) -> u64 {
        TIMEOUT_MS
    }

    fn states(&self) -> TestStates {
        TestStates { session: self.clone(), seen: 0, ended: false }
    }

    async fn create(&self, path: &str, data: &[u8], mode: CreateMode) -> Result<Created, OpError> {
        let run = |e: &Ensemble| e.create(self.id, path, data, mode).map(|(path, czxid)| Created { path, czxid });
        self.ensemble.call(self.id, Kind::Create, path, run).await
    }

    async fn delete(&self, path: &str, version: Option<i32>) -> Result<(), OpError> {
        self.ensemble.call(self.id, Kind::Delete, path, |e| e.delete(path, version)).await
    }

    async fn children(&self, path: &str) -> Result<Vec<String>, OpError> {
        self.ensemble.call(self.id, Kind::Children, path, |e| e.children(path)).await
    }

    async fn exists(&self, path: &str) -> Result<Option<Stat>, OpError> {
        self.ensemble.call(self.id, Kind::Exists, path, |e| Ok(e.stat(path))).await
    }

    async fn exists_and_watch(&self, path: &str) -> Result<(Option<Stat>, TestWatch), OpError> {
        let run = |e: &Ensemble| Ok((e.stat(path), self.watch(path)));
        self.ensemble.call(self.id, Kind::Exists, path, run).await
    }

    async fn get(&self, path: &str) -> Result<(Vec<u8>, Stat), OpError> {
        self.ensemble.call(self.id, Kind::Get, path, |e| e.get(path)).await
    }

    async fn get_and_watch(&self, path: &str) -> Result<(Vec<u8>, Stat, TestWatch), OpError> {
        let run = |e: &Ensemble| e.get(path).map(|(data, stat)| (data, stat, self.watch(path)));
        self.ensemble.call(self.id, Kind::GetAndWatch, path, run).await
    }

    async fn set(&self, path: &str, data: &[u8], version: Option<i32>) -> Result<Stat, OpError> {
        self.ensemble.call(self.id, Kind::Set, path, |e| e.set(path, data, version)).await
    }

    async fn multi(&self, ops: Vec<Op>) -> Result<(), OpError> {
        // Deletions of children and their parent are all that the recipes put into one transaction.
        let run = |e: &Ensemble| {
            for op in &ops {
                let Op::Delete { path, .. } = op else {
                    return Err(OpError::Refused(Refusal::Other("unsupported".into())));
                };
                e.stat(path).ok_or(OpError::Refused(Refusal::NoNode))?;
            }
            ops.iter().try_for_each(|op| match op {
                Op::Delete { path, version } => e.delete(path, *version),
                _ => Ok(()),
            })
        };
        self.ensemble.call(self.id, Kind::Multi, "", run).await
    }

    async fn sync(&self, path: &str) -> Result<(), OpError> {
        self.ensemble.call(self.id, Kind::Sync, path, |_| Ok(())).await
    }
}

impl TestSession {
    fn watch(&self, path: &str) -> TestWatch {
        let (id, slot) = self.ensemble.watch(self.id, path);
        TestWatch { id, session: self.id, slot, ensemble: self.ensemble.clone() }
    }
}
