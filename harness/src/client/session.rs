//! [`Session`] over zookeeper-client: a real session on a real ensemble.

use std::cell::Cell;
use std::rc::Rc;
use std::time::Duration;

use hustings_record::numbers::millis;
use hustings_workloads::coordination::{
    CreateMode, CreatedZnode, Op, OpError, Refusal, Session, SessionEnd, SessionState, Stat, States, Watch, WatchEvent,
};
use zookeeper_client as zk;

use crate::access::Access;

/// No session could be opened.
#[derive(Debug, thiserror::Error)]
#[error("no server of {cluster} gave a session within {} ms ({source}); see that the ensemble runs and can be reached from here", .within.as_millis())]
pub struct ConnectError {
    /// The connect string.
    pub cluster: String,
    pub within: Duration,
    pub source: zk::Error,
}

/// A connected session. It closes when its last user is dropped.
pub struct ZkSession {
    client: Rc<zk::Client>,
    /// For the znodes that it creates.
    acls: zk::Acls<'static>,
    requests: Cell<u64>,
}

impl ZkSession {
    /// Opens a session. `cluster` is a connect string, with a chroot if need be.
    ///
    /// # Errors
    /// When no server gave a session within about the timeout.
    pub async fn connect(cluster: &str, timeout: Duration) -> Result<Self, ConnectError> {
        Self::connect_as(&Access::default(), cluster, timeout).await
    }

    /// As [`Self::connect`], for an authenticated client that owns its znodes.
    ///
    /// # Errors
    /// As for [`Self::connect`], or the servers reject the credentials.
    pub async fn connect_as(access: &Access, cluster: &str, timeout: Duration) -> Result<Self, ConnectError> {
        match access.connect(cluster, timeout).await {
            Ok(client) => Ok(Self::new(client, access.acls())),
            Err(source) => Err(ConnectError { cluster: cluster.to_owned(), within: timeout, source }),
        }
    }

    fn new(client: zk::Client, acls: zk::Acls<'static>) -> Self {
        Self { client: Rc::new(client), acls, requests: Cell::default() }
    }

    /// Takes over a session from another connection. The session continues here, and the other connection loses it.
    ///
    /// # Errors
    /// No server granted it, because it has ended or no server could be reached.
    pub async fn take_over(cluster: &str, info: zk::SessionInfo) -> Result<Self, zk::Error> {
        let client = zk::Client::connector().with_session(info).connect(cluster).await?;
        Ok(Self::new(client, zk::Acls::anyone_all()))
    }

    /// The data with which another connection can take this session over.
    #[must_use]
    pub fn info(&self) -> zk::SessionInfo {
        self.client.session().clone()
    }

    /// Another user of the same session, with its own request count.
    #[must_use]
    pub fn share(&self) -> Self {
        Self { client: self.client.clone(), acls: self.acls, requests: Cell::default() }
    }

    /// Closes the session and waits for the server's answer, for at most `at_most`. Other users must be dropped.
    /// Returns false if there was no answer.
    pub async fn close(self, at_most: Duration) -> bool {
        let mut states = self.client.state_watcher();
        drop(self);
        let ended = async {
            let mut state = states.state();
            while !state.is_terminated() {
                state = states.changed().await;
            }
            state
        };
        // A client that cannot reach a server finally reports its session as expired. That is no answer.
        tokio::time::timeout(at_most, ended).await == Ok(zk::SessionState::Closed)
    }

    fn count(&self) -> &zk::Client {
        self.requests.set(self.requests.get() + 1);
        &self.client
    }
}

impl Session for ZkSession {
    type Watch = ZkWatch;
    type States = ZkStates;

    fn id(&self) -> i64 {
        self.client.session_id().0
    }

    fn timeout_ms(&self) -> u64 {
        millis(self.client.session_timeout())
    }

    fn states(&self) -> ZkStates {
        ZkStates(self.client.state_watcher())
    }

    fn requests(&self) -> u64 {
        self.requests.get()
    }

    async fn create(&self, path: &str, data: &[u8], mode: CreateMode) -> Result<CreatedZnode, OpError> {
        let (stat, sequence) = self.count().create(path, data, &options(mode, self.acls)).await.map_err(op_error)?;
        let path = match mode {
            CreateMode::EphemeralSequential => format!("{path}{sequence}"),
            _ => path.to_owned(),
        };
        Ok(CreatedZnode { path, czxid: stat.czxid })
    }

    async fn delete(&self, path: &str, version: Option<i32>) -> Result<(), OpError> {
        self.count().delete(path, version).await.map_err(op_error)
    }

    async fn children(&self, path: &str) -> Result<Vec<String>, OpError> {
        self.count().list_children(path).await.map_err(op_error)
    }

    async fn children_and_watch(&self, path: &str) -> Result<(Vec<String>, ZkWatch), OpError> {
        let (names, watcher) = self.count().list_and_watch_children(path).await.map_err(op_error)?;
        Ok((names, ZkWatch::new(watcher)))
    }

    async fn exists(&self, path: &str) -> Result<Option<Stat>, OpError> {
        Ok(self.count().check_stat(path).await.map_err(op_error)?.map(stat))
    }

    async fn exists_and_watch(&self, path: &str) -> Result<(Option<Stat>, ZkWatch), OpError> {
        let (found, watcher) = self.count().check_and_watch_stat(path).await.map_err(op_error)?;
        Ok((found.map(stat), ZkWatch::new(watcher)))
    }

