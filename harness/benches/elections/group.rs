//! Groups on host processes, and faults of their leaders. All times come from the hosts' own records, as in reports.
//! Unlike reports, they include stalls of the machine.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use anyhow::ensure;
use hustings::process::clock;
use hustings::protocol::ToHost;
use hustings_record::{Event, FaultKind, Nanos};
use hustings_workloads::host::Token;

use crate::hosts::{Electorate, HOSTS, Hosts};
use crate::stage::Stage;

/// After this time a host has written its events, unless the machine is busy.
const WRITTEN_AFTER: Duration = Duration::from_millis(30);
/// Limit for an event to appear in the segments.
const AT_MOST: Duration = Duration::from_secs(30);
/// An injection without a leader gives no sample, and is retried.
const TRIES_MAX: u32 = 5;

/// A fault of a leader.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LeaderFault {
    Resign,
    Expire,
    /// Its host is killed, with all candidates on it.
    Crash,
}

impl LeaderFault {
    pub(crate) const ALL: [Self; 3] = [Self::Resign, Self::Expire, Self::Crash];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Resign => FaultKind::Resign.name(),
            Self::Expire => FaultKind::Expire.name(),
            Self::Crash => FaultKind::Crash.name(),
        }
    }
}

#[derive(Clone, Copy, Default)]
struct Slot {
    /// When it enrolled.
    joined: Option<Nanos>,
    /// It waits with its watch armed, or leads.
    settled: bool,
}

struct Grant {
    /// a⁺.
    t: Nanos,
    cand: u32,
    session: i64,
}

pub(crate) struct Groups<'s> {
    hosts: Hosts<'s>,
    electorate: Electorate,
    slots: Vec<Slot>,
    /// Grants since the last injection.
    grants: Vec<Grant>,
    /// When the term of each session ended (r⁻), since the last injection.
    revokes: BTreeMap<i64, Nanos>,
}

impl<'s> Groups<'s> {
    /// Starts the hosts. No candidate is enrolled yet.
    pub(crate) async fn start(stage: &'s Stage, electorate: Electorate) -> anyhow::Result<Self> {
        let slots = vec![Slot::default(); electorate.candidates() as usize];
        let hosts = Hosts::start(stage, electorate).await?;
        Ok(Self { hosts, electorate, slots, grants: Vec::new(), revokes: BTreeMap::new() })
    }

    /// Enrols all candidates at once. Returns the time until all are enrolled and every group has a leader.
    pub(crate) async fn enrol(&mut self) -> anyhow::Result<Duration> {
        let from = clock::now();
        (0..HOSTS).for_each(|host| self.hosts.enrol(host));
        let to = self.watch("everybody to stand", |groups| groups.all_enrolled_and_led()).await?;
        Ok(Duration::from_nanos(to - from))
    }

    /// Enrols the candidates one host after the other, so that those behind the leader in the queue are on its own
    /// host. An injection that kills and restarts a host restores this order.
    pub(crate) async fn enrol_in_turn(&mut self) -> anyhow::Result<()> {
        for host in 0..HOSTS {
            self.hosts.enrol(host);
            self.watch("a host's candidates to stand", |groups| {
                groups.of_host(host).all(|slot| slot.settled).then_some(())
            })
            .await?;
        }
        Ok(())
    }

    /// Injects a fault into the leader of the only group, and waits until all candidates have settled. Returns the time
    /// from the leader loss to the next grant.
    pub(crate) async fn injection(&mut self, injection: LeaderFault) -> anyhow::Result<Duration> {
        for _ in 0..TRIES_MAX {
            if let Some(took) = self.try_to_hit(injection).await? {
                return Ok(took);
            }
            eprintln!("an injection met no leader, or somebody led in between: tried again");
        }
        anyhow::bail!("{TRIES_MAX} injections in a row met no leader; the machine may have too much to do")
    }

