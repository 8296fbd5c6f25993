//! [`Session`] over a client of the simulated world.

use std::cell::{Cell, RefCell};
use std::future::poll_fn;
use std::rc::Rc;
use std::task::Poll;

use super::clients::refusal;
use super::world::{
    AnswerSlot, ClientId, ClientOwner, PendingAnswer, SimWorld, WatchDelivery, WatchRequest, WatchSlot, WatchSubject,
};
use crate::coordination::{
    CreateMode, CreatedZnode, Op, OpError, Refusal, Session, SessionState, Stat, States, Watch, WatchEvent,
};
use crate::model::{self, ANY_VERSION, Acl, Code, Request, Response, TransactionStep, WatcherType};

/// Closes its session when its last user drops it.
struct Handle {
    world: Rc<SimWorld>,
    client: ClientId,
}

impl Drop for Handle {
    fn drop(&mut self) {
        self.world.let_go(self.client);
    }
}

/// A session of a simulated client. Clones share it; each has its own request count.
pub(super) struct SimSession {
    handle: Rc<Handle>,
    requests: Cell<u64>,
}

impl SimSession {
    /// Opens a session. `None`: no server gave one in time.
    pub(super) async fn connect(world: &Rc<SimWorld>, owner: ClientOwner, timeout_ms: u64) -> Option<Self> {
        Self::of(world, world.open(owner, timeout_ms)).await
    }

    /// The session of a client, once it has one.
    pub(super) async fn of(world: &Rc<SimWorld>, client: ClientId) -> Option<Self> {
        let session = Self { handle: Rc::new(Handle { world: world.clone(), client }), requests: Cell::default() };
        let ready = poll_fn(|cx| {
            let state = world.clients.borrow()[client as usize].state;
            if matches!(state, SessionState::Ended(_)) {
                return Poll::Ready(false);
            }
            if world.is_ready(client) {
                return Poll::Ready(true);
            }
            world.clients.borrow_mut()[client as usize].wakers.push(cx.waker().clone());
            Poll::Pending
        });
        ready.await.then_some(session)
    }

    pub(super) fn share(&self) -> Self {
        Self { handle: self.handle.clone(), requests: Cell::default() }
    }

    pub(super) fn client(&self) -> ClientId {
        self.handle.client
    }

    /// Closes the session unless it is shared. False: no server answered within this time.
    pub(super) async fn close(self, at_most_us: u64) -> bool {
        let (world, client) = (self.handle.world.clone(), self.handle.client);
        let alone = Rc::strong_count(&self.handle) == 1;
        drop(self);
        if !alone {
            return true;
        }
        let host = world.clients.borrow()[client as usize].host;
        let mut sleeping = std::pin::pin!(world.clock.sleep_until(host, world.clock.now() + at_most_us));
        poll_fn(|cx| {
            if matches!(world.clients.borrow()[client as usize].state, SessionState::Ended(_)) {
                return Poll::Ready(true);
            }
            world.clients.borrow_mut()[client as usize].wakers.push(cx.waker().clone());
            sleeping.as_mut().poll(cx).map(|()| false)
        })
        .await
    }

    async fn ask(&self, request: Request) -> Result<Response, OpError> {
        self.put(request, None).await
    }

    /// Also requests a watch on a path: on the found znode, or on the missing one if wanted.
    async fn watch(
        &self,
        request: Request,
        path: &str,
        found: WatchSubject,
        missing: Option<WatchSubject>,
    ) -> (Result<Response, OpError>, SimWatch) {
        let slot = WatchSlot(Rc::new(RefCell::new(WatchDelivery::default())));
        let (world, client) = (self.handle.world.clone(), self.handle.client);
        let path: Rc<str> = path.into();
        let watch = SimWatch { world, client, path: path.clone(), slot: slot.clone(), fired: None };
        (self.put(request, Some(WatchRequest { path, found, missing, slot })).await, watch)
    }

