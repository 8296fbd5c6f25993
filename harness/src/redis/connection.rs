//! A manager's connections to one Redis server: one to look at it, one that waits there for its loss, and one to change
//! what it is. The last one bears the manager's token in its name, by which newer managers close it.

use std::cell::{Cell, RefCell};
use std::net::SocketAddr;
use std::rc::Rc;

use hustings_workloads::redis_failover::{RedisError, RedisInfo, RedisNode};
use redis::aio::MultiplexedConnection;
use redis::{AsyncConnectionConfig, Client, Cmd, ErrorKind, FromRedisValue, cmd};

use super::replication::{Replication, replication};

/// Prefix of the names of managers' connections; the token follows.
const NAME_PREFIX: &str = "manager-";

/// Connections to one server of a group.
pub struct RedisConnection {
    client: Client,
    /// The addresses of the group's servers, by number.
    group: Rc<[SocketAddr]>,
    looks: OpenConnection,
    waits: OpenConnection,
    acts: OpenConnection,
    /// The connection to act on bears a name, or did until it was closed.
    is_named: Cell<bool>,
}

/// A connection that is opened when it is needed.
type OpenConnection = RefCell<Option<MultiplexedConnection>>;

impl RedisConnection {
    /// Connects to server `number` of a group when it is first asked.
    ///
    /// # Panics
    /// The group has no such server.
    #[must_use]
    pub fn new(group: Rc<[SocketAddr]>, number: u16) -> Self {
        let address = group[usize::from(number)];
        let client = Client::open(format!("redis://{address}")).expect("an address and no more is a valid URL");
        let (looks, waits, acts) = (RefCell::default(), RefCell::default(), RefCell::default());
        Self { client, group, looks, waits, acts, is_named: Cell::new(false) }
    }

    pub(super) async fn replication(&self) -> Result<Replication, RedisError> {
        let text: String = self.ask(&self.looks, cmd("INFO").arg("replication")).await?;
        replication(&text, &self.group).ok_or_else(|| RedisError::Refused("INFO names no known role".into()))
    }

    /// Sends a request over a connection, which is opened if it is not.
    async fn ask<T: FromRedisValue>(&self, over: &OpenConnection, request: &Cmd) -> Result<T, RedisError> {
        let mut open = over.borrow().clone();
        if open.is_none() {
            // The manager sets the limits.
            let config = AsyncConnectionConfig::new().set_connection_timeout(None).set_response_timeout(None);
            let connecting = self.client.get_multiplexed_async_connection_with_config(&config).await;
            open = Some(connecting.map_err(|error| RedisError::Unreachable(error.to_string()))?);
            over.replace(open.clone());
        }
        let Some(mut connection) = open else { return Err(closed()) };
        // Without an answer in time, the request is dropped, and the connection must not be used again.
        let pending = PendingRequest { over, is_answered: Cell::new(false) };
        let answer = request.query_async::<T>(&mut connection).await;
        let failed = answer.as_ref().err().map(failure);
        pending.is_answered.set(!matches!(failed, Some(RedisError::Unknown(_) | RedisError::Unreachable(_))));
        answer.map_err(|error| failure(&error))
    }

    /// Sends an order. If the named connection was closed, that is an error: its token may be over.
    async fn order(&self, request: &Cmd) -> Result<(), RedisError> {
        if self.acts.borrow().is_none() && self.is_named.take() {
            return Err(closed());
        }
        self.ask(&self.acts, request).await
    }
}

/// Forgets its connection if it is dropped without an answer.
struct PendingRequest<'a> {
    over: &'a OpenConnection,
    is_answered: Cell<bool>,
}

impl Drop for PendingRequest<'_> {
    fn drop(&mut self) {
        if !self.is_answered.get() {
            self.over.take();
        }
    }
}

impl RedisNode for RedisConnection {
    async fn info(&self) -> Result<RedisInfo, RedisError> {
        Ok(self.replication().await?.info)
    }

    async fn block(&self, for_ms: u64) -> Result<(), RedisError> {
        // A replica refuses BLPOP, which would write. No entry ever comes.
        let mut request = cmd("XREAD");
        request.arg("BLOCK").arg(for_ms.max(1)).arg("STREAMS").arg("hustings:nothing").arg("$");
        self.ask::<redis::Value>(&self.waits, &request).await.map(drop)
    }

    async fn follow(&self, master: u16) -> Result<(), RedisError> {
        let Some(of) = self.group.get(usize::from(master)) else {
            return Err(RedisError::Refused(format!("there is no server {master}")));
        };
        self.order(cmd("REPLICAOF").arg(of.ip().to_string()).arg(of.port())).await
    }

    async fn promote(&self) -> Result<(), RedisError> {
        self.order(cmd("REPLICAOF").arg("NO").arg("ONE")).await
    }

    /// First it names its own connection, and then it looks at those of others. So of two managers that do this at the
    /// same time, the newer one closes the connection of the older one, or the older one sees the newer one and ends.
    async fn close_older(&self, token: i64) -> Result<(), RedisError> {
        self.is_named.set(false);
        let name = format!("{NAME_PREFIX}{token}");
        self.ask::<()>(&self.acts, cmd("CLIENT").arg("SETNAME").arg(name)).await?;
        self.is_named.set(true);
        let clients: String = self.ask(&self.acts, cmd("CLIENT").arg("LIST")).await?;
        let others = managers(&clients);
        if others.iter().any(|(_, other)| *other > token) {
            return Err(RedisError::Refused("a newer manager acts".into()));
        }
        // Also those of this manager from before: an order may still be under way there. The server spares the connection
        // that asks. One may have gone by itself, which is as good.
        for (id, _) in others.into_iter().filter(|(_, other)| *other <= token) {
            self.ask::<i64>(&self.acts, cmd("CLIENT").arg("KILL").arg("ID").arg(id)).await?;
        }
        Ok(())
    }
}

/// The ids and tokens of managers' connections in the answer to `CLIENT LIST`.
fn managers(clients: &str) -> Vec<(u64, i64)> {
    let of = |line: &str| {
        let field = |name: &str| line.split(' ').find_map(|field| field.strip_prefix(name));
        let token = field("name=")?.strip_prefix(NAME_PREFIX)?.parse().ok()?;
        Some((field("id=")?.parse().ok()?, token))
    };
    clients.lines().filter_map(of).collect()
}

fn failure(error: &redis::RedisError) -> RedisError {
    match error.kind() {
        // It waited, and the server has become something else: the connection is over.
        ErrorKind::Extension if error.code() == Some("UNBLOCKED") => RedisError::Unknown(error.to_string()),
        ErrorKind::Server(_) | ErrorKind::Extension | ErrorKind::AuthenticationFailed => {
            RedisError::Refused(error.to_string())
        }
        _ if error.is_connection_refusal() => RedisError::Unreachable(error.to_string()),
        _ => RedisError::Unknown(error.to_string()),
    }
}

fn closed() -> RedisError {
    RedisError::Unknown("the server has closed the connection".into())
}

#[cfg(test)]
mod tests {
    use super::managers;

    #[test]
    fn managers_are_known_by_the_names_of_their_connections() {
        let clients = "id=6 addr=127.0.0.1:58216 laddr=127.0.0.1:7102 fd=7 name= age=0 db=0\n\
                       id=7 addr=127.0.0.1:58217 laddr=127.0.0.1:7102 fd=8 name=manager-4294967301 age=0\n\
                       id=8 addr=127.0.0.1:58218 laddr=127.0.0.1:7102 fd=9 name=manager-x age=0\n";
        assert_eq!(managers(clients), [(7, 4_294_967_301)]);
    }
}
