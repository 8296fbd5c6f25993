//! How many candidates does one leader's loss wake up, against what its recipe promises?

use serde::{Deserialize, Serialize};

use super::finding::Finding;
use super::section::Section;
use crate::index::{Fault, Index, Loss, Outcome};
use crate::stats::{Distribution, Samples};
use hustings_record::{FanOut, FaultKind, Nanos, ProcessFate};

/// Whom the losses of leaders woke, against what the recipe promises.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct FanOutSeen {
    /// Leader losses with a verified fault that were counted.
    pub losses: u64,
    /// Other candidates woken per loss: least, median, most.
    pub woken: Option<(u64, u64, u64)>,
    /// What the recipe promises, per loss: least and most expected, given who was alive.
    pub promised: Option<(u64, u64)>,
    /// Requests that those wake-ups caused, per loss: median and most.
    pub requests: Option<(u64, u64)>,
    /// First → last watcher.
    pub spread: Option<Distribution>,
}

impl Section for FanOutSeen {
    const NAME: &'static str = "fan-out";

    fn applies(index: &Index<'_>) -> bool {
        index.info.has_candidates()
    }

    fn check(index: &Index<'_>) -> Finding<Self> {
        let mut finding = Finding::default();
        let promise = index.info.expect.fan_out;
        if promise.is_none() {
            finding.note(format!("recipe {} promises no fan-out: counted, not judged", index.info.recipe));
        }
        let (mut woken, mut requests, mut spread) = (Vec::new(), Vec::new(), Samples::default());
        let (mut promised, mut broken): (Option<(u64, u64)>, u64) = (None, 0);
        for loss in index.losses.all.iter().filter(|l| znode_is_gone(index, l)) {
            let notices = index.woken(loss);
            let count = notices.len() as u64;
            woken.push(count);
            requests
                .push(notices.iter().filter_map(|n| index.notices.requests(n.cand, n.t)).map(u64::from).sum::<u64>());
            if let [first, .., last] = &notices[..] {
                spread.push(last.t - first.t);
            }
            let Some(promise) = promise else { continue };
            let at = notices.first().map_or(loss.effect, |n| n.t);
            let (least, most) = expected(index, loss, promise, at);
            promised = Some(promised.map_or((least, most), |p| (p.0.min(least), p.1.max(most))));
            if count < least || count > most {
                broken += 1;
                finding.fail(format!(
                    "{}: {count} others were woken by the loss of {}, and {least} to {most} were promised",
                    index.group_name(loss.group),
                    index.terms.all[loss.term].node,
                ));
            }
        }
        woken.sort_unstable();
        requests.sort_unstable();
        let result = Self {
            losses: woken.len() as u64,
            woken: woken.first().map(|&least| (least, woken[woken.len() / 2], woken[woken.len() - 1])),
            promised,
            requests: requests.last().map(|&most| (requests[requests.len() / 2], most)),
            spread: spread.distribution(),
        };
        headline(&mut finding, &result, broken);
        if result.losses == 0 && index.must_lose_leaders() {
            finding
                .inconclusive("no leader's znode is known to have gone, and this fault cannot but cause that".into());
        }
        finding.section = result;
        finding
    }
}

fn headline(finding: &mut Finding<FanOutSeen>, result: &FanOutSeen, broken: u64) {
    let Some((least, median, most)) = result.woken else {
        finding.headline("no leader's znode is known to have gone: nothing to count".into());
        return;
    };
    let promised = result.promised.map_or_else(|| "no promise".into(), |p| format!("promised {} to {}", p.0, p.1));
    finding.headline(format!(
        "woken per loss: least {least}, median {median}, most {most} ({promised}); {broken} of {} losses otherwise",
        result.losses,
    ));
}

/// A successor of another incarnation, and the end of the lost belief before it, prove that the lost znode is gone; so does
/// a watcher that was told. With two leaders at once the second one's grant proves nothing about the first one's znode.
fn znode_is_gone(index: &Index<'_>, loss: &Loss) -> bool {
    match loss.outcome {
        Outcome::Survived => false,
        Outcome::Censored { .. } => !index.woken(loss).is_empty(),
        Outcome::Completed { successor } => {
            let (lost, next) = (&index.terms.all[loss.term], &index.terms.all[successor]);
            lost.ended.0 <= next.grant || !index.woken(loss).is_empty()
        }
    }
}

/// Least and most others that the promise wakes at `at`, given who stood and could be told.
fn expected(index: &Index<'_>, loss: &Loss, promise: FanOut, at: Nanos) -> (u64, u64) {
    let lost = &index.terms.all[loss.term];
    let others = index.candidates.of_group(loss.group).iter().copied().filter(|&cand| cand != lost.cand);
    match promise {
        FanOut::None => (0, 0),
        FanOut::AllOthers => others.fold((0, 0), |(least, most), cand| match reachable(index, loss, cand, at) {
            Reach::Certain => (least + 1, most + 1),
            Reach::Possible => (least, most + 1),
            Reach::None => (least, most),
        }),
        FanOut::One => {
            // The queue is in the order of czxid; its next is whoever stands behind the lost znode.
            let czxid = |cand| index.candidates.standing(cand, at).and_then(|s| s.czxid);
            let behind = others.filter_map(|cand| czxid(cand).filter(|&c| c > lost.czxid).map(|c| (c, cand)));
            // Who died with the leader stands in the queue still, and nobody behind it hears of the leader.
            let dead = index.faults.all[loss.fault].cands.iter().copied().filter(|&cand| cand != lost.cand);
            let dead = dead.filter(|cand| index.candidates.all.get(cand).is_some_and(|c| c.group == loss.group));
            let stood = |cand| index.candidates.standing(cand, loss.effect).and_then(|s| s.czxid);
            let dead = dead.filter_map(|cand| stood(cand).filter(|&c| c > lost.czxid).map(|c| (c, cand)));
            let next = behind.chain(dead).min();
            match next.map(|(_, cand)| reachable(index, loss, cand, at)) {
                Some(Reach::Certain) => (1, 1),
                Some(Reach::Possible) => (0, 1),
                Some(Reach::None) | None => (0, 0),
            }
        }
    }
}

enum Reach {
    None,
    Possible,
    Certain,
}

/// Whether a deletion at `at` is told to this candidate.
fn reachable(index: &Index<'_>, loss: &Loss, cand: u32, at: Nanos) -> Reach {
    let fault = &index.faults.all[loss.fault];
    if fault.hits(cand) && fault.kind.facts().process == ProcessFate::Ended {
        return Reach::None;
    }
    let Some(stand) = index.candidates.standing(cand, at) else { return Reach::None };
    let Some(candidate) = index.candidates.all.get(&cand) else { return Reach::None };
    let stopped = index.faults.stops_of(candidate.host).iter().any(|s| s.0 <= at && at <= s.1);
    let deaf = |f: &Fault<'_>| f.kind != FaultKind::Resign && f.active.0 <= at && at <= f.active.1;
    let hit = fault.hits(cand) || index.faults.of_cand(cand).any(deaf);
    let armed = !index.notices.busy(cand, stand.from, at);
    if hit || stopped || !armed || !index.candidates.connected(stand.session, at) {
        return Reach::Possible;
    }
    Reach::Certain
}
