//! All that the record says of a group, in order of time.

use super::members::ReplayMembers;
use super::model::{ReplayEvent, ReplayStep};
use super::queue::Queue;
use crate::index::{Ending, Fault, HandledNotice, Index, ROOT, VerificationResult};
use crate::stats::spans::Span;
use hustings_record::{Nanos, WatchEvent};

const STEPS_MAX: usize = 200;
const NAME_CHARS_MAX: usize = 100;
/// Those who are told the same one after the other are one step, if so much later at most.
const TOGETHER_NS: Nanos = 50_000_000;

/// The steps, with the time of the first one, and how many more there are.
pub(super) fn steps(
    index: &Index<'_>,
    group: u32,
    queue: &Queue<'_, '_>,
    cast: &ReplayMembers,
) -> (Nanos, Vec<ReplayStep>, u64) {
    let mut found = StepCollector { index, group, queue, cast, window: (0, index.observed_until()), all: Vec::new() };
    // What happens at one moment is told in this order.
    found.faults();
    found.processes();
    found.told();
    found.candidates();
    found.terms();
    found.owners();
    found.lists();
    let mut all = found.all;
    all.sort_by_key(|(t, _)| *t);
    let from = all.iter().find(|(_, what)| matches!(what, ReplayEvent::Stood { .. })).map_or(0, |(t, _)| *t);
    all.retain(|(t, _)| *t >= from);
    let merged = merge(all);
    let left_out = merged.len().saturating_sub(STEPS_MAX) as u64;
    let step = |(t, what): (Nanos, ReplayEvent)| ReplayStep { at: t - from, what };
    (from, merged.into_iter().take(STEPS_MAX).map(step).collect(), left_out)
}

struct StepCollector<'g, 'i, 'a> {
    index: &'g Index<'a>,
    group: u32,
    queue: &'g Queue<'i, 'a>,
    cast: &'g ReplayMembers,
    window: Span,
    all: Vec<(Nanos, ReplayEvent)>,
}

impl<'a> StepCollector<'_, '_, 'a> {
    fn add(&mut self, t: Nanos, what: ReplayEvent) {
        if t <= self.window.1 {
            self.all.push((t, what));
        }
    }

    fn faults(&mut self) {
        let index = self.index;
        let whom = |fault: &Fault<'a>| {
            let of_group = index.candidates.of_group(self.group).iter().copied();
            self.cast.places(of_group.filter(|&cand| !fault.kind.hits_servers() && fault.hits(cand)))
        };
        let of_group = index.faults.of_group(self.group).chain(index.faults.on_servers());
        let faults: Vec<(&Fault<'a>, Vec<usize>)> = of_group.map(|fault| (fault, whom(fault))).collect();
        for (fault, who) in faults {
            let (id, kind, verified) = (fault.id, fault.kind, fault.verified());
            let servers = fault.servers.to_vec();
            let begun = fault.injected.as_ref().map_or(fault.t, |proof| proof.from);
            self.add(begun, ReplayEvent::Fault { id, kind, who: who.clone(), servers, verified });
            // What is done in an instant is not healed.
            if let Some(VerificationResult { to, verified, .. }) =
                fault.healed.as_deref().filter(|_| kind.facts().until_healed)
            {
                self.add(*to, ReplayEvent::Healed { id, kind, who, verified: *verified });
            }
        }
        // Whom it would have hit is not known: every group is told of it.
        for (intent, t, why) in index.plan.withheld() {
            self.add(t, ReplayEvent::Withheld { planned: intent.id, kind: intent.kind, why });
        }
    }

    fn processes(&mut self) {
        let index = self.index;
        for life in index.lives.all.iter().filter(|life| life.generation > 0) {
            let on_host = self.cast.members.iter().filter(|member| Some(member.host) == life.host);
            let who: Vec<usize> = on_host.filter_map(|member| self.cast.place(member.candidate)).collect();
            who.into_iter().for_each(|who| self.add(life.first, ReplayEvent::Runs { who }));
        }
    }

    fn told(&mut self) {
        let index = self.index;
        for notice in index.notices.of_group(self.group) {
            let who = self.cast.place(notice.cand);
            let of = self.queue.owner(notice.node, notice.t).and_then(|owner| self.cast.place(owner));
            let (node, others) = (kept(notice.node), u64::from(who.is_none()));
            let who = who.into_iter().collect();
            self.add(notice.t, ReplayEvent::Told { who, others, node, of, kind: notice.kind, spread: 0 });
        }
    }

    fn candidates(&mut self) {
        let index = self.index;
        let members = self.cast.members.iter().map(|member| member.candidate).zip(0..).collect::<Vec<(u32, usize)>>();
        for (cand, who) in members {
            let stands = index.candidates.stands.get(&cand).map_or(&[][..], Vec::as_slice);
            let mut sessions: Vec<(i64, Nanos)> = Vec::new();
            for stand in stands {
                let node = stand.node.map(kept);
                self.add(stand.from, ReplayEvent::Stood { who, node, session: stand.session });
                if sessions.iter().all(|(session, _)| *session != stand.session) {
                    sessions.push((stand.session, stand.from));
                }
            }
            for (session, since) in sessions {
                let states = index.candidates.states.get(&session).map_or(&[][..], Vec::as_slice);
                // A session that has just begun is connected: that is no news.
                for (t, state) in states.iter().filter(|(t, _)| *t > since) {
                    self.add(*t, ReplayEvent::Session { who, state: *state });
                }
            }
            for left in index.candidates.departures.get(&cand).map_or(&[][..], Vec::as_slice) {
                if let Some((_, answered)) = left.how.deletion() {
                    self.add(answered, ReplayEvent::Deleted { who });
                }
                self.add(left.t, ReplayEvent::Left { who, how: left.how.clone() });
            }
            for &HandledNotice { t, requests, .. } in index.notices.all_handled(cand) {
                let member = |of: u32| self.cast.place(of);
                if let Some(watches) = self.queue.watched(cand, t, member).filter(|_| !self.leads(cand, t)) {
                    self.add(t, ReplayEvent::Waits { who, requests, watches });
                }
            }
        }
    }

