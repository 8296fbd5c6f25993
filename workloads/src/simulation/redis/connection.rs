//! A manager's connection to a simulated Redis server. What was sent is carried out when it arrives, whether or not the
//! manager still waits for it.

use std::cell::RefCell;
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
    open: RefCell<Option<Rc<ManagerConnection>>>,
}

impl SimRedisConnection {
    pub(crate) fn new(redis: &Rc<SimRedis>, host: u16, server: u16) -> Self {
        Self { redis: redis.clone(), host, server, open: RefCell::default() }
    }

    async fn travel(&self) {
        let clock = &self.redis.world.clock;
        clock.sleep_until(self.host, clock.now() + LINK_US).await;
    }

    /// Sends a request; it is carried out on arrival.
    async fn ask<T: 'static>(
        &self,
        act: impl FnOnce(&Rc<SimRedis>, &ManagerConnection) -> Result<T, RedisError> + 'static,
    ) -> Result<T, RedisError> {
        // A process that was stopped before it sent anything finds its connection closed.
        self.travel().await;
        let connection = self.connection()?;
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
    fn connection(&self) -> Result<Rc<ManagerConnection>, RedisError> {
        let open = self.open.borrow().clone();
        if let Some(connection) = open {
            if !connection.closed.get() {
                return Ok(connection);
            }
            self.open.take();
            return Err(RedisError::Unknown("the server has closed the connection".into()));
        }
        let mut servers = self.redis.servers.borrow_mut();
        let server: &mut SimRedisServer = &mut servers[usize::from(self.server)];
        if server.state == RedisState::Dead {
            return Err(refused_connection());
        }
        let connection = Rc::<ManagerConnection>::default();
        server.connections.push(connection.clone());
        self.open.replace(Some(connection.clone()));
        Ok(connection)
    }
}

impl RedisNode for SimRedisConnection {
    async fn info(&self) -> Result<RedisInfo, RedisError> {
        let server = self.server;
        self.ask(move |redis, _| {
            let servers = redis.servers.borrow();
            let server = &servers[usize::from(server)];
            Ok(RedisInfo { role: server.role, offset: server.ids.len() as u64 })
        })
        .await
    }

    async fn block(&self, for_ms: u64) -> Result<(), RedisError> {
        self.ask(|_, _| Ok(())).await?;
        let clock = &self.redis.world.clock;
        let over = clock.sleep_until(self.host, clock.now() + for_ms * 1_000);
        match run_until_cancelled(over, self.redis.lost(self.server)).await {
            // A server that is stopped or cut off does not answer at the end either.
            None => self.ask(|_, _| Ok(())).await,
            Some(()) => Err(RedisError::Unknown("the server has closed the connection".into())),
        }
    }

    async fn follow(&self, master: u16) -> Result<(), RedisError> {
        let server = self.server;
        self.ask(move |redis, _| {
            redis.set_role(server, RedisRole::Replica { of: Some(master) });
            Ok(())
        })
        .await
    }

    async fn promote(&self) -> Result<(), RedisError> {
        let server = self.server;
        self.ask(move |redis, _| {
            redis.set_role(server, RedisRole::Master);
            Ok(())
        })
        .await
    }

    async fn close_older(&self, token: i64) -> Result<(), RedisError> {
        let server = self.server;
        self.ask(move |redis, own| {
            own.token.set(token);
            let servers = redis.servers.borrow();
            let open = || servers[usize::from(server)].connections.iter().filter(|other| !other.closed.get());
            if open().any(|other| other.token.get() > token) {
                return Err(RedisError::Refused("a newer manager acts".into()));
            }
            open().filter(|other| (1..token).contains(&other.token.get())).for_each(|other| other.closed.set(true));
            Ok(())
        })
        .await
    }
}
