//! Is there always a leader again? No group may lack a leader for longer than its bound, nor at the end of the drain.
//! No belief may end and begin again without a cause.
//!
//! The bound of a gap counts from the end of the last belief:
//!
//! - the leader resigned or was deposed: only the tolerance; its session ended: 3/2 ticks; it stepped down or died:
//!   until a cut-off session has ended on both sides, T + 3/2 ticks, or 7/5 T if that is longer;
//! - each fault on the lost leader, or on an owner that ZooKeeper named meanwhile, adds that time again, from its
//!   injection. So does a fault on a candidate ahead of the first unaffected one in the queue. With no unaffected
//!   candidate left, the bound counts from the last heal. The time to come back is added (7/5 T, a second between
//!   attempts, the pause of a resigner);
//! - without a served quorum no election is possible: the bound counts from the end of that outage;
//! - the [tolerance](super::tolerance) of a handover, from the cell's own floor, is added.
//!
//! A gap beyond its bound is inconclusive if a harness stall alone explains it. Either the excess is no longer than the
//! stalls, or the gap ends before all could be back after the stall, as after a server outage. Later gaps fail, as do
//! those due before the stall.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::evidence::{demanded, share_of_group_time};
use super::finding::Finding;
use super::promptness::in_line;
use super::section::Section;
use super::stall_confounder::fail_unless_stalled;
use super::tolerance::Tolerance;
use super::words::moment;
use crate::index::{EDGE_NS, Ending, Fault, Index, Term};
use crate::stats::spans::{Span, total};
use hustings_record::numbers::to_u32;
use hustings_record::words::duration;
use hustings_record::{EvidenceSource, Nanos, RevokeReason, SessionState};

/// Time without a leader.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LeaderlessTime {
    /// Share of the measured group-time without any believer.
    pub share: f64,
    /// The rest of it, summed over all groups: what leads lost without a fault are a rate of.
    #[serde(default)]
    pub led_ns: Nanos,
    pub longest_ns: Nanos,
    pub longest_group: Option<String>,
    /// Gaps longer than their bound.
    #[serde(default)]
    pub late: u64,
    /// Groups without a leader when the drain ended: liveness demands none.
    pub groups_at_end: u64,
    /// Beliefs that ended and began again in the same incarnation with nothing to explain it.
    #[serde(default)]
    pub flaps: u64,
}

impl Section for LeaderlessTime {
    const NAME: &'static str = "liveness";
    const ABOUT: &'static str = "Was every group led again within its bound?";
    const RESTS_ON: &'static [EvidenceSource] = &[EvidenceSource::Report];

    fn check(index: &Index<'_>) -> Finding<Self> {
        let mut finding = Finding::default();
        let Some(window) = demanded(index, &mut finding) else { return finding };
        let bounds = Bounds { index, tolerance: Tolerance::of(index) };
        let (mut sum, mut unsure) = (0, 0_u64);
        for group in 0..to_u32(index.info.groups.len()) {
            let gaps = index.terms.leaderless(group, window);
            sum += total(&gaps);
            finding.section.led_ns += window.1.saturating_sub(window.0).saturating_sub(total(&gaps));
            gaps.iter().for_each(|&gap| bounds.gap(group, gap, window, &mut finding));
            match led_at(index, group, window.1) {
                Some(true) => {}
                Some(false) => unsure += 1,
                None => bounds.at_end(group, gaps.last().filter(|gap| gap.1 == window.1), &mut finding),
            }
        }
        if unsure > 0 {
            finding.inconclusive(format!(
                "{unsure} groups: whether somebody led when the drain ended is within the brackets"
            ));
        }
        flaps(index, window, &bounds.tolerance, &mut finding);
        match share_of_group_time(index, sum, window) {
            Some(share) => finding.section.share = share,
            None => finding.inconclusive("there was no group-time to measure".into()),
        }
        let LeaderlessTime { share, longest_ns, late, groups_at_end, flaps, .. } = finding.section;
        finding.headline(format!(
            "{groups_at_end} groups without a leader at the end, {late} gaps beyond their bound; leaderless {:.3} % of the time, \
             longest {}; {flaps} beliefs ended and began again for nothing",
            share * 100.0,
            duration(longest_ns),
        ));
        finding
    }
}

struct Bounds<'i, 'a> {
    index: &'i Index<'a>,
    tolerance: Tolerance<'i, 'a>,
}

