//! Pairs of terms whose writes met at the resource: one wrote after the other's first write and before its last. This
//! uses only the order in which one process took the writes, no clock and no report.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::index::{Index, ResourceWrite, WriteKey};
use hustings_record::Nanos;
use hustings_record::words::{duration, plural};

/// Pairs of leads of different candidates.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct LeadPairs {
    pub pairs: u64,
    /// The longest time that two went on beside each other: from the first write of the later one to the last one that one of
    /// them wrote before the other's last, by the resource's clock.
    pub longest_ns: Nanos,
}

/// The first and last write of a term, each with its place in the order and its time.
#[derive(Clone, Copy)]
struct TermWrites {
    cand: u32,
    first: (u64, Nanos),
    last: (u64, Nanos),
}

impl LeadPairs {
    pub(super) fn of(index: &Index<'_>) -> Self {
        let mut groups: BTreeMap<u32, BTreeMap<WriteKey, TermWrites>> = BTreeMap::new();
        // Writes without a token do not show where a candidate's term ends and its next one begins.
        for work in index.writing.all().filter(|work| work.is_ordered()) {
            let ResourceWrite { cand, session, czxid, seq, t, .. } = work;
            let leads = groups.entry(work.group).or_default();
            let lead = leads.entry((cand, session, czxid));
            lead.or_insert(TermWrites { cand, first: (seq, t), last: (seq, t) }).last = (seq, t);
        }
        groups.into_values().map(|leads| Self::among(leads.into_values().collect())).fold(Self::default(), Self::merged)
    }

    fn among(mut leads: Vec<TermWrites>) -> Self {
        leads.sort_by_key(|lead| lead.first.0);
        let (mut met, mut open) = (Self::default(), Vec::<TermWrites>::new());
        for lead in leads {
            open.retain(|before| before.last.0 > lead.first.0);
            for before in open.iter().filter(|before| before.cand != lead.cand) {
                met.pairs += 1;
                let until = before.last.1.min(lead.last.1);
                met.longest_ns = met.longest_ns.max(until.saturating_sub(lead.first.1));
            }
            open.push(lead);
        }
        met
    }

    pub(super) fn merged(self, other: Self) -> Self {
        Self { pairs: self.pairs + other.pairs, longest_ns: self.longest_ns.max(other.longest_ns) }
    }
}

impl std::fmt::Display for LeadPairs {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let pairs = plural(self.pairs, "pair of leads met", "pairs of leads met");
        match self.pairs {
            0 => write!(f, "{pairs}"),
            _ => write!(f, "{pairs} in their writes, for {} at most", duration(self.longest_ns)),
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn leads_that_met_are_those_of_which_one_wrote_between_two_writes_of_the_other_or_each_before_the_other_was_done(
            writes in prop::collection::vec((0_u32..4, 0_u32..3), 0..30),
        ) {
            let mut leads: BTreeMap<(u32, u32), TermWrites> = BTreeMap::new();
            for (seq, &(cand, term)) in writes.iter().enumerate() {
                let at = (seq as u64, 10 * seq as u64);
                leads.entry((cand, term)).or_insert(TermWrites { cand, first: at, last: at }).last = at;
            }
            let all: Vec<TermWrites> = leads.values().copied().collect();
            let (mut pairs, mut longest_ns) = (0, 0);
            for (place, one) in all.iter().enumerate() {
                for other in all[place + 1..].iter().filter(|other| other.cand != one.cand) {
                    let (from, to) = (one.first.max(other.first), one.last.min(other.last));
                    if from.0 < to.0 {
                        pairs += 1;
                        longest_ns = longest_ns.max(to.1 - from.1);
                    }
                }
            }
            // A single write in the middle of another term counts, though it has no length.
            let single = |one: &TermWrites, other: &TermWrites| {
                one.first == one.last && other.first.0 < one.first.0 && one.first.0 < other.last.0
            };
            let points = all.iter().flat_map(|one| all.iter().map(move |other| (one, other)));
            pairs += points.filter(|(one, other)| one.cand != other.cand && single(one, other)).count() as u64;
            prop_assert_eq!(LeadPairs::among(all), LeadPairs { pairs, longest_ns });
        }
    }
}
