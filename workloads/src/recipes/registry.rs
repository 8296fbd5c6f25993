//! The registry of recipes: their names, what they promise, and which of them are broken on purpose.

use std::fmt;
use std::str::FromStr;

/// An election algorithm.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum RecipeKind {
    /// Ephemeral-sequential znodes; everyone watches the next lower one.
    PredecessorWatch,
    /// Ephemeral-sequential znodes; everyone watches the lowest one.
    Naive,
    /// One ephemeral lock znode that everyone watches and races to create; a breadcrumb says whom to fence.
    LockRace,
    /// One ephemeral lock znode that everyone tries to create at every interval, without a watch.
    PollRace,
    /// Broken: predecessor-watch that leads when its predecessor goes, without listing again.
    NoRelist,
    /// Broken: predecessor-watch that goes on believing whatever becomes of its session.
    IgnoresSessionLoss,
}

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

/// Every recipe with its name, its promise and one line about it. A new recipe is a file and a line here.
const RECIPES: [(RecipeKind, &str, FanOut, &str); 6] = [
    (
        RecipeKind::PredecessorWatch,
        "predecessor-watch",
        FanOut::One,
        "ephemeral-sequential, watch only the next lower znode",
    ),
    (RecipeKind::Naive, "naive", FanOut::AllOthers, "ephemeral-sequential, everyone watches the lowest znode"),
    (
        RecipeKind::LockRace,
        "lock-race",
        FanOut::AllOthers,
        "one lock znode, everyone watches it and races to create it",
    ),
    (RecipeKind::PollRace, "poll-race", FanOut::None, "one lock znode, everyone tries to create it at every interval"),
    (RecipeKind::NoRelist, "broken:no-relist", FanOut::One, "leads when its predecessor goes, without listing again"),
    (
        RecipeKind::IgnoresSessionLoss,
        "broken:ignores-session-loss",
        FanOut::One,
        "goes on believing whatever becomes of its session",
    ),
];

impl RecipeKind {
    /// Every recipe, the broken ones last.
    pub fn all() -> impl Iterator<Item = Self> {
        RECIPES.iter().map(|recipe| recipe.0)
    }

    #[must_use]
    pub fn name(self) -> &'static str {
        self.entry().1
    }

    /// Other candidates woken per leader loss, as the recipe promises.
    #[must_use]
    pub fn promised_fan_out(self) -> FanOut {
        self.entry().2
    }

    /// One line about what it does.
    #[must_use]
    pub fn describe(self) -> &'static str {
        self.entry().3
    }

    /// True for the recipes with a known bug, which exist so that the checkers can be seen to catch them.
    #[must_use]
    pub fn is_broken(self) -> bool {
        self.name().starts_with("broken:")
    }

    /// True for the recipes in which all compete for one znode; the others queue.
    #[must_use]
    pub fn is_lock(self) -> bool {
        matches!(self, Self::LockRace | Self::PollRace)
    }

    fn entry(self) -> &'static (Self, &'static str, FanOut, &'static str) {
        let place = match self {
            Self::PredecessorWatch => 0,
            Self::Naive => 1,
            Self::LockRace => 2,
            Self::PollRace => 3,
            Self::NoRelist => 4,
            Self::IgnoresSessionLoss => 5,
        };
        &RECIPES[place]
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
        let known = Self::all().map(Self::name).collect::<Vec<_>>().join(", ");
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
        }
    }

    #[test]
    fn an_unknown_recipe_is_refused_with_the_nearest_one() {
        let error = "predecesor-watch".parse::<RecipeKind>().unwrap_err();
        assert_eq!(error.nearest, "predecessor-watch");
    }
}
