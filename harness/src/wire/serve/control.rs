//! Faults of the servers, as of processes and networks.

use std::time::Duration;

use tokio::time::{Instant, sleep};

use super::EmbeddedServers;
use super::listener;
use super::member::{ServedMember, ServerProcessState};

const LOOK_EVERY: Duration = Duration::from_millis(1);
const GONE_WITHIN: Duration = Duration::from_secs(5);

/// Why a running server is not resumed.
pub(crate) const NOT_PAUSED: &str = "it is not paused";
/// Why a paused server is not paused.
pub(crate) const PAUSED_ALREADY: &str = "it is paused already";

impl EmbeddedServers {
    /// Kills a server: its port closes, its connections are reset, its data remains. Returns the observation.
    ///
    /// # Errors
    /// There is no such server, or it does not run.
    pub async fn kill(&self, server: u32) -> Result<String, String> {
        let (at, member) = self.member(server)?;
        if member.gate() == ServerProcessState::Down {
            return Err("it does not run".into());
        }
        let connections = member.lines.borrow().len();
        member.gate.send_replace(ServerProcessState::Down);
        self.core.drive(|ensemble, now| ensemble.kill(now, at));
        member.reset_all();
        let until = Instant::now() + GONE_WITHIN;
        while member.is_bound.get() || !member.lines.borrow().is_empty() {
            if Instant::now() >= until {
                return Err(format!("its port and connections were not gone within {} s", GONE_WITHIN.as_secs()));
            }
            sleep(LOOK_EVERY).await;
        }
        self.core.catch_up();
        Ok(format!("its port is closed, {connections} connections were reset"))
    }

    /// Starts a killed server on its old port, with its data or, if `empty`, without it.
    ///
    /// # Errors
    /// There is no such server, it runs, or its port is taken.
    pub fn start_again(&self, server: u32, empty: bool) -> Result<String, String> {
        let (at, member) = self.member(server)?;
        if member.gate() != ServerProcessState::Down {
            return Err("it runs".into());
        }
        let socket = listener::bind(member.address)
            .map_err(|error| format!("{} cannot be bound again: {error}", member.address))?;
        if empty {
            self.core.drive(|ensemble, _| ensemble.wipe(at));
        }
        self.core.run(at, socket);
        Ok(format!(
            "it listens on {} again, {}",
            member.address,
            if empty { "without data" } else { "on its old data" }
        ))
    }

    /// Pauses a server: it does not read, answer or accept, and connections remain.
    ///
    /// # Errors
    /// There is no such server, or it is not running.
    pub fn pause(&self, server: u32) -> Result<String, String> {
        let (at, member) = self.member(server)?;
        match member.gate() {
            ServerProcessState::Running => {}
            ServerProcessState::Paused => return Err(PAUSED_ALREADY.into()),
            ServerProcessState::Down => return Err("it is not running".into()),
        }
        member.gate.send_replace(ServerProcessState::Paused);
        self.core.drive(|ensemble, now| ensemble.pause(now, at));
        Ok(format!("it neither reads nor answers, {} connections stay", member.lines.borrow().len()))
    }

    /// Resumes a paused server.
    ///
    /// # Errors
    /// There is no such server, or it is not paused.
    pub fn resume(&self, server: u32) -> Result<String, String> {
        let (at, member) = self.member(server)?;
        if member.gate() != ServerProcessState::Paused {
            return Err(NOT_PAUSED.into());
        }
        member.gate.send_replace(ServerProcessState::Running);
        self.core.drive(|ensemble, now| ensemble.resume(now, at));
        self.core.catch_up();
        Ok("it goes on".into())
    }

    /// Partitions these servers from the others, or ends that partition.
    ///
    /// # Errors
    /// There is no such server, or no server on one of the sides.
    pub fn part(&self, servers: &[u32], parted: bool) -> Result<String, String> {
        let inside = servers.iter().map(|server| self.member(*server).map(|(at, _)| at));
        let inside = inside.collect::<Result<Vec<_>, _>>()?;
        let outside: Vec<usize> = (0..self.core.members.len()).filter(|at| !inside.contains(at)).collect();
        if inside.is_empty() || outside.is_empty() {
            return Err("a cut needs servers on both of its sides".into());
        }
        self.core.drive(|ensemble, now| {
            for &a in &inside {
                for &b in &outside {
                    self.core.logs.part(now, a, b, parted);
                    if parted { ensemble.part(now, a, b) } else { ensemble.join(now, a, b) }
                }
            }
        });
        self.core.catch_up();
        let (pairs, how) = (inside.len() * outside.len(), if parted { "no longer hear" } else { "hear" });
        Ok(format!("{pairs} pairs of servers {how} each other"))
    }

    /// A server's log of its elections.
    ///
    /// # Errors
    /// There is no such server.
    pub fn log(&self, server: u32) -> Result<String, String> {
        self.member(server).map(|(at, _)| self.core.logs.text(at))
    }

    fn member(&self, server: u32) -> Result<(usize, &ServedMember), String> {
        let at = usize::try_from(server).ok().and_then(|server| server.checked_sub(1));
        at.and_then(|at| Some((at, self.core.members.get(at)?))).ok_or_else(|| format!("there is no server {server}"))
    }
}
