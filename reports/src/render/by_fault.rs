//! Zero counts of several cells. They are not summed over kinds of faults: a kind that cannot show the violation proves
//! nothing about another.

use std::collections::BTreeMap;

use crate::summary::{CellSummary, Rate};
use hustings_record::{FaultKind, LeadLoss};

/// Rates of several cells, by what they can show.
pub(crate) enum RatesByFault {
    /// The kind of fault with the fewest injections, of `of` kinds that can show the violation. `given_up`: there are
    /// cells with resignations too, which are left out.
    LeastKnown { kind: FaultKind, rate: Rate, of: usize, given_up: bool },
    /// All leaders resigned, or were asked to go: they released the lead before another candidate could take it.
    GivenUp(Rate),
}

impl RatesByFault {
    /// None where no cell has a handover.
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

    /// The rate that is shown.
    pub(crate) fn rate(&self) -> &Rate {
        match self {
            Self::LeastKnown { rate, .. } | Self::GivenUp(rate) => rate,
        }
    }
}

/// Whether a leader is asked to release the lead, and does so before another can take it. Its session is neither left
/// to expire nor ended by force.
fn gives_up(kind: FaultKind) -> bool {
    let facts = kind.facts();
    facts.leads == LeadLoss::Always && !facts.lets_sessions_expire && !facts.defeats_client_checks
}