    fn leads(&self, cand: u32, at: Nanos) -> bool {
        self.index.terms.held_by(cand, at).is_some_and(|term| at < self.index.terms.all[term].ended.0)
    }

    fn terms(&mut self) {
        let index = self.index;
        for term in index.terms.of_group(self.group).iter().map(|&term| &index.terms.all[term]) {
            let Some(who) = self.cast.place(term.cand) else { continue };
            let Some((from, to)) = term.definite() else { continue };
            self.add(from, ReplayEvent::Leads { who, node: kept(term.node) });
            let reason = match term.ending {
                Ending::Revoked(reason) => Some(reason),
                Ending::Died | Ending::Censored => None,
            };
            // At the end of the window everybody is asked to stop.
            if to < self.window.1 && term.ending != Ending::Censored {
                self.add(to, ReplayEvent::Yields { who, reason });
            }
            let key = (term.cand, term.session, term.czxid);
            for (refused, first) in
                [(false, index.writing.first_accepted(key, from)), (true, index.writing.first_refused(key))]
            {
                first.into_iter().for_each(|t| self.add(t, ReplayEvent::Wrote { who, refused }));
            }
        }
    }

    fn owners(&mut self) {
        let index = self.index;
        let mut before = None;
        for interval in index.intervals.of_group(self.group) {
            let owner = interval.session.and_then(|session| self.owner(session, interval.span.0));
            let who = owner.and_then(|owner| self.cast.place(owner));
            let other = interval.session.is_some() && who.is_none();
            if before.replace((interval.session, interval.czxid)) != Some((interval.session, interval.czxid)) {
                self.add(interval.span.0, ReplayEvent::Owns { who, other });
            }
        }
    }

    /// Which candidate of the group this session is, if it is that of one alone.
    fn owner(&self, session: i64, at: Nanos) -> Option<u32> {
        let index = self.index;
        let of_group = index.candidates.of_group(self.group).iter().copied();
        let stands = |cand: &u32| {
            let stands = index.candidates.stands.get(cand).map_or(&[][..], Vec::as_slice);
            stands.iter().any(|stand| stand.session == session && stand.from <= at)
        };
        let mut owners = of_group.filter(stands);
        owners.next().filter(|_| owners.next().is_none())
    }

    fn lists(&mut self) {
        let index = self.index;
        let below = format!("{ROOT}{}/", index.group_name(self.group));
        for listed in [&index.lists.begin, &index.lists.end].into_iter().flatten() {
            let at = listed.asked.1;
            let mut watches = Vec::new();
            for (path, sessions) in listed.holds.watches.range(below.clone()..) {
                let Some(node) = path.strip_prefix(&below) else { break };
                let owner = match self.queue.owner(node, at) {
                    Some(owner) => Some(owner),
                    None => listed.holds.ephemerals.get(path).and_then(|session| self.owner(*session, at)),
                };
                let Some(of) = owner.and_then(|owner| self.cast.place(owner)) else { continue };
                let watchers = sessions.iter().filter_map(|session| self.owner(*session, at));
                let watchers = self.cast.places(watchers).into_iter();
                watches.extend(watchers.filter(|who| *who != of).map(|who| (who, of)));
            }
            watches.sort_unstable();
            self.add(at, ReplayEvent::Listed { watches });
        }
    }
}

/// As much of a znode's name as is kept: those of candidates are far shorter, whatever else a record holds.
fn kept(node: &str) -> String {
    node.chars().take(NAME_CHARS_MAX).collect()
}

/// Those who are told the same at nearly the same time are told in one step.
fn merge(all: Vec<(Nanos, ReplayEvent)>) -> Vec<(Nanos, ReplayEvent)> {
    let mut merged: Vec<(Nanos, ReplayEvent)> = Vec::with_capacity(all.len());
    for (t, what) in all {
        if let Some((first, before)) = merged.last_mut()
            && t - *first <= TOGETHER_NS
            && join(before, &what, t - *first)
        {
            continue;
        }
        merged.push((t, what));
    }
    merged
}

/// Takes `next` into the step before it, if both tell the same of one znode.
fn join(before: &mut ReplayEvent, next: &ReplayEvent, later: Nanos) -> bool {
    let ReplayEvent::Told { who, others, node, kind, spread, .. } = before else { return false };
    let ReplayEvent::Told { who: more, others: more_others, node: same, kind: same_kind, .. } = next else {
        return false;
    };
    // Who is told twice is told in two steps.
    if node != same || kind != same_kind || more.iter().any(|one| who.contains(one)) {
        return false;
    }
    who.extend(more);
    (*others, *spread) = (*others + more_others, later);
    true
}

/// The place of the step that tells that this candidate's znode is gone, from `from` on.
pub(super) fn step_of_notification(steps: &[ReplayStep], from: usize, of: usize) -> Option<usize> {
    let told = |step: &ReplayStep| matches!(&step.what, ReplayEvent::Told { of: Some(gone), kind: WatchEvent::Deleted, .. } if *gone == of);
    steps.iter().enumerate().skip(from).find(|(_, step)| told(step)).map(|(place, _)| place)
}
