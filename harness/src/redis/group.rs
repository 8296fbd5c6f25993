//! The Redis servers of one group: a master and its replicas.

use std::net::{Ipv4Addr, SocketAddr};
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::time::Duration;

use tokio::time::{Instant, sleep, timeout};

use super::connection::RedisConnection;
use super::error::RedisGroupError;
use super::server::{RedisLauncher, RedisProcess, io};
use crate::ensemble::local::reserve_row;
use crate::files::workdir::WorkDir;
use crate::process::installed;

/// The name by which the program is a server, and the one under which Debian's package redis-tools has it.
const SERVER: &str = "redis-server";
const SAME_PROGRAM: &str = "redis-check-rdb";
/// How long servers may take until they serve and replicas have their copies.
const SERVING_WITHIN: Duration = Duration::from_secs(20);
/// Bound on one answer of a server that starts, and the pause between two questions.
const ANSWER_WITHIN: Duration = Duration::from_secs(2);
const ASK_AGAIN: Duration = Duration::from_millis(20);
/// How often other ports are tried, if somebody takes them between the choice and the start.
const TRIES: u32 = 3;

/// What a group is started with.
#[derive(Clone, Debug)]
pub struct RedisOptions {
    /// This program, which guards the servers.
    pub exe: PathBuf,
    /// `redis-server`, by its name or its path.
    pub program: String,
    /// The first one is the master.
    pub servers: u16,
    /// A master takes writes only while so many replicas answered within the last `min_replicas_max_lag_s` seconds.
    pub min_replicas_to_write: u16,
    pub min_replicas_max_lag_s: u16,
}

impl RedisOptions {
    /// Three servers of the installed `redis-server`, without a condition on writes.
    #[must_use]
    pub fn new(exe: PathBuf) -> Self {
        Self { exe, program: SERVER.to_owned(), servers: 3, min_replicas_to_write: 0, min_replicas_max_lag_s: 10 }
    }
}

/// Running servers. Dropping them kills them.
pub struct RedisGroup {
    addresses: Rc<[SocketAddr]>,
    servers: Vec<RedisProcess>,
    launcher: RedisLauncher,
}

impl RedisGroup {
    /// Starts the servers in `work`, and waits until all serve and the replicas have their copies.
    ///
    /// # Errors
    /// Redis is not installed, a server does not serve in time, or the machine lacks something.
    pub async fn start(name: &str, options: &RedisOptions, work: &WorkDir) -> Result<Self, RedisGroupError> {
        let program = server_program(&options.program, work)?;
        let mut attempt = 0;
        loop {
            attempt += 1;
            let folder = work.path().join(format!("redis-{name}-{attempt}"));
            let children = work.children().map_err(io("note children in", work.path()))?;
            let launcher = RedisLauncher {
                exe: options.exe.clone(),
                program: program.clone(),
                children,
                min_replicas_to_write: options.min_replicas_to_write,
                min_replicas_max_lag_s: options.min_replicas_max_lag_s,
            };
            let mut group = Self::launch(options.servers, &folder, launcher, attempt)?;
            match group.serves().await {
                Ok(()) => return Ok(group),
                // Somebody may have taken a port.
                Err(error) if attempt >= TRIES || !group.has_ended() => return Err(error),
                Err(_) => {}
            }
        }
    }

    fn launch(servers: u16, folder: &Path, launcher: RedisLauncher, attempt: u32) -> Result<Self, RedisGroupError> {
        let first = reserve_row(servers, attempt).map_err(|source| RedisGroupError::NoPorts { servers, source })?;
        let port = |number: u16| first + number;
        let processes = (0..servers).map(|number| {
            let own = folder.join(number.to_string());
            RedisProcess::spawn((number, port(number)), own, &launcher, (number > 0).then(|| port(0)))
        });
        let processes = processes.collect::<Result<Vec<_>, _>>()?;
        let addresses = (0..servers).map(|number| SocketAddr::from((Ipv4Addr::LOCALHOST, port(number)))).collect();
        Ok(Self { addresses, servers: processes, launcher })
    }

