//! Spans of time as sorted, disjoint lists: what checkers cut and add up.

use hustings_record::Nanos;

/// From and to.
pub type Span = (Nanos, Nanos);

/// Sorts and merges. Empty and inverted spans are dropped.
#[must_use]
pub fn union(mut spans: Vec<Span>) -> Vec<Span> {
    spans.retain(|s| s.0 < s.1);
    spans.sort_unstable();
    let mut merged: Vec<Span> = Vec::with_capacity(spans.len());
    for span in spans {
        match merged.last_mut() {
            Some(last) if span.0 <= last.1 => last.1 = last.1.max(span.1),
            _ => merged.push(span),
        }
    }
    merged
}

/// The parts of `spans` (sorted, disjoint) within `window`.
#[must_use]
pub fn within(spans: &[Span], window: Span) -> Vec<Span> {
    let first = spans.partition_point(|s| s.1 <= window.0);
    spans[first..]
        .iter()
        .take_while(|s| s.0 < window.1)
        .map(|s| (s.0.max(window.0), s.1.min(window.1)))
        .filter(|s| s.0 < s.1)
        .collect()
}

/// What is left of `window` without `holes` (sorted, disjoint).
#[must_use]
pub fn without(window: Span, holes: &[Span]) -> Vec<Span> {
    let mut left = Vec::new();
    let mut at = window.0;
    for hole in within(holes, window) {
        if at < hole.0 {
            left.push((at, hole.0));
        }
        at = hole.1;
    }
    if at < window.1 {
        left.push((at, window.1));
    }
    left
}

#[must_use]
pub fn total(spans: &[Span]) -> Nanos {
    spans.iter().map(|s| s.1 - s.0).sum()
}

/// Whether any of `spans` (sorted, disjoint) shares a moment with `window`.
#[must_use]
pub fn touches(spans: &[Span], window: Span) -> bool {
    let first = spans.partition_point(|s| s.1 < window.0);
    spans.get(first).is_some_and(|s| s.0 <= window.1)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn covered(spans: &[Span]) -> Vec<Nanos> {
        (0..100).filter(|&t| spans.iter().any(|s| s.0 <= t && t < s.1)).collect()
    }

    proptest! {
        #[test]
        fn cutting_agrees_with_counting_moments(
            raw in prop::collection::vec((0_u64..100, 0_u64..100), 0..20),
            window in (0_u64..100, 0_u64..100),
        ) {
            let spans = union(raw.clone());
            prop_assert_eq!(covered(&spans), covered(&raw));
            prop_assert!(spans.windows(2).all(|w| w[0].1 < w[1].0));
            let marked = covered(&raw);
            let (in_it, out_of_it): (Vec<Nanos>, Vec<Nanos>) =
                covered(&[window]).into_iter().partition(|t| marked.contains(t));
            prop_assert_eq!(covered(&within(&spans, window)), in_it);
            let left = without(window, &spans);
            prop_assert_eq!(total(&left), out_of_it.len() as u64);
            prop_assert_eq!(covered(&left), out_of_it);
        }
    }
}
