//! A manager's connection to a simulated Redis server. What was sent is carried out when it arrives, whether or not the
//! manager still waits for it.

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use futures::channel::oneshot;

use super::RedisState;
use super::group::{ManagerConnection, SimRedis, SimRedisServer, refused_connection};
use crate::driver::run_until_cancelled;
use crate::model::Micros;
use crate::redis_failover::{RedisError, RedisInfo, RedisNode, RedisRole};

/// One way between a manager and a server.
const LINK_US: Micros = 200;

/// The connection of the manager on a host.
pub(crate) struct SimRedisConnection {
    redis: Rc<SimRedis>,
    host: u16,
    server: u16,
    /// Opened again when it was closed.
    looks: OpenConnection,
    /// For orders. Once named, it is opened again only to be named anew.
    acts: OpenConnection,
    is_named: Cell<bool>,
}

type OpenConnection = RefCell<Option<Rc<ManagerConnection>>>;

impl SimRedisConnection {
    pub(crate) fn new(redis: &Rc<SimRedis>, host: u16, server: u16) -> Self {
        let (looks, acts) = (RefCell::default(), RefCell::default());
        Self { redis: redis.clone(), host, server, looks, acts, is_named: Cell::new(false) }
    }

    async fn travel(&self) {
        let clock = &self.redis.world.clock;
        clock.sleep_until(self.host, clock.now() + LINK_US).await;
    }

    /// Sends a request; it is carried out on arrival.
    async fn ask<T: 'static>(
        &self,
        over: &OpenConnection,
        act: impl FnOnce(&Rc<SimRedis>, &ManagerConnection) -> Result<T, RedisError> + 'static,
    ) -> Result<T, RedisError> {
        // A process that was stopped before it sent anything finds its connection closed.
        self.travel().await;
        let connection = self.connection(over)?;
        let (answer, answered) = oneshot::channel();
        let (redis, host, server) = (self.redis.clone(), self.host, self.server);
        self.redis.world.spawn(async move {
            redis.taken(host, server).await;
            let is_closed = connection.closed.get();
            let found = if is_closed { Err(RedisError::Unknown("closed".into())) } else { act(&redis, &connection) };
            // The receiver is gone if the manager has given up.
            drop(answer.send(found));
        });
        let found = answered.await.unwrap_or_else(|_| Err(RedisError::Unknown("closed".into())));
        self.travel().await;
        found
    }

    /// The open connection, or a new one. An error: the one that was open is closed, or the server refuses.
    fn connection(&self, over: &OpenConnection) -> Result<Rc<ManagerConnection>, RedisError> {
        let open = over.borrow().clone();
        if let Some(connection) = open {
            if !connection.closed.get() {
                return Ok(connection);
            }
            over.take();
            return Err(RedisError::Unknown("the server has closed the connection".into()));
        }
        let mut servers = self.redis.servers.borrow_mut();
        let server: &mut SimRedisServer = &mut servers[usize::from(self.server)];
        if server.state == RedisState::Dead {
            return Err(refused_connection());
        }
        let connection = Rc::<ManagerConnection>::default();
        server.connections.push(connection.clone());
        over.replace(Some(connection.clone()));
        Ok(connection)
    }

    /// An order. If the named connection was closed, that is an error: its token may be over.
    async fn order(&self, role: RedisRole) -> Result<(), RedisError> {
        if self.acts.borrow().is_none() && self.is_named.take() {
            return Err(RedisError::Unknown("the server has closed the connection".into()));
        }
        let server = self.server;
        let act = move |redis: &Rc<SimRedis>, _: &ManagerConnection| {
            redis.set_role(server, role);
            Ok(())
        };
        self.ask(&self.acts, act).await
    }
}

impl RedisNode for SimRedisConnection {
    async fn info(&self) -> Result<RedisInfo, RedisError> {
        let server = self.server;
        self.ask(&self.looks, move |redis, _| {
            let servers = redis.servers.borrow();
            let server = &servers[usize::from(server)];
            Ok(RedisInfo { role: server.role, offset: server.ids.len() as u64 })
        })
        .await
    }

    async fn block(&self, for_ms: u64) -> Result<(), RedisError> {
        self.ask(&self.looks, |_, _| Ok(())).await?;
        let clock = &self.redis.world.clock;
        let over = clock.sleep_until(self.host, clock.now() + for_ms * 1_000);
        match run_until_cancelled(over, self.redis.lost(self.server)).await {
            // A server that is stopped or cut off does not answer at the end either.
            None => self.ask(&self.looks, |_, _| Ok(())).await,
            Some(()) => Err(RedisError::Unknown("the server has closed the connection".into())),
        }
    }

    async fn follow(&self, master: u16) -> Result<(), RedisError> {
        self.order(RedisRole::Replica { of: Some(master) }).await
    }

    async fn promote(&self) -> Result<(), RedisError> {
        self.order(RedisRole::Master).await
    }

    async fn close_older(&self, token: i64) -> Result<(), RedisError> {
        let server = self.server;
        self.is_named.set(false);
        let named = self.ask(&self.acts, move |redis, own| {
            own.token.set(token);
            let servers = redis.servers.borrow();
            let open = || servers[usize::from(server)].connections.iter().filter(|other| !other.closed.get());
            if open().any(|other| other.token.get() > token) {
                return Err(RedisError::Refused("a newer manager acts".into()));
            }
            let is_older = |other: &&Rc<ManagerConnection>| {
                (1..=token).contains(&other.token.get()) && !std::ptr::eq(Rc::as_ptr(other), own)
            };
            open().filter(is_older).for_each(|other| other.closed.set(true));
            Ok(())
        });
        let named = named.await;
        self.is_named.set(named.is_ok());
        named
    }
}