    async fn put(&self, request: Request, watch: Option<WatchRequest>) -> Result<Response, OpError> {
        self.requests.set(self.requests.get() + 1);
        let slot: AnswerSlot = Rc::new(RefCell::new(PendingAnswer { watch, ..PendingAnswer::default() }));
        self.handle.world.send(self.handle.client, request, slot.clone());
        poll_fn(|cx| {
            let mut slot = slot.borrow_mut();
            if let Some(result) = slot.result.take() {
                return Poll::Ready(result);
            }
            slot.waker = Some(cx.waker().clone());
            Poll::Pending
        })
        .await
    }
}

impl Session for SimSession {
    type Watch = SimWatch;
    type States = SimStates;

    fn id(&self) -> i64 {
        self.handle.world.clients.borrow()[self.handle.client as usize].session
    }

    fn timeout_ms(&self) -> u64 {
        u64::from(self.handle.world.clients.borrow()[self.handle.client as usize].timeout_ms)
    }

    fn states(&self) -> SimStates {
        let (world, client) = (self.handle.world.clone(), self.handle.client);
        let seen = world.clients.borrow()[client as usize].changes;
        SimStates { world, client, seen, over: false }
    }

    fn requests(&self) -> u64 {
        self.requests.get()
    }

    async fn create(&self, path: &str, data: &[u8], mode: CreateMode) -> Result<CreatedZnode, OpError> {
        let request = Request::Create {
            path: path.to_owned(),
            data: data.to_vec(),
            acl: Acl::open(),
            kind: mode.into(),
            with_stat: true,
        };
        match self.ask(request).await? {
            Response::Created { path, stat } => Ok(CreatedZnode { path, czxid: stat.map_or(0, |stat| stat.czxid) }),
            other => Err(odd(&other)),
        }
    }

    async fn delete(&self, path: &str, version: Option<i32>) -> Result<(), OpError> {
        let version = version.unwrap_or(ANY_VERSION);
        self.ask(Request::Delete { path: path.to_owned(), version }).await.map(drop)
    }

    async fn children(&self, path: &str) -> Result<Vec<String>, OpError> {
        match self.ask(Request::GetChildren { path: path.to_owned(), watch: false, with_stat: false }).await? {
            Response::Children { names, .. } => Ok(names),
            other => Err(odd(&other)),
        }
    }

    async fn children_and_watch(&self, path: &str) -> Result<(Vec<String>, SimWatch), OpError> {
        let request = Request::GetChildren { path: path.to_owned(), watch: true, with_stat: false };
        let (answer, watch) = self.watch(request, path, WatchSubject::Children, None).await;
        match answer? {
            Response::Children { names, .. } => Ok((names, watch)),
            other => Err(odd(&other)),
        }
    }

    async fn exists(&self, path: &str) -> Result<Option<Stat>, OpError> {
        found(self.ask(Request::Exists { path: path.to_owned(), watch: false }).await)
    }

    async fn exists_and_watch(&self, path: &str) -> Result<(Option<Stat>, SimWatch), OpError> {
        let request = Request::Exists { path: path.to_owned(), watch: true };
        let (answer, watch) = self.watch(request, path, WatchSubject::Znode, Some(WatchSubject::Nothing)).await;
        Ok((found(answer)?, watch))
    }

    async fn get(&self, path: &str) -> Result<(Vec<u8>, Stat), OpError> {
        data(self.ask(Request::GetData { path: path.to_owned(), watch: false }).await?)
    }

    async fn get_and_watch(&self, path: &str) -> Result<(Vec<u8>, Stat, SimWatch), OpError> {
        let request = Request::GetData { path: path.to_owned(), watch: true };
        let (answer, watch) = self.watch(request, path, WatchSubject::Znode, None).await;
        let (data, stat) = data(answer?)?;
        Ok((data, stat, watch))
    }

    async fn set(&self, path: &str, data: &[u8], version: Option<i32>) -> Result<Stat, OpError> {
        let version = version.unwrap_or(ANY_VERSION);
        match self.ask(Request::SetData { path: path.to_owned(), data: data.to_vec(), version }).await? {
            Response::Stat(known) => Ok(stat(&known)),
            other => Err(odd(&other)),
        }
    }

    async fn multi(&self, ops: Vec<Op>) -> Result<(), OpError> {
        match self.ask(Request::Multi(ops.into_iter().map(step).collect())).await? {
            Response::MultiFailed(codes) => {
                let culprit = codes.into_iter().find(|code| !matches!(code, Code::Ok | Code::RuntimeInconsistency));
                Err(OpError::Refused(refusal(culprit.unwrap_or(Code::RuntimeInconsistency))))
            }
            _ => Ok(()),
        }
    }

