//! Is there always a leader again? After the drain every group must have one, and no group may have been without one for
//! longer than its bound once the faults were over.

use serde::{Deserialize, Serialize};

use super::evidence::{demanded, share_of_group_time};
use super::finding::Finding;
use super::section::Section;
use super::words::moment;
use crate::index::Index;
use crate::stats::spans::{Span, total};
use hustings_record::Nanos;
use hustings_record::words::duration;

/// What a busy machine may add to what the protocol needs.
const MARGIN_NS: Nanos = 5_000_000_000;

/// Time without a leader.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Leaderless {
    /// Share of the measured group-time without any believer.
    pub share: f64,
    pub longest_ns: Nanos,
    pub longest_group: Option<String>,
    /// Groups without a leader when the drain ended: liveness demands none.
    pub groups_at_end: u64,
}

impl Section for Leaderless {
    const NAME: &'static str = "liveness";

    fn applies(index: &Index<'_>) -> bool {
        index.info.has_candidates()
    }

    fn check(index: &Index<'_>) -> Finding<Self> {
        let mut finding = Finding::default();
        let Some(window) = demanded(index, &mut finding) else { return finding };
        // A client gives its session up after 1.4 T; the ensemble rounds up to ticks.
        let bound = 7 * index.timeout_or_asked() / 5 + 2 * index.tick + MARGIN_NS;
        let (mut result, mut sum, mut late, mut unsure) = (Self::default(), 0, 0_u64, 0_u64);
        for group in 0..index.info.groups.len() as u32 {
            let gaps = index.terms.leaderless(group, window);
            sum += total(&gaps);
            for &gap in &gaps {
                if gap.1 - gap.0 > result.longest_ns {
                    result.longest_ns = gap.1 - gap.0;
                    result.longest_group = Some(index.group_name(group));
                }
                let since = if gap.1 - gap.0 > bound { excused_until(index, group, gap) } else { gap.1 };
                if gap.1 - since > bound {
                    late += 1;
                    finding.fail(format!(
                        "{}: nobody led for {} from {}; the bound is {} after the last fault",
                        index.group_name(group),
                        duration(gap.1 - gap.0),
                        moment(index, gap.0),
                        duration(bound),
                    ));
                }
            }
            match led_at(index, group, window.1) {
                Some(true) => {}
                Some(false) => unsure += 1,
                None => {
                    result.groups_at_end += 1;
                    let open = gaps.last().filter(|gap| gap.1 == window.1).map_or(0, |gap| gap.1 - gap.0);
                    let text =
                        format!("{}: nobody led when the drain ended, for {}", index.group_name(group), duration(open));
                    // One that was lost a moment before may be led again a moment later.
                    if open > bound { finding.fail(text) } else { finding.inconclusive(text) }
                }
            }
        }
        if unsure > 0 {
            finding.inconclusive(format!(
                "{unsure} groups: whether somebody led when the drain ended is within the brackets"
            ));
        }
        match share_of_group_time(index, sum, window) {
            Some(share) => result.share = share,
            None => finding.inconclusive("there was no group-time to measure".into()),
        }
        finding.headline(format!(
            "{} groups without a leader at the end, {late} gaps beyond the bound of {}; leaderless {:.3} % of the time, \
             longest {}",
            result.groups_at_end,
            duration(bound),
            result.share * 100.0,
            duration(result.longest_ns),
        ));
        finding.section = result;
        finding
    }
}

/// Until when faults that hit the group excuse a gap; while no quorum is served nobody can be elected.
fn excused_until(index: &Index<'_>, group: u32, gap: Span) -> Nanos {
    let over = index.faults.of_group(group).take_while(|f| f.t <= gap.1).map(|f| f.active.1);
    let served = index.servers.outages_within(gap).into_iter().map(|out| out.1);
    over.chain(served).filter(|&over| over > gap.0).max().unwrap_or(gap.0).min(gap.1)
}

/// Whether somebody certainly (true) or possibly (false) led at `t`.
fn led_at(index: &Index<'_>, group: u32, t: Nanos) -> Option<bool> {
    let terms = || index.terms.of_group(group).iter().map(|&p| &index.terms.all[p]);
    if terms().filter_map(|term| term.definite()).any(|c| c.0 <= t && t <= c.1) {
        return Some(true);
    }
    terms().any(|term| term.grant <= t && t <= term.ended.1).then_some(false)
}
