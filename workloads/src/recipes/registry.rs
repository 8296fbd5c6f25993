//! The registry of recipes: their names, what they promise, which of them are broken on purpose, and how a candidate comes to
//! stand by one.

use std::fmt;
use std::str::FromStr;

use super::candidate::Candidate;
use super::lock_race::LockRace;
use super::naive::Naive;
use super::poll_race::PollRace;
use super::predecessor_watch::PredecessorWatch;
use super::{broken, stand_by};
use crate::booth::{Booth, Departure};
use crate::coordination::Session;

/// How many other candidates a recipe promises to wake when a leader is lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FanOut {
    One,
    AllOthers,
    None,
}

impl FanOut {
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::One => "one",
            Self::AllOthers => "all-others",
            Self::None => "none",
        }
    }
}

/// What candidates compete for.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Form {
    /// Places in a queue: a znode each.
    Queue,
    /// One znode.
    Lock,
}

struct Entry {
    kind: RecipeKind,
    name: &'static str,
    form: Form,
    fan_out: FanOut,
    about: &'static str,
}

/// Makes the kinds of recipes, their table, and the way from a kind to its recipe.
macro_rules! recipes {
    ($($kind:ident: $recipe:ty = $name:literal, $form:ident, $fan_out:ident, $about:literal;)+) => {
        /// An election algorithm.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
        pub enum RecipeKind {
            $(#[doc = $about] $kind,)+
        }

        const RECIPES: &[Entry] = &[$(Entry {
            kind: RecipeKind::$kind,
            name: $name,
            form: Form::$form,
            fan_out: FanOut::$fan_out,
            about: $about,
        },)+];

        /// Stands by the recipe of the candidate's election. Boxed, since the recipes differ in size.
        pub(super) async fn stand_by_recipe<S: Session, B: Booth>(candidate: Box<Candidate<'_, S, B>>) -> Departure {
            match candidate.election.recipe {
                $(RecipeKind::$kind => Box::pin(stand_by::<$recipe, S, B>(candidate)).await,)+
            }
        }
    };
}

// A new recipe is a file and an entry here: kind, recipe, name, what is competed for, whom a leader's loss wakes, and one line
// about it. Broken ones come last.
recipes! {
    PredecessorWatch: PredecessorWatch = "predecessor-watch", Queue, One,
        "ephemeral-sequential, watch only the next lower znode";
    Naive: Naive = "naive", Queue, AllOthers,
        "ephemeral-sequential, everyone watches the lowest znode";
    LockRace: LockRace = "lock-race", Lock, AllOthers,
        "one lock znode, everyone watches it and races to create it";
    PollRace: PollRace = "poll-race", Lock, None,
        "one lock znode, everyone tries to create it at every interval";
    AbandonsContender: broken::AbandonsContender = "broken:abandons-contender", Queue, One,
        "gives a try up after T, and cleans up after it once";
    AdoptsClosingSession: broken::AdoptsClosingSession = "broken:adopts-closing-session", Queue, One,
        "takes what bears its guid for its own, whoever owns it";
    BreadcrumbRetry: broken::BreadcrumbRetry = "broken:breadcrumb-retry", Lock, AllOthers,
        "repeats a write of the breadcrumb whose answer was lost";
    CancelBeforeFlag: broken::CancelBeforeFlag = "broken:cancel-before-flag", Queue, One,
        "does not hear what happens between the owner check and the grant";
    ExistsOnVanished: broken::ExistsOnVanished = "broken:exists-on-vanished", Queue, One,
        "watches its predecessor with an exists, which leaves watches behind";
    ForgetsSessionEnd: broken::ForgetsSessionEnd = "broken:forgets-session-end", Queue, One,
        "takes the end of its session during a create for a lost connection";
    IgnoresSessionLoss: broken::IgnoresSessionLoss = "broken:ignores-session-loss", Queue, One,
        "goes on believing whatever becomes of its session";
    InterleavedReconnects: broken::InterleavedReconnects = "broken:interleaved-reconnects", Queue, One,
        "decides on one reconnect and begins anew on the next, at the same time";
    LeaseNotRenewed: broken::LeaseNotRenewed = "broken:lease-not-renewed", Queue, One,
        "gives the lead up when a lease of its own is over";
    LeavesBeforeItStops: broken::LeavesBeforeItStops = "broken:leaves-before-it-stops", Queue, One,
        "gives its znode back before it stops believing";
    LeavesOnFailedRelease: broken::LeavesOnFailedRelease = "broken:leaves-on-failed-release", Queue, One,
        "takes its znode for gone when its deletion failed";
    LockByName: broken::LockByName = "broken:lock-by-name", Lock, AllOthers,
        "takes a lock that bears its name for its own, whoever owns it";
    NoGuid: broken::NoGuid = "broken:no-guid", Queue, One,
        "creates again when the answer to a create was lost";
    NoOwnCheck: broken::NoOwnCheck = "broken:no-own-check", Queue, One,
        "never looks whether its own znode is there";
    NoRecheckAfterWait: broken::NoRecheckAfterWait = "broken:no-recheck-after-wait", Queue, One,
        "leads when the end of its own session wakes it";
    NoRelist: broken::NoRelist = "broken:no-relist", Queue, One,
        "leads when its predecessor goes, without listing again";
    RecreatesAfterClose: broken::RecreatesAfterClose = "broken:recreates-after-close", Queue, One,
        "makes its znode anew when it is told to go at the wrong moment";
    ResetsInsteadOfRelisting: broken::ResetsInsteadOfRelisting = "broken:resets-instead-of-relisting", Queue, One,
        "gives its place up when its predecessor is gone before it is watched";
    SequenceAsToken: broken::SequenceAsToken = "broken:sequence-as-token", Queue, One,
        "takes the sequence number for a fencing token";
    SilentWatchEnd: broken::SilentWatchEnd = "broken:silent-watch-end", Queue, One,
        "hears of its end by the watch on its own znode alone";
    SlowStepDown: broken::SlowStepDown = "broken:slow-step-down", Queue, One,
        "needs longer than T to step down";
    SortsAsText: broken::SortsAsText = "broken:sorts-as-text", Queue, One,
        "sorts the sequence numbers as text";
    TimerFromSuspended: broken::TimerFromSuspended = "broken:timer-from-suspended", Queue, One,
        "steps down a whole T after it saw the loss of its connection";
    TrustsWatches: broken::TrustsWatches = "broken:trusts-watches", Queue, One,
        "does not list again after a reconnect";
    WakesEverybody: broken::WakesEverybody = "broken:wakes-everybody", Queue, One,
        "watches the lowest znode, and promises to wake one";
    WallClockTimer: broken::WallClockTimer = "broken:wall-clock-timer", Queue, One,
        "takes the time of its step-down policy by the wall clock";
}

impl RecipeKind {
    /// Every recipe, the broken ones last.
    pub fn all() -> impl Iterator<Item = Self> {
        RECIPES.iter().map(|recipe| recipe.kind)
    }

    #[must_use]
    pub fn name(self) -> &'static str {
        self.entry().name
    }

    /// Other candidates woken per leader loss, as the recipe promises.
    #[must_use]
    pub fn promised_fan_out(self) -> FanOut {
        self.entry().fan_out
    }

    /// One line about what it does.
    #[must_use]
    pub fn describe(self) -> &'static str {
        self.entry().about
    }

    /// True for the recipes with a known bug, which exist so that the checkers can be seen to catch them.
    #[must_use]
    pub fn is_broken(self) -> bool {
        self.name().starts_with("broken:")
    }

    /// True for the recipes in which all compete for one znode; the others queue.
    #[must_use]
    pub fn is_lock(self) -> bool {
        self.entry().form == Form::Lock
    }

    fn entry(self) -> &'static Entry {
        // The table is in the order of the kinds.
        &RECIPES[self as usize]
    }
}

