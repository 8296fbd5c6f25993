//! Leaders release late, watchers are notified late, or notified successors decide late.

use super::*;
use crate::check::promptness::{Promise, Promptness, slack};

const SHORT_NS: Nanos = 600_000_000;
const LONG_NS: Nanos = 3_000_000_000;
/// Minimum of losses to judge whether half of them were slow.
const LOSSES_MIN: usize = 3;

pub(in crate::mutations) const DETECTED_LATE_BY_600_MS: Mutation = Mutation {
    name: "detected-600-ms-late",
    about: "more than half of the losses are noticed 600 ms later than they were",
    check: Promptness::NAME,
    verdict: Verdict::Fail,
    one_by_one: false,
    sites: |scene| sites(scene, Promise::Detect, SHORT_NS),
    edit: |scene, sites| edit(scene, sites, Promise::Detect, SHORT_NS),
};

pub(in crate::mutations) const DETECTED_LATE_BY_3_S: Mutation = Mutation {
    name: "detected-3-s-late",
    about: "a loss is noticed 3 s later than it was",
    one_by_one: true,
    sites: |scene| sites(scene, Promise::Detect, LONG_NS),
    edit: |scene, sites| edit(scene, sites, Promise::Detect, LONG_NS),
    ..DETECTED_LATE_BY_600_MS
};

pub(in crate::mutations) const DECIDED_LATE_BY_600_MS: Mutation = Mutation {
    name: "decided-600-ms-late",
    about: "more than half of the successors take the lead 600 ms later than they did",
    sites: |scene| sites(scene, Promise::Decide, SHORT_NS),
    edit: |scene, sites| edit(scene, sites, Promise::Decide, SHORT_NS),
    ..DETECTED_LATE_BY_600_MS
};

pub(in crate::mutations) const DECIDED_LATE_BY_3_S: Mutation = Mutation {
    name: "decided-3-s-late",
    about: "a successor takes the lead 3 s later than it did",
    one_by_one: true,
    sites: |scene| sites(scene, Promise::Decide, LONG_NS),
    edit: |scene, sites| edit(scene, sites, Promise::Decide, LONG_NS),
    ..DETECTED_LATE_BY_600_MS
};

pub(in crate::mutations) const RELEASED_LATE_BY_600_MS: Mutation = Mutation {
    name: "released-600-ms-late",
    about: "more than half of the leaders that are ordered to resign delete their znodes 600 ms later than they did",
    sites: |scene| sites(scene, Promise::Release, SHORT_NS),
    edit: |scene, sites| edit(scene, sites, Promise::Release, SHORT_NS),
    ..DETECTED_LATE_BY_600_MS
};

pub(in crate::mutations) const RELEASED_LATE_BY_3_S: Mutation = Mutation {
    name: "released-3-s-late",
    about: "a leader that is ordered to resign deletes its znode 3 s later than it did",
    one_by_one: true,
    sites: |scene| sites(scene, Promise::Release, LONG_NS),
    edit: |scene, sites| edit(scene, sites, Promise::Release, LONG_NS),
    ..DETECTED_LATE_BY_600_MS
};

