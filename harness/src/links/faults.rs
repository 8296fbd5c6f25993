//! Link faults: each is injected, read back, and then verified from outside, by probes and by counters.
//!
//! Probes run before the first change and after the last, so they do not widen a verification's times.

use std::collections::BTreeSet;
use std::time::Duration;

use futures::future::{join_all, join3};
use hustings_record::{Direction, HealedLink, PartitionedLink, ResetLink};
use hustings_workloads::driver::LinkFault;

use crate::process::lock::lock;
use crate::proxy::stats::ProxyStats;

use super::actions;
use super::control::Control;
use super::driver::{BEFORE_LIMIT, CALL_LIMIT, HEALED_LIMIT, RunLinks, endpoints};
use super::error::LinkError;
use super::layout::Link;
use super::probe::{self, LinkBaseline, Reply};
use super::toxics::{self, Toxic};
use super::verification::{self, LinkVerification};

/// Listening time on a partitioned link: three times the slowest answer before the fault, within these bounds.
const SILENCE: (Duration, Duration) = (Duration::from_millis(150), Duration::from_secs(1));
/// Maximum number of listening attempts.
const SILENCE_TRIES: u32 = 3;
/// Limit for observing that connections close.
const CLOSING_LIMIT: Duration = Duration::from_millis(500);

impl RunLinks {
    /// Blocks all traffic between hosts and servers, without notifying either side.
    ///
    /// # Errors
    /// The exact injection failed, and has been undone. A fault without visible effect is no error, but an unverified
    /// verification.
    pub async fn partition(&self, hosts: &[u16], direction: Direction) -> Result<LinkVerification, LinkError> {
        self.partition_from(hosts, &[], direction, |_| ()).await
    }

    /// As [`Self::partition`], limited to the servers with these ids. No ids: all servers. `in_effect` receives the
    /// time of effect, before the verification.
    ///
    /// # Errors
    /// As for [`Self::partition`].
    pub async fn partition_from(
        &self,
        hosts: &[u16],
        servers: &[u32],
        direction: Direction,
        in_effect: impl FnOnce((u64, u64)),
    ) -> Result<LinkVerification, LinkError> {
        let links = self.layout().links_to(hosts, servers)?;
        let endpoints = endpoints(&links);
        let mut before = probe::before(&endpoints, &self.question, BEFORE_LIMIT).await;
        self.remember(&links, before.iter().map(|b| b.answer.came()));
        let (kind, attributes): (_, &[_]) = if self.embedded { ("hold", &[]) } else { ("timeout", &[("timeout", 0)]) };
        let toxics: Vec<_> = toxics::streams(direction).iter().map(|way| Toxic::new(kind, way, attributes)).collect();
        let bracket = self.inject("partition", &links, toxics.clone()).await?;
        in_effect((bracket.from, bracket.to));
        let slowest = before.iter().filter_map(|b| b.answer.after()).max().unwrap_or_default();
        let limit = (slowest * 3).clamp(SILENCE.0, SILENCE.1);
        let looked = self.look_for_silence(&links, &mut before, direction, limit).await;
        match looked {
            Ok(seen) => Ok(verification::partition(bracket, (kind, direction), seen, limit)),
            Err(error) => {
                self.take_back(links, toxics).await;
                Err(error)
            }
        }
    }

    /// Probes old and new connections and every server directly, and counts passed bytes meanwhile. If a server is
    /// silent as well, because it is busy or stopped, up to two more attempts follow.
    async fn look_for_silence(
        &self,
        links: &[Link],
        before: &mut [LinkBaseline],
        direction: Direction,
        limit: Duration,
    ) -> Result<Vec<PartitionedLink>, LinkError> {
        let first = self.counters(links).await?;
        let mut tries_left = SILENCE_TRIES;
        loop {
            tries_left -= 1;
            let mut seen = self.listen(links, before, limit).await;
            let then = self.counters(links).await?;
            let of = |stats: &Option<Vec<ProxyStats>>, place: usize| {
                stats.as_ref()?.get(place).map(|stats| (stats.up.bytes, stats.down.bytes))
            };
            for (place, link) in seen.iter_mut().enumerate() {
                link.bytes = of(&first, place).zip(of(&then, place)).map(|(first, then)| [first, then]);
            }
            let alone = seen.iter().any(|link| link.silent() && !link.server_spoke(direction));
            if !alone || tries_left == 0 {
                return Ok(seen);
            }
        }
    }

