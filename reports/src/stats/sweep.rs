//! Finds overlaps among the pieces of one group's beliefs in one pass over them in order of time.

use hustings_record::Nanos;

/// A piece of a belief: of which term, by which incarnation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Piece {
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

/// For every piece that begins while pieces of other incarnations last: its longest overlap with one of them, so that
/// overlaps are as many as grants that should not have been. `margin` is added to every end: −ε for what is certain, +ε for
/// what is possible. Sorts the pieces; n log n.
#[must_use]
pub fn sweep(pieces: &mut [Piece], margin: i64) -> Vec<Overlap> {
    pieces.sort_unstable_by_key(|p| (p.from, p.to, p.who, p.term));
    let mut overlaps = Vec::new();
    // The piece that lasts longest so far, and the longest of any other incarnation than that one's.
    let (mut longest, mut second): (Option<Piece>, Option<Piece>) = (None, None);
    for &piece in pieces.iter() {
        let other = longest.filter(|l| l.who != piece.who).or(second.filter(|s| s.who != piece.who));
        if let Some(other) = other {
            let to = piece.to.min(other.to).saturating_add_signed(margin);
            if to > piece.from {
                overlaps.push(Overlap { newcomer: piece.term, other: other.term, from: piece.from, to });
            }
        }
        match longest {
            Some(l) if l.who == piece.who => longest = Some(if piece.to > l.to { piece } else { l }),
            Some(l) if piece.to > l.to => (longest, second) = (Some(piece), Some(l)),
            Some(_) => {
                if second.is_none_or(|s| piece.to > s.to) {
                    second = Some(piece);
                }
            }
            None => longest = Some(piece),
        }
    }
    overlaps
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// For each piece, the longest overlap with any piece that began before it, by trying them all.
    fn brute(pieces: &[Piece], margin: i64) -> Vec<(usize, Nanos)> {
        let mut found = Vec::new();
        for (at, piece) in pieces.iter().enumerate() {
            let ends = pieces[..at].iter().filter(|p| p.who != piece.who).map(|p| p.to.min(piece.to) as i64 + margin);
            let best = ends.max().map_or(0, |end| end - piece.from as i64);
            if best > 0 {
                found.push((piece.term, best as Nanos));
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
            let mut pieces: Vec<Piece> = raw
                .iter()
                .enumerate()
                .map(|(term, &(from, long, cand, session))| Piece {
                    from: from + 10, to: from + long + 10, who: (cand, session), term,
                })
                .collect();
            let found = sweep(&mut pieces, margin);
            let lengths: Vec<_> = found.iter().map(|o| (o.newcomer, o.length())).collect();
            prop_assert_eq!(lengths, brute(&pieces, margin));
            for overlap in found {
                let (a, b) = (raw[overlap.newcomer], raw[overlap.other]);
                prop_assert!((a.2, a.3) != (b.2, b.3));
            }
        }
    }
}
