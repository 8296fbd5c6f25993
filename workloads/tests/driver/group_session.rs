//! Sessions for requests about the znode of one group. Servers lag, and transactions and their answers get lost.

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use hustings_record::Nanos;
use hustings_workloads::coordination::{CreateMode, CreatedZnode, Op, OpError, Refusal, Session, Stat};

use crate::fake::ImpossibleWatch;

/// The time that a request takes.
const REQUEST_NS: Nanos = 1_000_000;

/// The group's znode. Each transaction replaces it by one with the next czxid.
pub(crate) struct GroupZnode {
    pub(crate) clock: Rc<Cell<Nanos>>,
    czxid: Cell<i64>,
    /// When each transaction was sent that was not refused.
    sent: RefCell<Vec<Nanos>>,
    replaced: Cell<u32>,
}

/// The end of a transaction that is not refused.
#[derive(Clone, Copy)]
pub(crate) enum TransactionFate {
    Answered,
    /// It was carried out.
    AnswerLost,
    /// It was not carried out.
    RequestLost,
}

/// A session on one server.
pub(crate) struct GroupSession {
    znode: Rc<GroupZnode>,
    fate: TransactionFate,
    /// The czxid that its server shows until it has answered a transaction. None: the server does not lag.
    shown: Cell<Option<i64>>,
}

impl GroupZnode {
    pub(crate) fn new() -> Rc<Self> {
        let clock = Rc::new(Cell::new(1_000_000_000));
        Rc::new(Self { clock, czxid: Cell::new(100), sent: RefCell::default(), replaced: Cell::new(0) })
    }

    /// A session whose server, if it lags, has applied nothing since now.
    pub(crate) fn session(self: &Rc<Self>, fate: TransactionFate, lags: bool) -> GroupSession {
        GroupSession { znode: self.clone(), fate, shown: Cell::new(lags.then(|| self.czxid.get())) }
    }

    /// When the transactions were sent that were not refused, and how many of them were carried out.
    pub(crate) fn transactions(&self) -> (Vec<Nanos>, u32) {
        (self.sent.borrow().clone(), self.replaced.get())
    }

    fn request(&self) {
        self.clock.set(self.clock.get() + REQUEST_NS);
    }

    fn replace(&self) {
        self.czxid.set(self.czxid.get() + 1);
        self.replaced.set(self.replaced.get() + 1);
    }
}

/// Methods for requests that the fault does not send.
macro_rules! not_sent {
    ($($name:ident($($argument:ty),*) -> $result:ty;)+) => {
        $(async fn $name(&self, $(_: $argument),*) -> $result { unreachable!("the fault does not ask this") })+
    };
}

impl Session for GroupSession {
    type Watch = ImpossibleWatch;
    type States = ImpossibleWatch;

    fn id(&self) -> i64 {
        1
    }

    fn timeout_ms(&self) -> u64 {
        1_000
    }

    fn states(&self) -> ImpossibleWatch {
        unreachable!("the fault does not ask for its states")
    }

    fn requests(&self) -> u64 {
        0
    }

    async fn children(&self, _: &str) -> Result<Vec<String>, OpError> {
        self.znode.request();
        Ok(vec!["n_0000000001".to_owned()])
    }

    async fn exists(&self, _: &str) -> Result<Option<Stat>, OpError> {
        self.znode.request();
        let czxid = self.shown.get().unwrap_or(self.znode.czxid.get());
        Ok(Some(Stat { czxid, version: 0, ephemeral_owner: 0 }))
    }

    async fn multi(&self, _: Vec<Op>) -> Result<(), OpError> {
        let sent = self.znode.clock.get();
        self.znode.request();
        if self.shown.take().is_some_and(|shown| shown != self.znode.czxid.get()) {
            // It names children that are not there any more.
            return Err(OpError::Refused(Refusal::NoNode));
        }
        self.znode.sent.borrow_mut().push(sent);
        match self.fate {
            TransactionFate::Answered => {
                self.znode.replace();
                Ok(())
            }
            TransactionFate::AnswerLost => {
                self.znode.replace();
                Err(OpError::Unknown)
            }
            TransactionFate::RequestLost => Err(OpError::Unknown),
        }
    }

    not_sent! {
        create(&str, &[u8], CreateMode) -> Result<CreatedZnode, OpError>;
        delete(&str, Option<i32>) -> Result<(), OpError>;
        children_and_watch(&str) -> Result<(Vec<String>, ImpossibleWatch), OpError>;
        exists_and_watch(&str) -> Result<(Option<Stat>, ImpossibleWatch), OpError>;
        get(&str) -> Result<(Vec<u8>, Stat), OpError>;
        get_and_watch(&str) -> Result<(Vec<u8>, Stat, ImpossibleWatch), OpError>;
        set(&str, &[u8], Option<i32>) -> Result<Stat, OpError>;
        sync(&str) -> Result<(), OpError>;
    }
}