impl fmt::Display for RecipeKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// A recipe that there is not.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("unknown recipe `{given}`: did you mean `{nearest}`? There are {known}")]
pub struct UnknownRecipe {
    pub given: String,
    pub nearest: &'static str,
    pub known: String,
}

impl FromStr for RecipeKind {
    type Err = UnknownRecipe;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        if let Some(kind) = Self::all().find(|kind| kind.name() == text) {
            return Ok(kind);
        }
        let distance = |kind: &Self| strsim::damerau_levenshtein(kind.name(), text);
        let nearest = Self::all().min_by_key(distance).map_or("predecessor-watch", Self::name);
        // The broken ones are many, and few who mistype a name mean one of them.
        let meant = |kind: &Self| kind.is_broken() == text.starts_with("broken");
        let known = Self::all().filter(meant).map(Self::name).collect::<Vec<_>>().join(", ");
        Err(UnknownRecipe { given: text.to_owned(), nearest, known })
    }
}

impl serde::Serialize for RecipeKind {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.name())
    }
}

impl<'de> serde::Deserialize<'de> for RecipeKind {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        text.parse().map_err(serde::de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_recipe_is_found_by_its_name() {
        for kind in RecipeKind::all() {
            assert_eq!(kind.name().parse::<RecipeKind>().unwrap(), kind);
            assert_eq!(kind.entry().kind, kind, "the table is in the order of the kinds");
        }
    }

    #[test]
    fn an_unknown_recipe_is_refused_with_the_nearest_one() {
        let error = "predecesor-watch".parse::<RecipeKind>().unwrap_err();
        assert_eq!(error.nearest, "predecessor-watch");
    }
}
