//! What zeros of several cells are worth: no sum over kinds of faults is, for one that cannot show what was looked for proves
//! nothing of another.

use std::collections::BTreeMap;

use crate::summary::{CellSummary, Rate};
use hustings_record::{FaultKind, LeadLoss};

/// Rates of several cells, by what can be said of them.
pub(crate) enum ByFault {
    /// The kind of fault with the fewest injections behind it, of so many kinds that can show it.
    /// `given_up`: there are cells with resignations beside them, of which nothing is told.
    LeastKnown { kind: FaultKind, rate: Rate, of: usize, given_up: bool },
    /// All resigned, or were asked to go: they had given the lead up before anybody could take it.
    GivenUp(Rate),
}

impl ByFault {
    /// None where no handover stands behind any.
    pub(crate) fn of<'a>(
        cells: impl IntoIterator<Item = &'a CellSummary>,
        of: impl Fn(&CellSummary) -> Rate,
    ) -> Option<Self> {
        let mut kinds: BTreeMap<FaultKind, Vec<Rate>> = BTreeMap::new();
        cells.into_iter().for_each(|cell| kinds.entry(cell.info.fault_kind).or_default().push(of(cell)));
        let rates = kinds.into_iter().map(|(kind, rates)| (kind, Rate::pooled(rates)));
        let (given_up, telling): (Vec<_>, Vec<_>) =
            rates.filter(|(_, rate)| rate.n > 0).partition(|(kind, _)| gives_up(*kind));
        let of = telling.len();
        let least = telling.into_iter().min_by_key(|(_, rate)| rate.injections);
        let given_up = Rate::pooled(given_up.into_iter().map(|(_, rate)| rate));
        least
            .map(|(kind, rate)| Self::LeastKnown { kind, rate, of, given_up: given_up.n > 0 })
            .or((given_up.n > 0).then_some(Self::GivenUp(given_up)))
    }

    /// What stands behind it.
    pub(crate) fn rate(&self) -> &Rate {
        match self {
            Self::LeastKnown { rate, .. } | Self::GivenUp(rate) => rate,
        }
    }
}

/// Whether whoever leads is asked to give the lead up, and does so before anybody can take it: it is neither left nor made to lose
/// its session.
fn gives_up(kind: FaultKind) -> bool {
    let facts = kind.facts();
    facts.leads == LeadLoss::Always && !facts.lets_sessions_expire && !facts.outwits_recipes
}
