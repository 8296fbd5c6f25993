//! How many candidates does a loss wake, and how many requests do they send, compared with the recipe's declaration?

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::finding::Finding;
use super::request_limit::asks_at_most;
use super::section::Section;
use super::stall_confounder::fail_unless_stalled;
use super::wakes::{WakeRange, expected, wakes};
use super::words::moment;
use crate::index::{EDGE_NS, Index, LossWakeUps, Notice, Wakes};
use crate::stats::{Distribution, Samples, lower_median};
use hustings_record::{EvidenceSource, Nanos, WatchEvent};

/// Whom losses woke, against what the recipe declares. A wake-up is a notification of any kind about anything but the candidate's
/// own znode; who is woken twice counts twice.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct FanOutSection {
    /// Leader losses that were counted, with or without a fault on the leader.
    pub losses: u64,
    /// Wake-ups per loss: least, median, most.
    pub woken: Option<(u64, u64, u64)>,
    /// What the recipe declares, per loss: least and most expected, given who was alive.
    pub promised: Option<(u64, u64)>,
    /// The same of followers that stood in a queue.
    #[serde(default)]
    pub followers: FollowersLost,
    /// Wake-ups that told of something else than the deletion of the znode that was lost, and those for nothing: before anybody was
    /// lost, or when nothing had changed in the group for longer than a notification takes.
    #[serde(default)]
    pub of_other_kinds: u64,
    #[serde(default)]
    pub without_loss: u64,
    /// Requests that those wake-ups caused, per leader loss: median and most.
    pub requests: Option<(u64, u64)>,
    /// Requests that one wake-up caused, at most, and what the recipe declares.
    #[serde(default)]
    pub requests_per_wake: Option<u64>,
    #[serde(default)]
    pub requests_promised: Option<u64>,
    /// First → last watcher, of leader losses with a verified fault.
    pub spread: Option<Distribution>,
}

/// Whom the losses of followers woke.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct FollowersLost {
    pub losses: u64,
    pub woken: Option<(u64, u64, u64)>,
    pub promised: Option<(u64, u64)>,
}

impl Section for FanOutSection {
    const NAME: &'static str = "fan-out";
    const ABOUT: &'static str =
        "Does a loss wake as many candidates, and cause as many requests, as the recipe declares?";
    const RESTS_ON: &'static [EvidenceSource] = &[EvidenceSource::Wire];

    fn check(index: &Index<'_>) -> Finding<Self> {
        let mut finding = Finding::default();
        say_what_is_not_declared(index, &mut finding);
        let wakes = wakes(index);
        let mut counted = CountedWakes::default();
        let mut untold = None;
        for burst in wakes.losses.chunk_by(cannot_be_told_apart) {
            untold = judge(index, &wakes, burst, untold, &mut counted, &mut finding);
        }
        unexplained(index, &wakes, &mut finding);
        say_what_is_unsure(&counted, &mut finding);
        let (requests_per_wake, requests_promised) = requests(index, &wakes, &mut finding);
        finding.section = Self {
            losses: counted.leaders.woken.len() as u64,
            woken: counted.leaders.quantiles(),
            promised: counted.leaders.promised,
            followers: FollowersLost {
                losses: counted.followers.woken.len() as u64,
                woken: counted.followers.quantiles(),
                promised: counted.followers.promised,
            },
            of_other_kinds: wakes.losses.iter().map(|lost| lost.besides.len() as u64).sum(),
            without_loss: (wakes.without_loss.len() + wakes.without_change.len()) as u64,
            requests: middle_and_most(counted.requests),
            requests_per_wake,
            requests_promised,
            spread: counted.spread.distribution(),
        };
        headline(&mut finding, counted.leaders.broken + counted.followers.broken);
        if !wakes.losses.iter().any(|lost| lost.by_fault.is_some()) && index.must_lose_leaders() {
            let why = "no leader's znode is known to have gone by a fault, and this one cannot but cause that";
            finding.inconclusive(why.into());
        }
        finding
    }
}

/// Notes undeclared limits: they are neither compared with the cell nor counted as kept.
fn say_what_is_not_declared(index: &Index<'_>, finding: &mut Finding<FanOutSection>) {
    match (index.info.declared, index.info.leader_wakes()) {
        (Some(_), _) => {}
        (None, Some(_)) => finding.note(format!(
            "not recorded: whom recipe {} declares to wake by a follower's loss, and how many requests a wake-up causes",
            index.info.recipe
        )),
        (None, None) => {
            finding.note(format!("recipe {} promises no fan-out: counted, not judged", index.info.recipe));
        }
    }
}