fn sites(scene: &IndexedCell<'_>, what: Promise, late: Nanos) -> Sites {
    let index = scene.index;
    let watches = index.info.leader_wakes() != Some(FanOut::None);
    let slack = slack(index, what, late);
    // The stricter promise is about more than half of all that are compared with it.
    let enough = if late == SHORT_NS { LOSSES_MIN.max(slack.len() / 2 + 1) } else { 1 };
    let allowed = |loss: &usize| {
        slack.get(loss).map_or(late, |slack| if late == SHORT_NS { slack.of_half } else { slack.of_each })
    };
    let site_filter = scene
        .handovers()
        .only_if("the recipe watches nothing", watches || what != Promise::Detect)
        .keep("no leader was ordered to resign", |&loss| {
            what != Promise::Release || scene.fault(loss).kind == FaultKind::Resign
        })
        .keep("the check compares none of them with what is promised: each is void", |loss| slack.contains_key(loss))
        .keep("as much is allowed here, stalls included", |loss| allowed(loss) < late)
        .keep("an earlier leader that ran believed until so late a grant", |&loss| {
            let stopped = scene.fault(loss).kind.facts().process == ProcessFate::Stopped;
            let until = if stopped { index.observed_until() } else { scene.granted(loss).unwrap_or(0) + late };
            scene.believed_until(loss) < until
        })
        .keep("somebody else led before so late a grant", |&loss| {
            let Some(granted) = scene.granted(loss) else { return false };
            let terms = index.terms.of_group(scene.losses()[loss].group).iter().map(|&place| scene.term(place));
            !terms.into_iter().any(|term| granted < term.grant && term.grant <= granted + late)
        })
        .keep("no successor was notified before its grant", |&loss| !watches || notified(scene, loss).is_some())
        .keep("every successor's term was over before so late a grant, or the cell was", |&loss| {
            scene
                .successor(loss)
                .zip(scene.granted(loss))
                .is_some_and(|(next, granted)| next.ended.0.min(index.observed_until()) > granted + late + 1)
        })
        .keep(
            "a fault on the next in line, on servers or on links, a stall or a lost connection was near every handover: from two \
             timeouts before the loss until so late a grant",
            |&loss| undisturbed(scene, loss, late),
        );
    match site_filter.sites() {
        Sites::At(losses) if losses.len() < enough => Sites::Nowhere(
            "fewer than three handovers were undisturbed, or at most half of them: some may take a second more".into(),
        ),
        sites => sites,
    }
}

/// When the successor was notified of the loss, if that was before its grant.
fn notified(scene: &IndexedCell<'_>, loss: usize) -> Option<Nanos> {
    let (next, granted) = (scene.successor(loss)?, scene.granted(loss)?);
    let woken = scene.index.woken(&scene.losses()[loss]);
    let first = woken.first()?.t;
    woken.iter().any(|notice| notice.cand == next.cand && notice.t <= granted).then_some(first)
}

/// Whether only the loss itself affected the candidates that could take over, from a while before it until the late
/// grant.
fn undisturbed(scene: &IndexedCell<'_>, loss: usize, late: Nanos) -> bool {
    let index = scene.index;
    let (lost, fault) = (&scene.losses()[loss], scene.fault(loss));
    let (Some(next), Some(granted)) = (scene.successor(loss), scene.granted(loss)) else { return false };
    let span = (lost.effect.saturating_sub(2 * index.timeout_or_asked() + 1_500_000_000), granted + late);
    // Faults on the successor have long effects; faults on others of the group count only while they last.
    let mut on_next = index.faults.on_cand_in(next.cand, span).filter(|other| other.id != fault.id);
    let around = (lost.effect.saturating_sub(CALM_NS), span.1);
    let mut others = index.faults.on_group_in(lost.group, around).filter(|other| other.id != fault.id);
    let slow =
        |other: &crate::index::Fault<'_>| other.kind.facts().suppresses_watch_events && !other.kind.facts().takes_out;
    let mut elsewhere = index.faults.all.iter().filter(|other| other.t <= span.1 && span.0 <= other.felt().1);
    let group = index.candidates.of_group(lost.group);
    let hosts: Vec<u16> = group.iter().filter_map(|cand| Some(index.candidates.all.get(cand)?.host)).collect();
    on_next.next().is_none()
        && others.all(|other| !other.acts_in(around))
        && !elsewhere.any(|other| other.kind.hits_servers() || slow(other))
        && !fault.hits(next.cand)
        && !fault.kind.hits_servers()
        && !index.servers.out_within(span)
        && !index.lives.stalls_in(&hosts, span).any(|stall| stall.own > index.stall_limit())
        && !index.candidates.lost_touch(next.session, (lost.effect, granted + late))
}