    /// Waits until every server serves, and the replicas have their copies.
    async fn serves(&mut self) -> Result<(), RedisGroupError> {
        let until = Instant::now() + SERVING_WITHIN;
        for number in 0..u16::try_from(self.servers.len()).unwrap_or(u16::MAX) {
            let connection = self.connection(number);
            loop {
                let why = match timeout(ANSWER_WITHIN, connection.replication()).await {
                    Ok(Ok(found)) if found.is_linked => break,
                    Ok(Ok(_)) => "its copy of the master is not whole".to_owned(),
                    Ok(Err(error)) => error.to_string(),
                    Err(_) => format!("no answer in {ANSWER_WITHIN:?}"),
                };
                let server = &mut self.servers[usize::from(number)];
                let ended = server.ended();
                if ended.is_some() || Instant::now() >= until {
                    let (why, log) = (ended.unwrap_or(why), server.log_tail());
                    return Err(RedisGroupError::NotServing { server: number, why, log });
                }
                sleep(ASK_AGAIN).await;
            }
        }
        Ok(())
    }

    /// Waits until a replica's copy of its master is whole and its link is up; false: it takes too long.
    pub async fn is_copied(&self, server: u16) -> bool {
        let connection = self.connection(server);
        let copied = async {
            while !connection.replication().await.is_ok_and(|found| found.is_linked) {
                sleep(ASK_AGAIN).await;
            }
        };
        timeout(SERVING_WITHIN, copied).await.is_ok()
    }

    fn has_ended(&mut self) -> bool {
        self.servers.iter_mut().any(|server| server.ended().is_some())
    }

    /// Addresses of the servers, by number.
    #[must_use]
    pub fn addresses(&self) -> Rc<[SocketAddr]> {
        self.addresses.clone()
    }

    /// New connections to a server, for one manager.
    #[must_use]
    pub fn connection(&self, server: u16) -> RedisConnection {
        RedisConnection::new(self.addresses(), server)
    }

    /// Kills a server, and waits until it is gone.
    ///
    /// # Errors
    /// It is still there after a while.
    pub async fn kill(&mut self, server: u16) -> Result<(), RedisGroupError> {
        self.servers[usize::from(server)].kill().await
    }

    /// Starts a killed server again, as a master, with the data that it had written.
    ///
    /// # Errors
    /// It runs, or cannot be started.
    pub fn start_again(&mut self, server: u16) -> Result<(), RedisGroupError> {
        self.servers[usize::from(server)].start(&self.launcher)
    }

    /// Stops a server's process, or lets it go on, and waits until the kernel shows that.
    ///
    /// # Errors
    /// It has ended, or the kernel does not show it.
    pub async fn stop_or_go(&mut self, server: u16, stop: bool) -> Result<(), RedisGroupError> {
        self.servers[usize::from(server)].stop_or_go(stop).await
    }

    /// Ends all servers.
    ///
    /// # Errors
    /// One is still there after a while.
    pub async fn stop(mut self) -> Result<(), RedisGroupError> {
        for server in &mut self.servers {
            server.kill().await?;
        }
        Ok(())
    }
}

/// The program that runs a server: the given one, or the same under the name by which it is a server.
fn server_program(name: &str, work: &WorkDir) -> Result<PathBuf, RedisGroupError> {
    if let Some(program) = installed::program(name) {
        return Ok(program);
    }
    let same = installed::program(SAME_PROGRAM).filter(|_| name == SERVER);
    let same = same.ok_or_else(|| RedisGroupError::NotInstalled { program: name.to_owned() })?;
    let link = work.path().join(SERVER);
    match symlink(&same, &link) {
        Ok(()) => Ok(link),
        // Of another group of the run.
        Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => Ok(link),
        Err(error) => Err(io("make the link", &link)(error)),
    }
}