/// Notes the doubts that widen a promise to a range: deviations within it are not detected.
fn say_what_is_unsure(counted: &CountedWakes, finding: &mut Finding<FanOutSection>) {
    if !counted.doubts.is_empty() {
        let doubts: Vec<String> = counted.doubts.iter().map(|(why, times)| format!("{why} ({times})")).collect();
        finding.note(format!("candidates of whom it is not sure whether they had to be woken: {}", doubts.join("; ")));
    }
}

#[derive(Default)]
struct Tally {
    woken: Vec<u64>,
    promised: Option<(u64, u64)>,
    broken: u64,
}

impl Tally {
    fn quantiles(&mut self) -> Option<(u64, u64, u64)> {
        self.woken.sort_unstable();
        Some((*self.woken.first()?, lower_median(&self.woken)?, *self.woken.last()?))
    }

    fn promise(&mut self, range: &WakeRange) {
        let WakeRange { least, most, .. } = *range;
        self.promised = Some(self.promised.map_or((least, most), |p| (p.0.min(least), p.1.max(most))));
    }
}

#[derive(Default)]
struct CountedWakes {
    leaders: Tally,
    followers: Tally,
    requests: Vec<u64>,
    spread: Samples,
    /// Why a promise is a range, and how often.
    doubts: BTreeMap<&'static str, u64>,
}

/// Whether the second loss, of a znode of the same name, came before all notifications of the first can have arrived.
fn cannot_be_told_apart(first: &LossWakeUps<'_>, second: &LossWakeUps<'_>) -> bool {
    let last = told(first).map(|notice| notice.t).fold(first.gone.1, Nanos::max);
    (first.group, first.node) == (second.group, second.node) && second.gone.0 <= last + EDGE_NS
}

impl CountedWakes {
    fn tally(&mut self, lost: &LossWakeUps<'_>) -> &mut Tally {
        if lost.led { &mut self.leaders } else { &mut self.followers }
    }
}

/// The last of several indistinguishable losses, and how many more notifications of them may follow.
type RemainingNotifications<'l, 'a> = (&'l LossWakeUps<'a>, u64);

/// Checks indistinguishable losses against the recipe's declaration for all of them. Candidates not yet notified of the
/// losses `before`, of a znode of the same name, may be notified now.
fn judge<'l, 'a>(
    index: &Index<'a>,
    wakes: &'l Wakes<'a>,
    burst: &'l [LossWakeUps<'a>],
    before: Option<RemainingNotifications<'l, 'a>>,
    counted: &mut CountedWakes,
    finding: &mut Finding<FanOutSection>,
) -> Option<RemainingNotifications<'l, 'a>> {
    let (mut woken, mut least, mut most, mut judged) = (0, 0, 0, true);
    for lost in burst {
        woken += count(index, lost, counted);
        match expected(index, wakes.lead_before(lost, index.timeout_or_asked()), lost) {
            None => judged = false,
            Some(range) => {
                counted.tally(lost).promise(&range);
                range.doubts.iter().for_each(|doubt| *counted.doubts.entry(doubt).or_default() += 1);
                (least, most) = (least + range.least, most + range.most);
            }
        }
    }
    let (Some(first), Some(last)) = (burst.first(), burst.last()) else { return None };
    let late = |before: &&LossWakeUps<'_>| {
        (before.group, before.node) == (first.group, first.node)
            && first.gone.0 <= before.gone.1 + index.timeout_or_asked()
    };
    most += before.filter(|(before, _)| late(before)).map_or(0, |(_, untold)| untold);
    if judged && (woken < least || woken > most) {
        // A stall makes notifications late or unrecorded; it never adds any.
        let last_told = burst.iter().flat_map(told).map(|notice| notice.t).fold(last.gone.1, Nanos::max);
        let within = (first.gone.0.saturating_sub(EDGE_NS), last_told + EDGE_NS);
        let stall = index.stall_within(first.group, within).filter(|_| woken < least);
        counted.tally(first).broken += u64::from(stall.is_none());
        let who = if first.led { "leader" } else { "follower" };
        let several = match burst {
            [_] => format!("the loss of the {who}"),
            all => format!("{} losses at once of the {who}", all.len()),
        };
        let besides: Vec<Notice<'_>> = burst.iter().flat_map(|lost| &lost.besides).copied().collect();
        let text = format!(
            "{}: {woken} wake-ups by {several} {} at {}, and {least} to {most} were promised{}",
            index.group_name(first.group),
            first.node,
            moment(index, first.gone.0),
            kinds(&besides),
        );
        fail_unless_stalled(finding, index, stall, text);
    }
    Some((last, most.saturating_sub(woken)))
}