fn edit<'s>(scene: &'s IndexedCell<'s>, sites: &'s [usize], what: Promise, late: Nanos) -> Edits<'s> {
    struct DelayedHandover<'t> {
        next: &'t Term<'t>,
        group: u32,
        loser: u32,
        /// Notifications and their consequences between these times are delayed.
        told: (Nanos, Nanos),
        granted: Nanos,
    }
    let moved: Vec<DelayedHandover<'_>> = sites
        .iter()
        .filter_map(|&loss| {
            let (next, granted) = (scene.successor(loss)?, scene.granted(loss)?);
            let lost = &scene.losses()[loss];
            let told = notified(scene, loss).unwrap_or(granted);
            let from = if what == Promise::Release { lost.released } else { told };
            Some(DelayedHandover {
                next,
                group: lost.group,
                loser: scene.loser(loss).cand,
                told: (from, granted),
                granted,
            })
        })
        .collect();
    let index = scene.index;
    let group_of = |cand: u32| index.candidates.all.get(&cand).map(|candidate| candidate.group);
    let is_told = move |moved: &&DelayedHandover<'_>, t: Nanos, cand: u32| {
        what != Promise::Decide && Some(moved.group) == group_of(cand) && moved.told.0 <= t && t <= moved.told.1
    };
    Edits::default()
        .rule(move |segment, _, event| {
            use crate::mutations::edits::EventEdit::{Drop, Keep, Replace};
            let delayed = |from: Nanos| {
                let mut event = event.clone();
                shift(&mut event, from, late);
                Replace(event)
            };
            match event {
                Event::Notified { t, cand, .. } | Event::Settled { t, cand, .. } => {
                    moved.iter().find(|moved| is_told(moved, *t, *cand)).map_or(Keep, |_| delayed(0))
                }
                Event::Grant { t, cand, session, .. } => {
                    let is_it = |moved: &&DelayedHandover<'_>| {
                        let next = moved.next;
                        (next.life, next.cand, next.session, next.grant) == (segment, *cand, *session, *t)
                    };
                    moved.iter().find(is_it).map_or(Keep, |_| delayed(0))
                }
                Event::Granted { t, cand, session, .. } => {
                    let is_it = |moved: &&DelayedHandover<'_>| {
                        let next = moved.next;
                        (next.life, next.cand, next.session, next.granted) == (segment, *cand, *session, Some(*t))
                    };
                    moved.iter().find(is_it).map_or(Keep, |_| delayed(0))
                }
                Event::Left { t, cand, how, .. } if what == Promise::Release => {
                    // The response to its deletion may come after the next grant.
                    let at = how.deletion().map_or(*t, |deletion| deletion.0);
                    let is_it =
                        |moved: &&DelayedHandover<'_>| moved.loser == *cand && moved.told.0 <= at && at <= moved.told.1;
                    moved.iter().find(is_it).map_or(Keep, |moved| delayed(moved.told.0))
                }
                Event::Owner(owner) if what == Promise::Release => {
                    let is_it = |moved: &&DelayedHandover<'_>| {
                        moved.group == owner.group && moved.told.0 <= owner.to && owner.from <= moved.told.1
                    };
                    moved.iter().find(is_it).map_or(Keep, |_| delayed(0))
                }
                // No candidate writes before it leads.
                Event::Write { t, sent, cand, czxid, .. } => {
                    let early = |moved: &&DelayedHandover<'_>| {
                        (moved.next.cand, moved.next.czxid) == (*cand, *czxid)
                            && sent.unwrap_or(*t) <= moved.granted + late
                            && sent.unwrap_or(*t) >= moved.next.grant
                    };
                    moved.iter().find(early).map_or(Keep, |_| Drop)
                }
                _ => Keep,
            }
        })
        .with_honest_ledgers()
}
