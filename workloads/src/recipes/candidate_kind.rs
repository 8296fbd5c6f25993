//! The contenders of a cell: candidates with a recipe of this package, or an external program.

use std::borrow::Cow;
use std::fmt;
use std::str::FromStr;

use super::kind::{RecipeKind, UnknownRecipe};
use super::names;

/// The prefix of a program's name where a recipe can be named.
const FOREIGN: &str = "foreign:";

/// The recipe or program of a cell's candidates.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum CandidateKind {
    /// A recipe of this package.
    Own(RecipeKind),
    /// The program of this name.
    Foreign(String),
}

/// The znodes of a group that can be its leader's.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LeadNode {
    /// The znode of this name.
    Lock(Cow<'static, str>),
    /// Those that recipes of this package queue with.
    Queue,
    /// All that end in a sequence number, whatever created them.
    AnyQueue,
}

impl LeadNode {
    /// The lock of recipes of this package.
    pub const LOCK: Self = Self::Lock(Cow::Borrowed(names::LOCK));

    /// Whether candidates queue for it.
    #[must_use]
    pub fn is_queue(&self) -> bool {
        !matches!(self, Self::Lock(_))
    }

    /// Whether a lead can rest on a znode of this name.
    #[must_use]
    pub fn takes(&self, name: &str) -> bool {
        match self {
            Self::Lock(lock) => name == lock,
            Self::Queue => names::sequence(name).is_some(),
            Self::AnyQueue => names::ends_in_number(name),
        }
    }
}

impl CandidateKind {
    /// The recipe, if it is one of this package.
    #[must_use]
    pub fn own(&self) -> Option<RecipeKind> {
        match self {
            Self::Own(recipe) => Some(*recipe),
            Self::Foreign(_) => None,
        }
    }

    /// The name of the program, if it is one.
    #[must_use]
    pub fn foreign(&self) -> Option<&str> {
        match self {
            Self::Own(_) => None,
            Self::Foreign(name) => Some(name),
        }
    }

    /// Whether this is that recipe.
    #[must_use]
    pub fn is(&self, recipe: RecipeKind) -> bool {
        self.own() == Some(recipe)
    }

    /// True for a recipe that is broken on purpose.
    #[must_use]
    pub fn is_broken(&self) -> bool {
        self.own().is_some_and(RecipeKind::is_broken)
    }
}

impl From<RecipeKind> for CandidateKind {
    fn from(recipe: RecipeKind) -> Self {
        Self::Own(recipe)
    }
}

impl fmt::Display for CandidateKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Own(recipe) => recipe.fmt(f),
            Self::Foreign(name) => f.pad(&format!("{FOREIGN}{name}")),
        }
    }
}

impl FromStr for CandidateKind {
    type Err = UnknownRecipe;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match text.strip_prefix(FOREIGN) {
            Some(name) => Ok(Self::Foreign(name.to_owned())),
            None => text.parse().map(Self::Own),
        }
    }
}

hustings_record::serde_as_text!(CandidateKind);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn recipes_and_programs_are_told_by_their_names() {
        let own: CandidateKind = "naive".parse().unwrap();
        let foreign: CandidateKind = "foreign:curator-latch".parse().unwrap();
        assert_eq!((own.own(), own.foreign()), (Some(RecipeKind::Naive), None));
        assert_eq!((foreign.own(), foreign.foreign()), (None, Some("curator-latch")));
        assert_eq!([own, foreign].map(|one| one.to_string()), ["naive", "foreign:curator-latch"]);
        assert!("curator-latch".parse::<CandidateKind>().is_err());
    }

    #[test]
    fn a_lead_of_others_rests_on_whatever_ends_in_a_sequence_number() {
        for name in ["_c_1d2-latch-0000000007", "ab__lock__0000000001", "x-72057-0000000003", "n--000000012"] {
            assert!(LeadNode::AnyQueue.takes(name), "{name}");
        }
        for name in ["lock", "breadcrumb", "n_12", "config-00000000x1"] {
            assert!(!LeadNode::AnyQueue.takes(name), "{name}");
        }
        assert!(LeadNode::LOCK.takes("lock") && !LeadNode::Queue.takes("x-0000000001"));
    }
}
