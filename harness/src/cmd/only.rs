//! Cells chosen by their names: `--only`.

use anyhow::bail;
use wildmatch::WildMatch;

/// Patterns of names; without any, every name is wanted.
pub(super) struct Only<'a>(Vec<(&'a str, WildMatch)>);

impl<'a> Only<'a> {
    pub(super) fn new(patterns: &'a [String]) -> Self {
        Self(patterns.iter().map(|pattern| (pattern.as_str(), WildMatch::new(pattern))).collect())
    }

    pub(super) fn wants(&self, name: &str) -> bool {
        self.0.is_empty() || self.0.iter().any(|(_, pattern)| pattern.matches(name))
    }

    /// A pattern that no cell is like is a mistake.
    pub(super) fn check(&self, names: &[&str]) -> anyhow::Result<()> {
        match self.0.iter().find(|(_, pattern)| !names.iter().any(|name| pattern.matches(name))) {
            Some((idle, _)) => bail!("--only {idle}: there is no such cell; there are {}", names.join(", ")),
            None => Ok(()),
        }
    }
}