    /// Probes every link, on its old and on a new connection, and its server directly, all concurrently.
    async fn listen(&self, links: &[Link], before: &mut [LinkBaseline], limit: Duration) -> Vec<PartitionedLink> {
        let question = &self.question[..];
        let past: Vec<_> = links.iter().map(|link| self.layout().past(link)).collect();
        let asked = links.iter().zip(before).zip(past).map(async |((link, before), past)| {
            let old = async {
                let stream = before.standing.as_mut()?;
                Some(probe::ask_on(stream, question, limit).await.asked)
            };
            let direct = async {
                match past {
                    Some(past) => probe::ask(past, question, limit).await,
                    None => Reply::nobody(),
                }
            };
            let new = probe::ask(link.endpoint, question, limit);
            let (old, new, direct) = join3(old, new, direct).await;
            let ((host, server), before) = (link.ends, before.answer.asked);
            PartitionedLink { host, server, before, old, new: new.asked, direct: direct.asked, bytes: None }
        });
        join_all(asked).await
    }

    /// Removes all faults from the links of these hosts.
    ///
    /// # Errors
    /// A toxic remains, or the API cannot be reached.
    pub async fn heal(&self, hosts: &[u16]) -> Result<LinkVerification, LinkError> {
        let links = self.layout().links(hosts)?;
        let here = links.clone();
        let heal = move |controls: &mut Vec<Control>| actions::heal(controls, &here);
        let bracket = self.caller.call("heal", CALL_LIMIT, heal).await?;
        Ok(self.look_for_answers(&links, bracket, LinkFault::Partition, &BTreeSet::new()).await)
    }

    /// Removes one fault from the links of these hosts. Others stay in force, and links that they delay or hold need not
    /// answer.
    ///
    /// # Errors
    /// A toxic of the fault remains, or the API cannot be reached.
    pub async fn heal_fault(&self, hosts: &[u16], fault: LinkFault) -> Result<LinkVerification, LinkError> {
        let links = self.layout().links(hosts)?;
        let (here, unwanted) = (links.clone(), toxics::of_fault(fault));
        let end = move |controls: &mut Vec<Control>| actions::end(controls, &here, &unwanted);
        let bracket = self.caller.call("heal", CALL_LIMIT, end).await?;
        let before = self.delayed(&links).await?;
        let healed = self.look_for_answers(&links, bracket, fault, &before).await;
        if healed.verified {
            return Ok(healed);
        }
        // Another fault may have begun while the links were asked.
        let since = self.delayed(&links).await?;
        if since.is_subset(&before) {
            return Ok(healed);
        }
        Ok(self.look_for_answers(&links, bracket, fault, &since).await)
    }

    async fn delayed(&self, links: &[Link]) -> Result<BTreeSet<String>, LinkError> {
        let links = links.to_vec();
        let look = move |controls: &mut Vec<Control>| actions::delayed(controls, &links);
        self.caller.call("read the toxics", CALL_LIMIT, look).await
    }

