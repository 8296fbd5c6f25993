//! Participation: throughout the measured window every candidate is enrolled under a live session, or leads. A
//! candidate that dropped out is back once nothing keeps it from the servers, and it finishes with each notification.
//! The candidates' reports are compared with the servers' own lists where there are any.
//!
//! A candidate may be away or busy for a limited time after its removal, or after the heal of the last fault on it. The
//! limit is 7/5 T (its client's own time to give a session up), plus the pause between two attempts to get one. The
//! pause of a resigner and the [tolerance](super::tolerance) of a handover are added. Without a served quorum no
//! candidate can return. Candidates whose host ended by plan are not expected back.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::evidence::demanded;
use super::finding::Finding;
use super::follower_sessions;
use super::lingering_candidates::{self, LingeringCandidates};
use super::lists::{self, Listing};
use super::section::Section;
use super::tolerance::Tolerance;
use super::words::{candidate, moment};
use crate::index::Index;
use crate::stats::spans::{Span, without};
use hustings_record::words::duration;
use hustings_record::{Departure, EvidenceSource, Nanos, WindowEdge};

/// Who stood, and who did not.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Participation {
    pub candidates: u64,
    /// Of these, with the host dead by plan when the drain ended.
    pub dead: u64,
    /// Stood under a session that lived, when the drain ended.
    pub at_end: u64,
    /// Had the time to come back, and had not when the drain ended.
    pub dropped_out: u64,
    /// Held by a server that alone went on listing the session that an `expire` had ended: nothing had told them, and they are not
    /// judged.
    pub kept_by_a_server: u64,
    /// Came back, but later than they should.
    pub late: u64,
    /// Were not done, or not in time, with joining or with what they were told.
    pub hung: u64,
    /// Sessions of followers that ended with nothing to explain it.
    pub sessions_lost: u64,
    /// Against the servers' own lists, when the measuring began and when the drain had ended. None: they were not asked.
    pub begin: Option<Listing>,
    pub end: Option<Listing>,
}

impl Participation {
    /// Whether a candidate was not enrolled when due, did not finish in time, or did not have exactly its due entries
    /// at the servers.
    #[must_use]
    pub fn somebody_is_absent(&self) -> bool {
        let unlike = |listing: &Listing| listing.matching < listing.judged || listing.left() > 0;
        self.dropped_out + self.late + self.hung > 0 || self.begin.iter().chain(&self.end).any(unlike)
    }
}

impl Section for Participation {
    const NAME: &'static str = "participation";
    const ABOUT: &'static str =
        "Is every candidate enrolled, with the session, znode and watch that its recipe calls for?";
    const RESTS_ON: &'static [EvidenceSource] = &[EvidenceSource::Wire];

