//! The faults of links: each is injected, read back, and then looked for from outside, by probes and by counters.
//!
//! Probes run before the first change and after the last: they do not widen a receipt's times.

use std::time::Duration;

use futures::future::{join_all, join3};
use hustings_record::{CutLink, Direction, ResetLink, WholeLink};

use crate::process::lock::lock;
use crate::proxy::stats::ProxyStats;

use super::actions;
use super::control::Control;
use super::driver::{BEFORE_LIMIT, CALL_LIMIT, HEALED_LIMIT, RunLinks, endpoints};
use super::error::LinkError;
use super::layout::Link;
use super::probe::{self, Before, Reply};
use super::receipt::{self, LinkReceipt};
use super::toxics::{self, Toxic};

/// How long a partitioned link is listened at: three times what the slowest answer took before, within these bounds.
const SILENCE: (Duration, Duration) = (Duration::from_millis(150), Duration::from_secs(1));
/// How often is listened, at most.
const SILENCE_TRIES: u32 = 3;
/// How long connections may take to be seen closing.
const CLOSING_LIMIT: Duration = Duration::from_millis(500);

impl RunLinks {
    /// Lets nothing pass between hosts and servers, and tells nobody.
    ///
    /// # Errors
    /// It could not be injected exactly so (then nothing is left of it). That it is not seen to work is no error but a
    /// receipt that is not verified.
    pub async fn partition(&self, hosts: &[u16], direction: Direction) -> Result<LinkReceipt, LinkError> {
        self.partition_from(hosts, &[], direction, |_| ()).await
    }

    /// The same between hosts and the servers with these ids alone; all of them without any. `in_effect` is told when it took
    /// effect, before that is verified.
    ///
    /// # Errors
    /// As for [`Self::partition`].
    pub async fn partition_from(
        &self,
        hosts: &[u16],
        servers: &[u32],
        direction: Direction,
        in_effect: impl FnOnce((u64, u64)),
    ) -> Result<LinkReceipt, LinkError> {
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
            Ok(seen) => Ok(receipt::partition(bracket, (kind, direction), seen, limit)),
            Err(error) => {
                self.take_back(links, toxics).await;
                Err(error)
            }
        }
    }

    /// Asks on old connections and on new ones, asks every server past its links, and counts what passes meanwhile. A server
    /// that was silent too, busy or stopped, is given a second chance, and a third.
    async fn look_for_silence(
        &self,
        links: &[Link],
        before: &mut [Before],
        direction: Direction,
        limit: Duration,
    ) -> Result<Vec<CutLink>, LinkError> {
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

    /// Asks every link, on its old connection and on a new one, and its server past it, all at the same time.
    async fn listen(&self, links: &[Link], before: &mut [Before], limit: Duration) -> Vec<CutLink> {
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
            CutLink { host, server, before, old, new: new.asked, direct: direct.asked, bytes: None }
        });
        join_all(asked).await
    }

    /// Takes all faults from the links of these hosts.
    ///
    /// # Errors
    /// Some toxic is still there, or the API cannot be reached.
    pub async fn heal(&self, hosts: &[u16]) -> Result<LinkReceipt, LinkError> {
        let links = self.layout().links(hosts)?;
        let here = links.clone();
        let heal = move |controls: &mut Vec<Control>| actions::heal(controls, &here);
        let bracket = self.caller.call("heal", CALL_LIMIT, heal).await?;
        let expected: Vec<_> = {
            let answered = lock(&self.answered);
            links.iter().map(|link| answered.get(&link.name).copied().unwrap_or(true)).collect()
        };
        let limit = |expected: &bool| if *expected { HEALED_LIMIT } else { BEFORE_LIMIT };
        let asked: Vec<_> = endpoints(&links).into_iter().zip(expected.iter().map(limit)).collect();
        let answers = probe::ask_until_answered(&asked, &self.question).await;
        let seen = links.iter().zip(&expected).zip(&answers).map(|((link, due), after)| WholeLink {
            host: link.ends.0,
            server: link.ends.1,
            due: *due,
            after: after.asked,
        });
        Ok(receipt::heal(bracket, seen.collect(), &answers))
    }

    /// Ends all connections of these hosts; new ones can be made at once.
    ///
    /// # Errors
    /// The API refuses it or cannot be reached.
    pub async fn disconnect(&self, hosts: &[u16]) -> Result<LinkReceipt, LinkError> {
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
        Ok(receipt::disconnect(bracket, gone.as_ref().map(|gone| gone.told), seen.collect()))
    }

    pub(super) async fn inject(
        &self,
        what: &'static str,
        links: &[Link],
        toxics: Vec<Toxic>,
    ) -> Result<actions::Bracket, LinkError> {
        let links = links.to_vec();
        let inject = move |controls: &mut Vec<Control>| actions::inject(controls, &links, &toxics);
        self.caller.call(what, CALL_LIMIT, inject).await
    }

    /// Takes back what was injected, as far as that is possible: the first error is the one to tell.
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