    async fn get(&self, path: &str) -> Result<(Vec<u8>, Stat), OpError> {
        let (data, found) = self.count().get_data(path).await.map_err(op_error)?;
        Ok((data, stat(found)))
    }

    async fn get_and_watch(&self, path: &str) -> Result<(Vec<u8>, Stat, ZkWatch), OpError> {
        let (data, found, watcher) = self.count().get_and_watch_data(path).await.map_err(op_error)?;
        Ok((data, stat(found), ZkWatch::new(watcher)))
    }

    async fn set(&self, path: &str, data: &[u8], version: Option<i32>) -> Result<Stat, OpError> {
        Ok(stat(self.count().set_data(path, data, version).await.map_err(op_error)?))
    }

    async fn multi(&self, ops: Vec<Op>) -> Result<(), OpError> {
        let mut writer = self.count().new_multi_writer();
        for op in &ops {
            let added = match op {
                Op::Check { path, version } => writer.add_check_version(path, *version),
                Op::Create { path, data, mode } => writer.add_create(path, data, &options(*mode, self.acls)),
                Op::Set { path, data, version } => writer.add_set_data(path, data, *version),
                Op::Delete { path, version } => writer.add_delete(path, *version),
            };
            added.map_err(op_error)?;
        }
        match writer.commit().await {
            Ok(_) => Ok(()),
            Err(
                zk::MultiWriteError::RequestFailed { source } | zk::MultiWriteError::OperationFailed { source, .. },
            ) => Err(op_error(source)),
        }
    }

    async fn sync(&self, path: &str) -> Result<(), OpError> {
        self.count().sync(path).await.map_err(op_error)
    }
}

/// A one-shot watch. After it has fired, it keeps its event.
pub struct ZkWatch {
    waiting: futures::future::LocalBoxFuture<'static, zk::WatchedEvent>,
    fired: Option<WatchEvent>,
}

impl ZkWatch {
    fn new(watcher: zk::OneshotWatcher) -> Self {
        Self { waiting: Box::pin(watcher.changed()), fired: None }
    }
}

impl Watch for ZkWatch {
    async fn fired(&mut self) -> WatchEvent {
        if let Some(event) = self.fired {
            return event;
        }
        let event = watch_event(&(&mut self.waiting).await);
        self.fired = Some(event);
        event
    }
}

/// The state changes of one session.
pub struct ZkStates(zk::StateWatcher);

impl States for ZkStates {
    fn now(&mut self) -> SessionState {
        session_state(self.0.state())
    }

    async fn changed(&mut self) -> SessionState {
        session_state(self.0.changed().await)
    }
}

fn options(mode: CreateMode, acls: zk::Acls<'static>) -> zk::CreateOptions<'static> {
    let mode = match mode {
        CreateMode::Persistent => zk::CreateMode::Persistent,
        CreateMode::Ephemeral => zk::CreateMode::Ephemeral,
        CreateMode::EphemeralSequential => zk::CreateMode::EphemeralSequential,
        CreateMode::Container => zk::CreateMode::Container,
    };
    mode.with_acls(acls)
}

fn stat(stat: zk::Stat) -> Stat {
    Stat { czxid: stat.czxid, version: stat.version, ephemeral_owner: stat.ephemeral_owner }
}

fn session_state(state: zk::SessionState) -> SessionState {
    match state {
        zk::SessionState::SyncConnected | zk::SessionState::ConnectedReadOnly => SessionState::Connected,
        zk::SessionState::Disconnected => SessionState::Disconnected,
        zk::SessionState::Expired => SessionState::Ended(SessionEnd::Expired),
        zk::SessionState::Closed => SessionState::Ended(SessionEnd::Closed),
        zk::SessionState::AuthFailed => SessionState::Ended(SessionEnd::AuthFailed),
    }
}

fn watch_event(event: &zk::WatchedEvent) -> WatchEvent {
    match event.event_type {
        zk::EventType::NodeCreated => WatchEvent::Created,
        zk::EventType::NodeDeleted => WatchEvent::Deleted,
        zk::EventType::NodeDataChanged => WatchEvent::DataChanged,
        zk::EventType::NodeChildrenChanged => WatchEvent::ChildrenChanged,
        zk::EventType::Session => match session_state(event.session_state) {
            SessionState::Ended(end) => WatchEvent::Ended(end),
            // One-shot watches survive a lost connection. They are notified of session ends only.
            SessionState::Connected | SessionState::Disconnected => WatchEvent::Ended(SessionEnd::Closed),
        },
    }
}

fn op_error(error: zk::Error) -> OpError {
    use zk::Error as E;
    match error {
        E::NoNode => OpError::Refused(Refusal::NoNode),
        E::NodeExists => OpError::Refused(Refusal::NodeExists),
        E::BadVersion => OpError::Refused(Refusal::BadVersion),
        E::NotEmpty => OpError::Refused(Refusal::NotEmpty),
        E::SessionExpired | E::SessionMoved => OpError::Ended(SessionEnd::Expired),
        E::ClientClosed => OpError::Ended(SessionEnd::Closed),
        E::AuthFailed => OpError::Ended(SessionEnd::AuthFailed),
        // The client gives pending requests the error that ended their connection, whatever it was.
        E::ConnectionLoss | E::Timeout | E::UnexpectedError(_) | E::UnmarshalError { .. } | E::Custom(_) => {
            OpError::Unknown
        }
        other => OpError::Refused(Refusal::Other(other.to_string())),
    }
}