/// Counts the candidates that one loss woke, and their requests.
fn count<'a>(index: &Index<'a>, lost: &LossWakeUps<'a>, counted: &mut CountedWakes) -> u64 {
    if lost.led {
        let caused =
            told(lost).filter_map(|notice| index.notices.handled(notice)).map(|handled| u64::from(handled.requests));
        counted.requests.push(caused.sum());
    }
    if lost.by_fault.is_some() {
        // Only each candidate's first notification counts: a repeat does not widen the spread.
        let mut firsts: BTreeMap<u32, Nanos> = BTreeMap::new();
        lost.told.iter().for_each(|notice| _ = firsts.entry(notice.cand).or_insert(notice.t));
        if let (Some(first), Some(last), 2..) = (firsts.values().min(), firsts.values().max(), firsts.len()) {
            counted.spread.push(last - first);
        }
    }
    let woken = lost.woken();
    counted.tally(lost).woken.push(woken);
    woken
}

fn told<'l, 'a>(lost: &'l LossWakeUps<'a>) -> impl Iterator<Item = &'l Notice<'a>> {
    lost.told.iter().chain(&lost.besides)
}

/// `; 3 told of changed children`.
fn kinds(notices: &[Notice<'_>]) -> String {
    let count = |kind: WatchEvent| notices.iter().filter(|notice| notice.kind == kind).count();
    let words = [
        (WatchEvent::Created, "created znodes"),
        (WatchEvent::DataChanged, "changed data"),
        (WatchEvent::ChildrenChanged, "changed children"),
        (WatchEvent::Deleted, "the deletion of others"),
    ];
    let told: Vec<String> = words
        .into_iter()
        .map(|(kind, words)| (count(kind), words))
        .filter(|(count, _)| *count > 0)
        .map(|(count, words)| format!("{count} told of {words}"))
        .collect();
    if told.is_empty() { String::new() } else { format!("; {}", told.join(", ")) }
}

/// Fails wake-ups without a departure or a change in the group.
fn unexplained(index: &Index<'_>, wakes: &Wakes<'_>, finding: &mut Finding<FanOutSection>) {
    let for_nothing = [
        (&wakes.without_loss, "before anybody had gone"),
        (&wakes.without_change, "when nothing had changed in their group"),
    ];
    for (notices, when) in for_nothing {
        if let Some(first) = notices.first().filter(|_| index.info.leader_wakes().is_some()) {
            finding.fail(format!(
                "{} wake-ups {when}, the first of candidate {} at {} by {}{}",
                notices.len(),
                first.cand,
                moment(index, first.t),
                first.node,
                kinds(notices),
            ));
        }
    }
    if wakes.excused > 0 {
        finding.note(format!(
            "{} notifications not counted: of what had changed while their candidates were cut off, or of znodes that may \
             be of creates whose answer was lost",
            wakes.excused
        ));
    }
}

/// The most requests that one wake-up caused, compared with the declared maximum.
fn requests(index: &Index<'_>, wakes: &Wakes<'_>, finding: &mut Finding<FanOutSection>) -> (Option<u64>, Option<u64>) {
    let promised = index.info.requests_per_wake_max().map(u64::from);
    let (mut seen, mut broken, mut worst) = (None, 0_u64, None);
    for notice in wakes.losses.iter().flat_map(told) {
        let Some(handled) = index.notices.handled(notice) else { continue };
        let requests = u64::from(handled.requests);
        seen = seen.max(Some(requests));
        let most = promised.and_then(|promised| asks_at_most(index, wakes, notice, handled.t, promised));
        if most.is_some_and(|most| requests > most) {
            broken += 1;
            worst = worst.max(Some((requests, notice.cand, notice.t)));
        }
    }
    if let (Some((requests, cand, t)), Some(promised)) = (worst, promised) {
        finding.fail(format!(
            "{broken} wake-ups caused more requests than the {promised} that were promised at most: candidate {cand} sent \
             {requests} after {}",
            moment(index, t),
        ));
    }
    (seen, promised)
}

fn middle_and_most(mut values: Vec<u64>) -> Option<(u64, u64)> {
    values.sort_unstable();
    Some((lower_median(&values)?, *values.last()?))
}

fn headline(finding: &mut Finding<FanOutSection>, broken: u64) {
    let section = &finding.section;
    let said = |woken: Option<(u64, u64, u64)>, promised: Option<(u64, u64)>| {
        let (least, median, most) = woken?;
        let promised = promised.map_or_else(|| "no promise".into(), |p| format!("promised {} to {}", p.0, p.1));
        Some(format!("least {least}, median {median}, most {most} ({promised})"))
    };
    let leaders = said(section.woken, section.promised).map_or_else(
        || "no leader's znode is known to have gone".into(),
        |said| format!("wake-ups per loss of a leader: {said}"),
    );
    let followers = said(section.followers.woken, section.followers.promised)
        .map_or_else(String::new, |said| format!("; of a follower: {said}"));
    let all = section.losses + section.followers.losses;
    let broken = if all > 0 { format!("; {broken} of {all} losses otherwise") } else { ": nothing to count".into() };
    finding.headline(format!("{leaders}{followers}{broken}"));
}