impl<'a> Bounds<'_, 'a> {
    fn gap(&self, group: u32, gap: Span, window: Span, finding: &mut Finding<LeaderlessTime>) {
        let index = self.index;
        if gap.1 - gap.0 > finding.section.longest_ns {
            finding.section.longest_ns = gap.1 - gap.0;
            finding.section.longest_group = Some(index.group_name(group));
        }
        let due = self.due(group, gap);
        // A gap still open at the end of the drain is reported separately.
        if gap.1 <= due || gap.1 == window.1 && led_at(index, group, window.1).is_none() {
            return;
        }
        finding.section.late += 1;
        self.late(
            group,
            gap,
            due,
            finding,
            format!(
                "{}: nobody led for {} from {}; the bound is {}",
                index.group_name(group),
                duration(gap.1 - gap.0),
                moment(index, gap.0),
                duration(due.saturating_sub(gap.0)),
            ),
        );
    }

    fn at_end(&self, group: u32, gap: Option<&Span>, finding: &mut Finding<LeaderlessTime>) {
        finding.section.groups_at_end += 1;
        let open = gap.map_or(0, |gap| gap.1 - gap.0);
        let text = format!("{}: nobody led when the drain ended, for {}", self.index.group_name(group), duration(open));
        let index = self.index;
        let was_killed = |cand: &u32| {
            let host = index.candidates.all.get(cand).map(|cand| cand.host);
            host.and_then(|host| index.presence.dead.get(&host)).is_some_and(|(_, killed)| *killed)
        };
        let candidates = index.candidates.of_group(group);
        if !candidates.is_empty() && candidates.iter().all(was_killed) {
            return finding.inconclusive(format!("{text}; all of its candidates were killed, by plan"));
        }
        match gap.map(|gap| (*gap, self.due(group, *gap))) {
            Some((gap, due)) if gap.1 > due => {
                finding.section.late += 1;
                self.late(group, gap, due, finding, text);
            }
            // A leader lost just before may be replaced just after.
            _ => finding.inconclusive(text),
        }
    }

    fn late(&self, group: u32, gap: Span, due: Nanos, finding: &mut Finding<LeaderlessTime>, text: String) {
        let index = self.index;
        if self.tolerance.stalled(group, gap) >= gap.1 - due {
            return finding.inconclusive_by_stall(format!("{text}; the harness stalled meanwhile"));
        }
        fail_unless_stalled(finding, index, self.tolerance.late_by_stall(group, gap, due), text);
    }

    /// The deadline for a new leader. Faults after it do not extend it.
    fn due(&self, group: u32, gap: Span) -> Nanos {
        let lost = self.lost(group, gap.0);
        // The time of death of a process is known only as an interval.
        let free = lost.map_or(gap.0, |term| term.ended.1.clamp(gap.0, gap.1) + self.session_takes(term));
        // The tolerance is fixed at the start: later faults must not extend it.
        let hand_over = self.tolerance.handover((gap.0, free));
        let mut due = free + hand_over;
        while due < gap.1 {
            let again = self.due_after(group, (gap.0, due), lost, hand_over);
            if again <= due {
                break;
            }
            due = again;
        }
        due
    }

    /// The deadline by the faults and outages within `gap`, without later ones.
    fn due_after(&self, group: u32, gap: Span, lost: Option<&Term<'a>>, hand_over: Nanos) -> Nanos {
        let (index, tolerance) = (self.index, &self.tolerance);
        let mut due = gap.1;
        let acts = |fault: &&Fault<'a>| fault.t <= gap.1 && gap.0 <= tolerance.effects_until(fault);
        let again = |fault: &Fault<'a>| {
            fault.injected.as_ref().map_or(fault.t, |proof| proof.to) + tolerance.cut_off() + hand_over
        };
        let (leader, token) = lost.map_or((u32::MAX, i64::MIN), |term| (term.cand, term.czxid));
        let owners = std::iter::once(leader).chain(self.owners(group, gap));
        let span = (gap.0.saturating_sub(tolerance.effects_outlast_by()), gap.1);
        let of_cand = |cand: u32| index.faults.on_cand_in(cand, span);
        due = owners.flat_map(of_cand).filter(acts).map(again).fold(due, Nanos::max);
        let line = in_line(index, group, leader, token, gap.0);
        let hit = |cand: u32| of_cand(cand).any(|fault| acts(&fault));
        let queue = line.iter().any(|&cand| index.candidates.standing(cand, gap.0).is_some_and(|s| s.node.is_some()));
        if line.iter().all(|&cand| hit(cand)) {
            let everybody = index.candidates.of_group(group).iter().flat_map(|&cand| of_cand(cand));
            let healed = everybody.filter(acts).map(Fault::over);
            let free = healed.fold(gap.0, Nanos::max) + index.info.rejoin_after_ms.unwrap_or(0) * 1_000_000;
            due = due.max(free + tolerance.cut_off() + tolerance.return_of(free));
        } else if queue {
            let before = line.iter().take_while(|&&cand| hit(cand)).flat_map(|&cand| of_cand(cand));
            due = before.filter(acts).map(again).fold(due, Nanos::max);
        }
        let served = index.servers.outages_within((gap.0.saturating_sub(tolerance.cut_off()), gap.1));
        due = served.into_iter().map(|out| self.tolerance.back(out.1)).fold(due, Nanos::max);
        index
            .faults
            .on_servers()
            .filter(acts)
            .map(|fault| self.tolerance.back(fault.t.max(gap.0)))
            .fold(due, Nanos::max)
    }

    /// Candidates that ZooKeeper named as owner within the gap.
    fn owners(&self, group: u32, gap: Span) -> impl Iterator<Item = u32> {
        let intervals = self.index.intervals.within(group, gap);
        let owns = |session: i64, cand: &&u32| {
            let incarnations = self.index.presence.incarnations.get(*cand).into_iter().flatten();
            incarnations.into_iter().any(|incarnation| incarnation.1 == session)
        };
        let of_group = self.index.candidates.of_group(group);
        intervals
            .filter_map(|interval| interval.session)
            .filter_map(move |session| of_group.iter().find(|cand| owns(session, cand)).copied())
    }

    /// How long after the end of this belief its session may still own the leadership.
    fn session_takes(&self, term: &Term<'_>) -> Nanos {
        match term.ending {
            Ending::Revoked(RevokeReason::Resigned) if self.gave_back(term) => 0,
            Ending::Revoked(RevokeReason::Deposed | RevokeReason::ElectionDeleted) => 0,
            Ending::Revoked(RevokeReason::SessionEnded) if self.session_had_ended(term) => 3 * self.index.tick / 2,
            Ending::Revoked(RevokeReason::Resigned | RevokeReason::SessionEnded | RevokeReason::SteppedDown)
            | Ending::Died
            | Ending::Censored => self.tolerance.cut_off(),
        }
    }

    /// Whether the term's session had ended when the belief did. A program's reason is free text, so its connections
    /// decide.
    fn session_had_ended(&self, term: &Term<'_>) -> bool {
        let index = self.index;
        let states = index.candidates.states.get(&term.session).map_or(&[][..], Vec::as_slice);
        let by = term.ended.1.saturating_add(index.stall_limit());
        !index.lives.runs_program(term.host)
            || states.iter().any(|state| matches!(state.1, SessionState::Ended(_)) && state.0 <= by)
    }

    /// Whether the deletion of the resigner's znode was answered.
    fn gave_back(&self, term: &Term<'_>) -> bool {
        let left = self.index.candidates.departures.get(&term.cand).map_or(&[][..], Vec::as_slice);
        let left =
            left[left.partition_point(|left| left.t < term.ended.0)..].iter().find(|left| left.session == term.session);
        left.is_some_and(|left| left.how.deletion().is_some())
    }

    /// The last term that had ended when the gap began.
    fn lost(&self, group: u32, at: Nanos) -> Option<&Term<'a>> {
        self.index.terms.last_over(group, at)
    }
}

