//! Where a mutation can be applied, or why it cannot.

/// Sites of a mutation: each is a place in the list that the mutation works on (losses, terms, faults, …).
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Sites {
    At(Vec<usize>),
    /// No site, for this reason.
    Nowhere(String),
}

/// Possible sites, filtered by one condition after the other. The first condition that leaves none is the reason.
pub(super) struct SiteFilter {
    left: Vec<usize>,
    reason: Option<String>,
}

impl SiteFilter {
    /// Starts with these places; `none` is the reason where there are none.
    pub(super) fn of(places: impl IntoIterator<Item = usize>, none: &str) -> Self {
        let left: Vec<usize> = places.into_iter().collect();
        let reason = left.is_empty().then(|| none.to_owned());
        Self { left, reason }
    }

    /// Keeps the places that satisfy `condition`; `otherwise` is the reason if none does.
    pub(super) fn keep(mut self, otherwise: &str, condition: impl FnMut(&usize) -> bool) -> Self {
        if self.reason.is_none() {
            self.left.retain(condition);
            self.reason = self.left.is_empty().then(|| otherwise.to_owned());
        }
        self
    }

    /// The same for a condition on the whole cell.
    pub(super) fn only_if(self, otherwise: &str, condition: bool) -> Self {
        self.keep(otherwise, |_| condition)
    }

    pub(super) fn sites(self) -> Sites {
        self.reason.map_or(Sites::At(self.left), Sites::Nowhere)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_condition_that_leaves_no_site_is_the_reason() {
        let site_filter = || SiteFilter::of(0..4, "nothing there");
        assert_eq!(site_filter().keep("odd", |place| place % 2 == 0).sites(), Sites::At(vec![0, 2]));
        let none = site_filter().keep("too small", |place| *place > 9).keep("never asked", |_| false);
        assert_eq!(none.sites(), Sites::Nowhere("too small".into()));
        assert_eq!(
            SiteFilter::of([], "nothing there").keep("x", |_| true).sites(),
            Sites::Nowhere("nothing there".into())
        );
        assert_eq!(site_filter().only_if("not allowed", false).sites(), Sites::Nowhere("not allowed".into()));
    }
}
