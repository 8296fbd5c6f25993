//! The kinds of recipes: their names, their declarations, and which of them are broken on purpose.

use std::fmt;
use std::str::FromStr;

use hustings_record::Declaration;

use super::declares::RecipeDeclaration;
use super::registry::recipes;

/// The object that candidates compete for.
#[derive(Clone, Copy, PartialEq, Eq)]
enum ContendedObject {
    /// Places in a queue: a znode each.
    Queue,
    /// One znode.
    Lock,
}

struct KindEntry {
    kind: RecipeKind,
    name: &'static str,
    form: ContendedObject,
    declares: Declaration,
    fences: bool,
    about: &'static str,
}

/// Defines the kinds of recipes and their table.
macro_rules! kinds {
    ($(
        $kind:ident: $file:ident::$recipe:ident $(but $bug:ident)?, $name:literal, $form:ident, $about:literal;
    )+) => {
        /// An election algorithm.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
        pub enum RecipeKind {
            $(#[doc = $about] $kind,)+
        }

        const RECIPES: &[KindEntry] = &[
            $(KindEntry {
                kind: RecipeKind::$kind,
                name: $name,
                form: ContendedObject::$form,
                declares: <super::$file::$recipe as RecipeDeclaration>::DECLARES,
                fences: <super::$file::$recipe as RecipeDeclaration>::FENCES,
                about: $about,
            },)+
        ];
    };
}

recipes!(kinds);

impl RecipeKind {
    /// Every recipe, the broken ones last.
    pub fn all() -> impl Iterator<Item = Self> {
        RECIPES.iter().map(|recipe| recipe.kind)
    }

    /// The recipes without a known bug.
    pub fn sound() -> impl Iterator<Item = Self> {
        Self::all().filter(|recipe| !recipe.is_broken())
    }

    #[must_use]
    pub fn name(self) -> &'static str {
        self.entry().name
    }

    /// The recipe's declaration. A broken one declares the same as the sound one that it pretends to be.
    #[must_use]
    pub fn declares(self) -> Declaration {
        self.entry().declares
    }

    /// True for recipes whose winner fences the leader before it.
    #[must_use]
    pub fn fences(self) -> bool {
        self.entry().fences
    }

    /// Its description in one line.
    #[must_use]
    pub fn describe(self) -> &'static str {
        self.entry().about
    }

    /// True for recipes with a known bug, which exist to show that the checks catch them.
    #[must_use]
    pub fn is_broken(self) -> bool {
        self.name().starts_with("broken:")
    }

    /// True for recipes in which all candidates compete for one znode; the others queue.
    #[must_use]
    pub fn is_lock(self) -> bool {
        self.entry().form == ContendedObject::Lock
    }

    fn entry(self) -> &'static KindEntry {
        // The table is in the order of the kinds.
        &RECIPES[self as usize]
    }
}

impl fmt::Display for RecipeKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// The error for an unknown recipe.
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
        // There are many broken recipes, and a mistyped name rarely means one of them.
        let meant = |kind: &Self| kind.is_broken() == text.starts_with("broken");
        let known = Self::all().filter(meant).map(Self::name).collect::<Vec<_>>().join(", ");
        Err(UnknownRecipe { given: text.to_owned(), nearest, known })
    }
}

hustings_record::serde_as_text!(RecipeKind);

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