    fn check(index: &Index<'_>) -> Finding<Self> {
        let mut finding = Finding::default();
        let Some(window) = demanded(index, &mut finding) else { return finding };
        let tolerance = Tolerance::of(index);
        let everybody = index.info.candidates();
        finding.section.candidates = everybody;
        let declared = index.candidates.all.len() as u64;
        if declared < everybody {
            finding.inconclusive(format!("{} of {everybody} candidates are not in the record", everybody - declared));
        }
        let mut messages = Vec::new();
        let kept = lingering_candidates::find(index);
        finding.section.kept_by_a_server = kept.len() as u64;
        for &cand in index.candidates.all.keys().filter(|cand| !kept.contains_key(cand)) {
            ParticipationJudge { index, tolerance: &tolerance, cand, window }
                .judge(&mut finding.section, &mut messages);
        }
        // Candidates that a server still holds are judged like all others until their session was ended.
        for (&cand, held) in &kept {
            let window = (window.0, held.since.clamp(window.0, window.1));
            let (mut aside, mut of_it) = (Participation::default(), Vec::new());
            ParticipationJudge { index, tolerance: &tolerance, cand, window }.judge(&mut aside, &mut of_it);
            finding.section.late += aside.late + aside.dropped_out;
            finding.section.hung += aside.hung;
            // Whether it would have come back after that is unknown.
            messages.extend(of_it.into_iter().filter(|(certainty, _)| *certainty == AbsenceCertainty::Certain));
        }
        let Participation { candidates, dropped_out, hung, .. } = finding.section;
        for (count, what) in [(dropped_out, "had dropped out when the drain ended"), (hung, "hung")] {
            if count > 0 {
                finding.fail(format!("{count} of {candidates} candidates {what}"));
            }
        }
        for (certainty, text) in messages {
            match certainty {
                AbsenceCertainty::Certain => finding.fail(text),
                AbsenceCertainty::Stalled => finding.inconclusive_by_stall(text),
                AbsenceCertainty::Unfinished => finding.inconclusive(text),
            }
        }
        finding.section.sessions_lost += follower_sessions::judge(index, window, &mut finding);
        finding.section.begin = lists::judge(index, WindowEdge::Begin, &LingeringCandidates::new(), &mut finding);
        finding.section.end = lists::judge(index, WindowEdge::End, &kept, &mut finding);
        lingering_candidates::tell(index, &kept, &mut finding);
        if index.lists.end.is_none() {
            finding.note("the servers' own lists of sessions, znodes and watches are not recorded".into());
            lists::at_least(index, &mut finding);
        }
        let Participation { candidates, dead, at_end, dropped_out, late, hung, sessions_lost, .. } = finding.section;
        let listed = finding.section.end.as_ref().map_or_else(String::new, |end| {
            format!("; {} of {} as the servers list them, {}", end.matching, end.judged, leaks(end))
        });
        finding.headline(format!(
            "{candidates} candidates: {at_end} stood when the drain ended, {dead} were dead by plan, {dropped_out} had dropped \
             out; {late} came back late, {hung} hung, {sessions_lost} sessions of followers ended for nothing{listed}",
        ));
        finding
    }
}

/// What the headline says of entries at the servers that nobody stands behind.
fn leaks(end: &Listing) -> String {
    let left = end.left();
    if end.leaks_judged {
        format!("{left} sessions, znodes and watches left behind")
    } else {
        format!(
            "{left} znodes and watches left behind by sessions in use, and other leaks were not looked for: the cell \
             was too short"
        )
    }
}

/// How certain it is that a candidate was absent or hung for too long.
#[derive(Clone, Copy, PartialEq, Eq)]
enum AbsenceCertainty {
    Certain,
    /// Stalls of the harness may have lengthened it beyond the limit.
    Stalled,
    /// The drain ended before the limit.
    Unfinished,
}

/// One candidate in the measured window. Each of its messages has a certainty.
struct ParticipationJudge<'i, 'a> {
    index: &'i Index<'a>,
    tolerance: &'i Tolerance<'i, 'a>,
    cand: u32,
    window: Span,
}

impl ParticipationJudge<'_, '_> {
    fn judge(&self, section: &mut Participation, messages: &mut Vec<(AbsenceCertainty, String)>) {
        let Self { index, cand, window, .. } = *self;
        let host = index.candidates.all[&cand].host;
        let dead = index.presence.dead.get(&host).filter(|dead| dead.0 < window.1);
        // A process that died by itself is reported elsewhere; its candidates' further behaviour is unknown.
        let until = dead.map_or(window.1, |dead| dead.0);
        section.dead += u64::from(dead.is_some());
        let stood = index.presence.stood.get(&cand).map_or(&[][..], Vec::as_slice);
        for away in without((window.0, until.max(window.0)), stood) {
            self.away(away, dead.is_some(), section, messages);
        }
        section.at_end += u64::from(dead.is_none() && stood.last().is_some_and(|last| last.1 >= window.1));
        let unsettled = index.presence.unsettled.get(&cand).map_or(&[][..], Vec::as_slice);
        let long = unsettled.iter().map(|span| (span.0, span.1.min(until))).filter(|span| window.0 < span.1);
        for span in long.filter(|span| span.0 < span.1) {
            self.busy(span, section, messages);
        }
    }

