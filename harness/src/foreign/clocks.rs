//! Checks whether a program's timestamps are comparable with ours. That is never assumed. Its clock must be in our time
//! namespace, and every time in a reply to `sync` must lie between request and reply.

use hustings_record::Nanos;

/// Number of replies that must fit.
pub const ROUNDS: u64 = 5;

/// One reply to `sync`, by our clock and by the program's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Round {
    pub asked: Nanos,
    pub told: Nanos,
    pub answered: Nanos,
}

/// The result of the check of a program's clock.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ProgramClock {
    /// It is ours; the shortest and longest round trip.
    Ours { least: Nanos, most: Nanos },
    /// Its timestamps are unusable: why.
    Other(String),
}

/// Judges the replies of a process whose time namespace is ours or not (None: it cannot be read).
#[must_use]
pub fn judge(rounds: &[Round], same_namespace: Option<bool>) -> ProgramClock {
    match same_namespace {
        Some(true) => {}
        Some(false) => return ProgramClock::Other("it is in a time namespace of its own".into()),
        None => return ProgramClock::Other("its time namespace cannot be read".into()),
    }
    if (rounds.len() as u64) < ROUNDS {
        return ProgramClock::Other(format!("it answered {} of {ROUNDS} times", rounds.len()));
    }
    if let Some(off) = rounds.iter().find(|round| round.told < round.asked || round.told > round.answered) {
        let by = off.asked.saturating_sub(off.told).max(off.told.saturating_sub(off.answered));
        let side = if off.told < off.asked { "before the question" } else { "after the answer" };
        return ProgramClock::Other(format!("it told a time {} ms {side}", by.div_ceil(1_000_000)));
    }
    let took = || rounds.iter().map(|round| round.answered - round.asked);
    ProgramClock::Ours { least: took().min().unwrap_or(0), most: took().max().unwrap_or(0) }
}

/// Whether a process is in this one's time namespace. None: the kernel does not say.
#[must_use]
pub fn same_namespace(pid: u32) -> Option<bool> {
    let of = |process: &str| std::fs::read_link(format!("/proc/{process}/ns/time")).ok();
    Some(of(&pid.to_string())? == of("self")?)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rounds(told: impl Fn(u64) -> u64) -> Vec<Round> {
        let round = |i| Round { asked: 1_000 * i + 100, told: told(1_000 * i + 150), answered: 1_000 * i + 300 };
        (1..=ROUNDS).map(round).collect()
    }

    #[test]
    fn a_clock_is_ours_only_if_every_answer_fits_and_the_namespace_is_ours() {
        assert_eq!(judge(&rounds(|t| t), Some(true)), ProgramClock::Ours { least: 200, most: 200 });
        for (rounds, namespace) in [
            (rounds(|t| t + 3_674_000_000_000), Some(true)),
            (rounds(|t| t - 60), Some(true)),
            (rounds(|t| t), Some(false)),
            (rounds(|t| t), None),
            (rounds(|t| t)[1..].to_vec(), Some(true)),
        ] {
            assert!(matches!(judge(&rounds, namespace), ProgramClock::Other(_)), "{rounds:?}");
        }
    }

    #[test]
    fn this_process_is_in_its_own_namespace() {
        assert_eq!(same_namespace(std::process::id()), Some(true));
        assert_eq!(same_namespace(u32::MAX), None);
    }
}
