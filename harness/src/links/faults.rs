//! The faults of links: each is injected, read back, and then looked for from outside, by probes and by counters.
//!
//! Probes run before the first change and after the last: they do not widen a receipt's times.

use std::sync::PoisonError;
use std::time::Duration;

use futures::future::{join, join_all};
use hustings_record::Direction;

use crate::proxy::stats::ProxyStats;

use super::actions;
use super::control::Control;
use super::driver::{BEFORE_LIMIT, CALL_LIMIT, HEALED_LIMIT, Links, endpoints};
use super::error::LinkError;
use super::layout::Link;
use super::probe::{self, Before};
use super::receipt::{self, LinkReceipt};
use super::toxics::{self, Toxic};

/// How long a partitioned link is listened at: three times what the slowest answer took before, within these bounds.
const SILENCE: (Duration, Duration) = (Duration::from_millis(150), Duration::from_secs(1));
/// How long connections may take to be seen closing.
const CLOSING_LIMIT: Duration = Duration::from_millis(500);

impl Links {
    /// Lets nothing pass between hosts and servers, and tells nobody.
    ///
    /// # Errors
    /// It could not be injected exactly so (then nothing is left of it). That it is not seen to work is no error but a
    /// receipt that is not verified.
    pub async fn partition(&self, hosts: &[u16], direction: Direction) -> Result<LinkReceipt, LinkError> {
        self.partition_from(hosts, &[], direction).await
    }

    /// The same between hosts and the servers with these ids alone; all of them without any.
    ///
    /// # Errors
    /// As for [`Self::partition`].
    pub async fn partition_from(
        &self,
        hosts: &[u16],
        servers: &[u32],
        direction: Direction,
    ) -> Result<LinkReceipt, LinkError> {
        let links = self.layout().links_to(hosts, servers)?;
        let endpoints = endpoints(&links);
        let mut before = probe::before(&endpoints, &self.question, BEFORE_LIMIT).await;
        self.remember(&links, before.iter().map(|b| b.answer.came()));
        let (kind, attributes): (_, &[_]) = if self.embedded { ("hold", &[]) } else { ("timeout", &[("timeout", 0)]) };
        let toxics: Vec<_> = toxics::streams(direction).iter().map(|way| Toxic::new(kind, way, attributes)).collect();
        let bracket = self.inject("partition", &links, toxics.clone()).await?;
        let looked = self.look_for_silence(&links, &mut before).await;
        match looked {
            Ok((seen, limit)) => Ok(receipt::partition(bracket, (kind, direction), &before, &seen, limit)),
            Err(error) => {
                self.take_back(links, toxics).await;
                Err(error)
            }
        }
    }

    /// Asks on old connections and on new ones, and counts what passes meanwhile.
    async fn look_for_silence(
        &self,
        links: &[Link],
        before: &mut [Before],
    ) -> Result<(receipt::Silence, Duration), LinkError> {
        let slowest = before.iter().filter_map(|b| b.answer.after()).max().unwrap_or_default();
        let limit = (slowest * 3).clamp(SILENCE.0, SILENCE.1);
        let first = self.counters(links).await?;
        let standing = before.iter_mut().filter_map(|b| b.standing.as_mut());
        let (old, new) = join(
            join_all(standing.map(|stream| probe::ask_on(stream, &self.question, limit))),
            probe::ask_all(&endpoints(links), &self.question, limit),
        )
        .await;
        let counted = first.zip(self.counters(links).await?);
        Ok((receipt::Silence { old, new, counted }, limit))
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
            let answered = self.answered.lock().unwrap_or_else(PoisonError::into_inner);
            links.iter().map(|link| answered.get(&link.name).copied().unwrap_or(true)).collect()
        };
        let limit = |expected: &bool| if *expected { HEALED_LIMIT } else { BEFORE_LIMIT };
        let asked: Vec<_> = endpoints(&links).into_iter().zip(expected.iter().map(limit)).collect();
        let answers = probe::ask_until_answered(&asked, &self.question).await;
        Ok(receipt::heal(bracket, &answers, &expected))
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
        let standing = before.iter_mut().filter_map(|b| b.standing.as_mut());
        let closed = join_all(standing.map(|stream| probe::closes(stream, CLOSING_LIMIT))).await;
        let after = probe::ask_all(&endpoints, &self.question, BEFORE_LIMIT).await;
        Ok(receipt::disconnect(bracket, gone, &before, &closed, &after))
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
        let mut known = self.answered.lock().unwrap_or_else(PoisonError::into_inner);
        known.extend(links.iter().map(|link| link.name.clone()).zip(answered));
    }
}