    async fn sync(&self, path: &str) -> Result<(), OpError> {
        self.ask(Request::Sync { path: path.to_owned() }).await.map(drop)
    }
}

/// A one-shot watch; once it has fired it keeps its event. It does not keep its session open.
pub(super) struct SimWatch {
    world: Rc<SimWorld>,
    client: ClientId,
    path: Rc<str>,
    slot: WatchSlot,
    fired: Option<WatchEvent>,
}

impl Watch for SimWatch {
    async fn fired(&mut self) -> WatchEvent {
        let event = poll_fn(|cx| {
            let mut told = self.slot.0.borrow_mut();
            if let Some(event) = self.fired.or(told.event.take()) {
                return Poll::Ready(event);
            }
            told.waker = Some(cx.waker().clone());
            Poll::Pending
        })
        .await;
        self.fired = Some(event);
        event
    }
}

impl Drop for SimWatch {
    fn drop(&mut self) {
        let (world, client) = (&self.world, self.client);
        let Some((on, number)) = self.slot.0.borrow().armed else { return };
        let last = world.clients.borrow_mut()[client as usize].watches.disarm(&self.path, number);
        if last && !matches!(world.clients.borrow()[client as usize].state, SessionState::Ended(_)) {
            let of = if on == WatchSubject::Children { WatcherType::Children } else { WatcherType::Data };
            let forget = Request::RemoveWatches { path: self.path.to_string(), of, only_check: false };
            world.send_if_ready(client, forget);
        }
    }
}

/// The states of one session.
pub(super) struct SimStates {
    world: Rc<SimWorld>,
    client: ClientId,
    seen: u32,
    over: bool,
}

impl States for SimStates {
    fn now(&mut self) -> SessionState {
        let clients = self.world.clients.borrow();
        let client = &clients[self.client as usize];
        self.seen = client.changes;
        self.over = matches!(client.state, SessionState::Ended(_));
        client.state
    }

    async fn changed(&mut self) -> SessionState {
        let (seen, state) = poll_fn(|cx| {
            let mut clients = self.world.clients.borrow_mut();
            let client = &mut clients[self.client as usize];
            if client.changes > self.seen && !self.over {
                return Poll::Ready((client.changes, client.state));
            }
            if !client.wakers.iter().any(|waker| waker.will_wake(cx.waker())) {
                client.wakers.push(cx.waker().clone());
            }
            Poll::Pending
        })
        .await;
        self.seen = seen;
        self.over = matches!(state, SessionState::Ended(_));
        state
    }
}

fn step(op: Op) -> TransactionStep {
    let any = |version: Option<i32>| version.unwrap_or(ANY_VERSION);
    match op {
        Op::Check { path, version } => TransactionStep::Check { path, version },
        Op::Create { path, data, mode } => {
            TransactionStep::Create { path, data, acl: Acl::open(), kind: mode.into(), with_stat: false }
        }
        Op::Set { path, data, version } => TransactionStep::SetData { path, data, version: any(version) },
        Op::Delete { path, version } => TransactionStep::Delete { path, version: any(version) },
    }
}

fn stat(known: &model::Stat) -> Stat {
    Stat { czxid: known.czxid, version: known.version, ephemeral_owner: known.ephemeral_owner }
}

fn found(answer: Result<Response, OpError>) -> Result<Option<Stat>, OpError> {
    match answer {
        Ok(Response::Stat(known)) => Ok(Some(stat(&known))),
        Err(OpError::Refused(Refusal::NoNode)) => Ok(None),
        Ok(other) => Err(odd(&other)),
        Err(error) => Err(error),
    }
}

fn data(answer: Response) -> Result<(Vec<u8>, Stat), OpError> {
    match answer {
        Response::Data { data, stat: known } => Ok((data, stat(&known))),
        other => Err(odd(&other)),
    }
}

fn odd(answer: &Response) -> OpError {
    OpError::Refused(Refusal::Other(format!("the answer to another question: {answer:?}")))
}
