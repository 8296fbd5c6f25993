//! Selection of cells by name: `--only`.

use anyhow::bail;
use hustings_record::words::as_typed;
use wildmatch::WildMatch;

/// Name patterns. Without patterns, every name is selected.
pub(super) struct NameFilter<'a>(Vec<(&'a str, WildMatch)>);

impl<'a> NameFilter<'a> {
    pub(super) fn new(patterns: &'a [String]) -> Self {
        Self(patterns.iter().map(|pattern| (pattern.as_str(), WildMatch::new(pattern))).collect())
    }

    pub(super) fn wants(&self, name: &str) -> bool {
        self.0.is_empty() || self.0.iter().any(|(_, pattern)| pattern.matches(name))
    }

    /// A pattern that matches no cell is an error.
    pub(super) fn check(&self, names: &[&str]) -> anyhow::Result<()> {
        match self.0.iter().find(|(_, pattern)| !names.iter().any(|name| pattern.matches(name))) {
            Some((idle, _)) => {
                bail!("--only {}: there is no such cell; there are {}", as_typed(idle), names.join(", "))
            }
            None => Ok(()),
        }
    }
}