    /// Probes healed links. Those that answered before are due to answer, unless another fault delays them.
    async fn look_for_answers(
        &self,
        links: &[Link],
        bracket: actions::ChangeBounds,
        fault: LinkFault,
        delayed: &BTreeSet<String>,
    ) -> LinkVerification {
        let expected: Vec<_> = {
            let answered = lock(&self.answered);
            let is_due =
                |link: &Link| answered.get(&link.name).copied().unwrap_or(true) && !delayed.contains(&link.name);
            links.iter().map(is_due).collect()
        };
        let limit = |expected: &bool| if *expected { HEALED_LIMIT } else { BEFORE_LIMIT };
        let asked: Vec<_> = endpoints(links).into_iter().zip(expected.iter().map(limit)).collect();
        let answers = probe::ask_until_answered(&asked, &self.question).await;
        let seen = links.iter().zip(&expected).zip(&answers).map(|((link, due), after)| HealedLink {
            host: link.ends.0,
            server: link.ends.1,
            due: *due,
            after: after.asked,
        });
        verification::heal(bracket, fault, seen.collect(), &answers, delayed.len())
    }

    /// Ends all connections of these hosts. New connections are possible at once.
    ///
    /// # Errors
    /// The API refuses the request or cannot be reached.
    pub async fn disconnect(&self, hosts: &[u16]) -> Result<LinkVerification, LinkError> {
        let links = self.layout().links(hosts)?;
        let endpoints = endpoints(&links);
        let mut before = probe::before(&endpoints, &self.question, BEFORE_LIMIT).await;
        let (here, embedded) = (links.clone(), self.embedded);
        let act = move |controls: &mut Vec<Control>| {
            if embedded {
                actions::reset(controls, &here).map(|(bracket, gone)| (bracket, Some(gone)))
            } else {
                actions::reopen(controls, &here).map(|bracket| (bracket, None))
            }
        };
        let (bracket, gone) = self.caller.call("disconnect", CALL_LIMIT, act).await?;
        let standing = before.iter_mut().map(async |b| match &mut b.standing {
            Some(stream) => Some(probe::closes(stream, CLOSING_LIMIT).await),
            None => None,
        });
        let closed = join_all(standing).await;
        let after = probe::ask_all(&endpoints, &self.question, BEFORE_LIMIT).await;
        let left = |link: &Link| gone.as_ref().is_some_and(|gone| gone.links_left.contains(&link.name));
        let answers = before.iter().zip(closed).zip(&after);
        let seen = links.iter().zip(answers).map(|(link, ((before, closed), after))| ResetLink {
            host: link.ends.0,
            server: link.ends.1,
            before: before.answer.asked,
            closed,
            left: left(link),
            after: after.asked,
        });
        Ok(verification::disconnect(bracket, gone.as_ref().map(|gone| gone.told), seen.collect()))
    }

    pub(super) async fn inject(
        &self,
        what: &'static str,
        links: &[Link],
        toxics: Vec<Toxic>,
    ) -> Result<actions::ChangeBounds, LinkError> {
        let links = links.to_vec();
        let inject = move |controls: &mut Vec<Control>| actions::inject(controls, &links, &toxics);
        self.caller.call(what, CALL_LIMIT, inject).await
    }

    /// Undoes the injection, on a best-effort basis: only the first error is reported.
    pub(super) async fn take_back(&self, links: Vec<Link>, toxics: Vec<Toxic>) {
        let take_back = move |controls: &mut Vec<Control>| {
            actions::take_back(controls, &links, &toxics);
            Ok(())
        };
        let _ = self.caller.call("take the fault back", CALL_LIMIT, take_back).await;
    }

    async fn counters(&self, links: &[Link]) -> Result<Option<Vec<ProxyStats>>, LinkError> {
        if !self.embedded {
            return Ok(None);
        }
        let links = links.to_vec();
        let count = move |controls: &mut Vec<Control>| actions::counters(controls, &links);
        self.caller.call("read the counters", CALL_LIMIT, count).await.map(Some)
    }

    pub(super) fn remember(&self, links: &[Link], answered: impl Iterator<Item = bool>) {
        let mut known = lock(&self.answered);
        known.extend(links.iter().map(|link| link.name.clone()).zip(answered));
    }
}