    fn away(
        &self,
        away: Span,
        dies: bool,
        section: &mut Participation,
        messages: &mut Vec<(AbsenceCertainty, String)>,
    ) {
        let Self { index, window, .. } = *self;
        // If its process died, the start of its absence is known only as an interval.
        let since = index.lives.surely_dead(index.candidates.all[&self.cand].host, away.0).min(away.1);
        let due = self.due((since, away.1), index.info.rejoin_after_ms.unwrap_or(0) * 1_000_000);
        let gone = !dies && away.1 >= window.1;
        if away.1 <= due {
            if gone {
                messages.push((
                    AbsenceCertainty::Unfinished,
                    format!("{} was on its way back when the drain ended", candidate(self.index, self.cand)),
                ));
            }
            return;
        }
        let text = format!(
            "{} did not stand for {} from {} on{}, and was to be back {} before",
            candidate(self.index, self.cand),
            duration(away.1 - away.0),
            moment(index, away.0),
            self.how_it_left(away.0),
            duration(away.1 - due),
        );
        if self.stalled(away) >= away.1 - due {
            return messages.push((AbsenceCertainty::Stalled, format!("{text}; the harness stalled meanwhile")));
        }
        let text = if gone { format!("{text}: it dropped out") } else { text };
        section.dropped_out += u64::from(gone);
        section.late += u64::from(!gone);
        messages.push((AbsenceCertainty::Certain, text));
    }

    /// Total stall within `span` of its group's hosts and of processes that are not hosts.
    fn stalled(&self, span: Span) -> Nanos {
        self.tolerance.stalled(self.index.candidates.all[&self.cand].group, span)
    }

    fn busy(&self, span: Span, section: &mut Participation, messages: &mut Vec<(AbsenceCertainty, String)>) {
        let due = self.due(span, 0);
        if span.1 <= due {
            return;
        }
        let text = format!(
            "{} was not done at {} with what it had begun {} before",
            candidate(self.index, self.cand),
            moment(self.index, span.1),
            duration(span.1 - span.0),
        );
        if self.stalled(span) >= span.1 - due {
            return messages.push((AbsenceCertainty::Stalled, format!("{text}; the harness stalled meanwhile")));
        }
        section.hung += 1;
        messages.push((AbsenceCertainty::Certain, format!("{text}: it hangs")));
    }

    /// The deadline for an absence or a task that begins with `span`. Faults after it do not extend it.
    fn due(&self, span: Span, pause: Nanos) -> Nanos {
        let Self { index, tolerance, cand, .. } = *self;
        let of_cand = index.faults.of_cand(cand).filter(|fault| !fault.kind.facts().leaves_all_able());
        let hit = of_cand.chain(index.faults.on_servers());
        let hit = hit.map(|fault| (fault.t, fault.over().min(span.1) + pause));
        let mut held_up: Vec<Span> = hit.chain(index.servers.outages_within(span)).collect();
        held_up.sort_unstable();
        let mut free = span.0 + pause;
        for (from, until) in held_up {
            if from > span.1.min(free + tolerance.return_of(free)) {
                break;
            }
            free = free.max(until);
        }
        free + tolerance.return_of(free)
    }

    fn how_it_left(&self, at: Nanos) -> String {
        let departures = self.index.candidates.departures.get(&self.cand).map_or(&[][..], Vec::as_slice);
        let last = departures[..departures.partition_point(|left| left.t <= at)].last();
        last.map_or_else(String::new, |left| match left.how {
            Departure::Resigned { .. } => ", after it had resigned".to_owned(),
            Departure::Stopped => ", after it had left for good".to_owned(),
            Departure::SessionEnded(_) => ", after the end of its session".to_owned(),
            Departure::ElectionDeleted => ", after the election had gone".to_owned(),
            Departure::Failed(why) => format!(", after it had failed ({why})"),
        })
    }
}
