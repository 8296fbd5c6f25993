//! Does every write bear the token of its sender's own term? The token is the one that it was sent with. If it is of an
//! earlier term, of a successor, or of no term, the fence protects nothing.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::finding::Finding;
use super::section::Section;
use super::words::moment;
use crate::index::{Index, ResourceWrite, Term};
use crate::stats::spans::Span;
use hustings_record::{EvidenceSource, Nanos};

/// Longest transit of a write without a recorded send time, besides the time for which its sender's work hung or a
/// process did not run.
const UNDER_WAY_NS: Nanos = 1_000_000_000;

/// Writes and the tokens that they bear.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct WriteTokens {
    /// Writes that were compared with their senders' leads.
    pub compared: u64,
    /// Those whose token was not that of the lead in which they were sent, and how many senders they had.
    pub foreign: u64,
    pub senders: u64,
    /// Writes and leads whose token nobody knows.
    pub unknown: u64,
}

impl Section for WriteTokens {
    const NAME: &'static str = "write-tokens";
    const ABOUT: &'static str = "Does every write bear the token of its sender's own lead?";
    const RESTS_ON: &'static [EvidenceSource] = &[EvidenceSource::Effect];

    fn check(index: &Index<'_>) -> Finding<Self> {
        let mut finding = Finding::<Self>::default();
        let mut foreign: BTreeMap<(u32, i64), (u64, ResourceWrite)> = BTreeMap::new();
        for work in index.writing.all() {
            match bears_own(index, &work) {
                Some(true) => finding.section.compared += 1,
                Some(false) => {
                    finding.section.compared += 1;
                    foreign.entry((work.cand, work.czxid)).or_insert((0, work)).0 += 1;
                }
                None => finding.section.unknown += 1,
            }
        }
        let senders: std::collections::BTreeSet<u32> = foreign.keys().map(|(cand, _)| *cand).collect();
        let section = &mut finding.section;
        (section.foreign, section.senders) = (foreign.values().map(|seen| seen.0).sum(), senders.len() as u64);
        for ((cand, czxid), (count, first)) in &foreign {
            let text = format!(
                "{}: {count} writes of candidate {cand} on {} bore the token {czxid:#x}, which was not that of its own lead, the first \
                 at {}",
                index.group_name(first.group),
                index.host_name(first.host),
                moment(index, first.t),
            );
            match super::stray_writes::doubt(index, (*cand, first.session)) {
                Some(why) => finding.inconclusive(format!("{text}, but {why}")),
                None => finding.fail(text),
            }
        }
        let WriteTokens { compared, foreign, senders, unknown } = finding.section;
        if unknown > 0 {
            finding
                .note(format!("of {unknown} writes, or the leads in which they were sent, the token was not observed"));
        }
        finding.headline(format!(
            "{foreign} of {compared} writes, by {senders} candidates, bore another token than that of their own lead; of {unknown} it \
             was not observed"
        ));
        finding
    }
}

/// Whether a write bears the token of its sender's last term begun when it was sent. Without a recorded send time, any
/// moment of its possible transit counts. None: the token is unknown, or there was no term.
fn bears_own(index: &Index<'_>, work: &ResourceWrite) -> Option<bool> {
    let terms = index.terms.by_cand.get(&work.cand)?;
    let sent = match work.sent {
        Some(sent) => (sent.saturating_sub(index.epsilon), sent.saturating_add(index.epsilon)),
        None => (work.t.saturating_sub(under_way(index, work)), work.t.saturating_add(index.epsilon)),
    };
    let begun = |at: Nanos| terms.partition_point(|&place| index.terms.all[place].grant <= at);
    let led: Vec<&Term<'_>> =
        terms[begun(sent.0).saturating_sub(1)..begun(sent.1)].iter().map(|&place| &index.terms.all[place]).collect();
    let is_own = led.iter().any(|term| term.czxid == work.czxid);
    let is_known = work.is_ordered() && !led.is_empty() && led.iter().all(|term| term.is_known());
    is_known.then_some(is_own)
}

/// Longest possible transit of a write that arrived at its time.
fn under_way(index: &Index<'_>, work: &ResourceWrite) -> Nanos {
    let mut from = work.t.saturating_sub(UNDER_WAY_NS);
    let hangs = index.faults.hangs_of(work.host).iter().chain(index.faults.stops_of(work.host)).copied();
    let host = [work.host];
    let stalls = index.lives.stalls_in(&host, (from, work.t)).map(|stall| (stall.from, stall.to));
    let kept: Vec<Span> = hangs.chain(stalls).filter(|kept| kept.0 <= work.t && from <= kept.1).collect();
    from = kept.iter().map(|kept| kept.0.saturating_sub(UNDER_WAY_NS)).fold(from, Nanos::min);
    work.t - from
}
