//! Finds overlaps among the pieces of one group's beliefs in one pass over them in order of time.

use hustings_record::Nanos;

/// A piece of a belief: of which term, by which incarnation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BeliefSpan {
    pub from: Nanos,
    pub to: Nanos,
    pub who: (u32, i64),
    pub term: usize,
}

/// `newcomer` began while `other`, of another incarnation, still lasted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Overlap {
    pub newcomer: usize,
    pub other: usize,
    pub from: Nanos,
    pub to: Nanos,
}

impl Overlap {
    #[must_use]
    pub fn length(&self) -> Nanos {
        self.to - self.from
    }
}

/// All pairs of pieces of different incarnations that share a time, each once: three that last at once are three pairs. `margin` is
/// added to every end: −ε for what is certain, +ε for what is possible. Sorts the pieces; takes n log n, and a step for each piece
/// that begins and each that still lasts then.
#[must_use]
pub fn sweep(pieces: &mut [BeliefSpan], margin: i64) -> Vec<Overlap> {
    pieces.sort_unstable_by_key(|p| (p.from, p.to, p.who, p.term));
    let mut overlaps = Vec::new();
    let mut lasting: Vec<BeliefSpan> = Vec::new();
    for &piece in pieces.iter() {
        lasting.retain(|other| other.to.saturating_add_signed(margin) > piece.from);
        for other in lasting.iter().filter(|other| other.who != piece.who) {
            let to = piece.to.min(other.to).saturating_add_signed(margin);
            if to > piece.from {
                overlaps.push(Overlap { newcomer: piece.term, other: other.term, from: piece.from, to });
            }
        }
        lasting.push(piece);
    }
    overlaps
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// The overlaps of each piece with each that began before it, by trying them all.
    fn brute(pieces: &[BeliefSpan], margin: i64) -> Vec<(usize, usize, Nanos)> {
        let mut found = Vec::new();
        for (at, piece) in pieces.iter().enumerate() {
            for other in pieces[..at].iter().filter(|other| other.who != piece.who) {
                let long = piece.to.min(other.to) as i64 + margin - piece.from as i64;
                if long > 0 {
                    found.push((piece.term, other.term, long as Nanos));
                }
            }
        }
        found
    }

    proptest! {
        #[test]
        fn the_sweep_agrees_with_comparing_all_pairs(
            raw in prop::collection::vec((0_u64..60, 1_u64..30, 0_u32..4, 0_i64..2), 0..40),
            margin in -3_i64..4,
        ) {
            let mut pieces: Vec<BeliefSpan> = raw
                .iter()
                .enumerate()
                .map(|(term, &(from, long, cand, session))| BeliefSpan {
                    from: from + 10, to: from + long + 10, who: (cand, session), term,
                })
                .collect();
            let found = sweep(&mut pieces, margin);
            let pairs: Vec<_> = found.iter().map(|o| (o.newcomer, o.other, o.length())).collect();
            prop_assert_eq!(pairs, brute(&pieces, margin));
            for overlap in found {
                let (a, b) = (raw[overlap.newcomer], raw[overlap.other]);
                prop_assert!((a.2, a.3) != (b.2, b.3));
            }
        }
    }
}
