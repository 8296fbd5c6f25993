//! Recipes with a known bug, one file each, with the schedule that shows it. They exist to show that every check
//! catches its bug.

mod abandons_contender;
mod adopts_closing_session;
mod announces_itself;
mod breadcrumb_retry;
mod cancel_before_flag;
mod case;
mod exists_on_vanished;
mod forgets_session_end;
mod gives_up_after_partition;
mod guards_by_timer;
mod hangs_when_woken;
mod ignores_session_loss;
mod interleaved_reconnects;
pub(super) mod kinds;
mod leads_by_old_znode;
mod lease_not_renewed;
mod leaves_before_it_stops;
mod leaves_on_failed_release;
mod lock_by_name;
mod looks_now_and_then;
mod misses_now_and_then;
mod no_guid;
mod no_own_check;
mod no_recheck_after_wait;
mod no_relist;
mod prelude;
mod reads_everybody;
mod recreates_after_close;
mod releases_under_write;
mod resets_instead_of_relisting;
mod sequence_as_token;
mod servers;
mod silent_watch_end;
mod sleeps_through_notification;
mod slow_step_down;
mod sorts_as_text;
mod timer_from_suspended;
mod trusts_numbers;
mod trusts_watches;
mod wakes_everybody;
mod wall_clock_timer;
mod watches_children;
mod woken_twice;
mod writes_after_revoke;
mod writes_before_grant;

pub use self::case::{Case, FindingKind};

use super::registry::recipes;

/// Makes the list of cases: one of each broken recipe, and those of servers.
macro_rules! list {
    ($($kind:ident: $file:ident::$recipe:ident $(but $bug:ident)?, $($facts:tt),+;)+) => {
        const CASES: &[Case] = &[$($($bug::CASE,)?)+ servers::KEEPS_EPHEMERALS];
    };
}

recipes!(list);

/// All cases.
#[must_use]
pub fn cases() -> &'static [Case] {
    CASES
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::recipes::kind::RecipeKind;
    use crate::schedule::StepTrigger;

    #[test]
    fn every_broken_recipe_has_a_case_of_its_name_and_every_case_says_what_it_shows() {
        let broken: BTreeSet<&str> = RecipeKind::all().filter_map(|kind| kind.name().strip_prefix("broken:")).collect();
        let of_recipes: BTreeSet<&str> =
            cases().iter().filter(|case| case.recipe.is_broken()).map(|case| case.name).collect();
        assert_eq!(broken, of_recipes);
        for case in cases() {
            let of_servers = case.name.starts_with("server-");
            assert!(of_servers || case.recipe.name() == format!("broken:{}", case.name), "{}", case.name);
            assert!(of_servers || case.sound.is_some_and(|sound| !sound.is_broken()), "{}", case.name);
            assert!(!case.wrong.is_empty() && !case.seen_in.is_empty() && !case.caught.is_empty(), "{}", case.name);
        }
    }

    #[test]
    fn steps_are_about_candidates_that_there_are_and_within_a_minute() {
        for case in cases() {
            for step in case.schedule {
                let (who, when) = match step.when {
                    StepTrigger::At(ms) => (0, ms),
                    StepTrigger::Sent { cand, after_ms, .. } => (cand, after_ms.unwrap_or(0)),
                    StepTrigger::Leads { cand, .. } => (cand, 0),
                };
                assert!(who < case.candidates && when < 60_000, "{}: {step:?}", case.name);
            }
        }
    }

    #[test]
    fn everything_that_can_be_caught_is_caught_in_some_case() {
        let caught: BTreeSet<FindingKind> = cases().iter().flat_map(|case| case.caught).copied().collect();
        assert_eq!(caught.len(), 10, "{caught:?}");
    }
}