    /// None: this injection did not cause the leader loss.
    async fn try_to_hit(&mut self, injection: LeaderFault) -> anyhow::Result<Option<Duration>> {
        let (cand, token) = self.settled().await?;
        self.grants.clear();
        self.revokes.clear();
        let asked = clock::now();
        let outcome = match injection {
            LeaderFault::Resign => self.hosts.order(cand, |fault| ToHost::Resign { fault, cand }).await?,
            LeaderFault::Expire => self.hosts.order(cand, |fault| ToHost::Expire { fault, cand }).await?,
            LeaderFault::Crash => Ok((self.hosts.kill(self.electorate.host_of(cand)).await?, 0)),
        };
        let effect = match outcome {
            Ok((effect, _)) => effect,
            Err(why) => {
                eprintln!("{}: {why}", injection.name());
                return Ok(None);
            }
        };
        // A candidate that lost its leadership or process must enrol again before the next injection.
        self.slots[cand as usize] = Slot::default();
        self.hosts.until_led_by_another(token).await?;
        if injection == LeaderFault::Crash {
            self.restart(self.electorate.host_of(cand)).await?;
        }
        self.settled().await?;
        // On a resignation, the belief ends before the delete is sent. Only the candidate's host knows when.
        let lost = match (injection, self.revokes.get(&token.session)) {
            (LeaderFault::Resign, None) => return Ok(None),
            (LeaderFault::Resign, Some(&ended)) => ended.min(effect),
            (LeaderFault::Expire | LeaderFault::Crash, _) => effect,
        };
        let granted = self.watch("the next grant", |groups| groups.granted_after(lost, (injection, token))).await?;
        let between =
            self.grants.iter().any(|grant| asked < grant.t && grant.t <= lost && grant.session != token.session);
        Ok((!between).then(|| Duration::from_nanos(granted - lost)))
    }

    pub(crate) async fn stop(self) -> anyhow::Result<()> {
        self.hosts.stop().await
    }

    async fn restart(&mut self, host: u16) -> anyhow::Result<()> {
        self.hosts.start_processes([host]).await?;
        for cand in 0..self.electorate.candidates() {
            if self.electorate.host_of(cand) == host {
                self.slots[cand as usize] = Slot::default();
            }
        }
        self.hosts.enrol(host);
        Ok(())
    }

    fn of_host(&self, host: u16) -> impl Iterator<Item = &Slot> {
        let own = move |cand: &usize| self.electorate.host_of(*cand as u32) == host;
        (0..self.slots.len()).filter(own).map(|cand| &self.slots[cand])
    }

    fn all_enrolled_and_led(&self) -> Option<Nanos> {
        let mut first: BTreeMap<u32, Nanos> = BTreeMap::new();
        for grant in &self.grants {
            let at = first.entry(self.electorate.group_of(grant.cand)).or_insert(grant.t);
            *at = grant.t.min(*at);
        }
        let joined: Option<Vec<Nanos>> = self.slots.iter().map(|slot| slot.joined).collect();
        let led = (first.len() == self.electorate.groups as usize).then(|| first.into_values().max())??;
        Some(joined?.into_iter().fold(led, Nanos::max))
    }

    /// Time of the next grant. A session that is ended by force may lead once more during the injection. If a resigned
    /// candidate leads again, it counts as a handover.
    fn granted_after(&self, lost: Nanos, (injection, token): (LeaderFault, Token)) -> Option<Nanos> {
        let counts =
            |grant: &&Grant| grant.t > lost && (injection == LeaderFault::Resign || grant.session != token.session);
        self.grants.iter().filter(counts).map(|grant| grant.t).min()
    }

    /// Waits until every candidate is enrolled and waits, or leads. Returns the leader.
    async fn settled(&mut self) -> anyhow::Result<(u32, Token)> {
        let sole = |groups: &Self| {
            let all = groups.slots.iter().all(|slot| slot.settled);
            groups.hosts.sole_leader().filter(|_| all)
        };
        self.watch("everybody to have settled", sole).await
    }

    /// Reads the hosts' records until `look` finds its event.
    async fn watch<T>(&mut self, what: &str, look: impl Fn(&Self) -> Option<T>) -> anyhow::Result<T> {
        let until = Instant::now() + AT_MOST;
        loop {
            tokio::time::sleep(WRITTEN_AFTER).await;
            for event in self.hosts.news()? {
                self.take(event);
            }
            if let Some(found) = look(self) {
                return Ok(found);
            }
            ensure!(Instant::now() < until, "{what} took more than {AT_MOST:?}");
        }
    }

    fn take(&mut self, event: Event) {
        let slot = |cand: u32| cand as usize;
        match event {
            Event::Incarnation { cand, .. } | Event::Left { cand, .. } => self.slots[slot(cand)] = Slot::default(),
            Event::Joined { t, cand, .. } => self.slots[slot(cand)] = Slot { joined: Some(t), settled: false },
            Event::Notified { cand, .. } => self.slots[slot(cand)].settled = false,
            Event::Settled { cand, .. } => self.slots[slot(cand)].settled = true,
            Event::Granted { t, cand, session, .. } => self.grants.push(Grant { t, cand, session }),
            Event::Revoke { from, session, .. } => _ = self.revokes.insert(session, from),
            _ => {}
        }
    }
}