/// Beliefs that one incarnation ended and resumed while connected, with no fault on it or on the servers and no stall
/// to explain it. Unexplained changes of leader are reported with the handovers.
fn flaps(index: &Index<'_>, window: Span, tolerance: &Tolerance<'_, '_>, finding: &mut Finding<LeaderlessTime>) {
    for places in index.terms.by_cand.values() {
        let terms: Vec<&Term<'_>> = places.iter().map(|&place| &index.terms.all[place]).collect();
        for pair in terms.windows(2).filter(|pair| pair[0].incarnation() == pair[1].incarnation()) {
            let (ended, again) = (pair[0].ended.0, pair[1].grant);
            if ended < window.0
                || again > window.1
                || again < ended
                || index.terms.granted_between(pair[0].group, (ended, again))
            {
                continue;
            }
            // An event after the end of the belief did not cause it.
            let stops = (ended, pair[0].ended.1.saturating_add(EDGE_NS).min(again));
            let before = (ended.saturating_sub(tolerance.cut_off()), stops.1);
            let explained = index.candidates.lost_touch(pair[0].session, before)
                || index
                    .faults
                    .on_cand_in(pair[0].cand, stops)
                    .any(|fault| fault.explains(stops) && !fault.kind.facts().leaves_all_able())
                || index.faults.on_servers().any(|fault| fault.explains(stops))
                || index.servers.out_within(before);
            if explained {
                continue;
            }
            finding.section.flaps += 1;
            let text = format!(
                "{}: candidate {} on {} stopped believing at {} and began again {} later, for nothing",
                index.group_name(pair[0].group),
                pair[0].cand,
                index.host_name(pair[0].host),
                moment(index, ended),
                duration(again.saturating_sub(ended)),
            );
            if index.confounding_stall(&[pair[0].host], (ended, pair[0].ended.1)).is_some() {
                finding.inconclusive_by_stall(format!("{text}; the harness stalled before"));
            } else if index.info.expect.unplanned.forbids_the_unexplained() {
                finding.fail(text);
            } else {
                finding.note(text);
            }
        }
    }
}

/// Whether a candidate certainly (true) or possibly (false) led at `t`.
fn led_at(index: &Index<'_>, group: u32, t: Nanos) -> Option<bool> {
    let terms = || index.terms.of_group(group).iter().map(|&p| &index.terms.all[p]);
    if terms().filter_map(|term| term.definite()).any(|c| c.0 <= t && t <= c.1) {
        return Some(true);
    }
    terms().any(|term| term.grant <= t && t <= term.ended.1).then_some(false)
}
