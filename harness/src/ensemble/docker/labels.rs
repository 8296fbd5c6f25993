//! Names of a run's containers and networks, and the labels for finding them later.

use std::collections::HashMap;
use std::path::Path;

/// The run's id.
pub(super) const RUN: &str = "org.hustings.run";
/// The run's folder: without it, the run's state is unknown.
pub(super) const FOLDER: &str = "org.hustings.folder";
/// The ensemble's name.
pub(super) const ENSEMBLE: &str = "org.hustings.ensemble";
/// A label of a name in Docker's DNS has at most 63 bytes, and a container's own part takes some of them.
const RUN_BYTES_MAX: usize = 40;

/// The name of the run's `number`th ensemble; the names of its containers and networks begin with it.
pub(super) fn ensemble_name(run: &str, number: usize) -> String {
    // Ids differ at their end.
    let run = run.get(run.len().saturating_sub(RUN_BYTES_MAX)..).unwrap_or(run);
    if number <= 1 { format!("hustings-{run}") } else { format!("hustings-{run}-{number}") }
}

pub(super) fn labels(run: &str, folder: &Path, ensemble: &str) -> HashMap<String, String> {
    let folder = folder.display().to_string();
    [(RUN, run), (FOLDER, &folder), (ENSEMBLE, ensemble)].map(|(key, value)| (key.to_owned(), value.to_owned())).into()
}

#[cfg(test)]
mod tests {
    use super::ensemble_name;

    #[test]
    fn names_are_short_enough_to_be_looked_up() {
        assert_eq!(ensemble_name("20250101T000000Z-abcdef", 1), "hustings-20250101T000000Z-abcdef");
        assert_eq!(ensemble_name("short", 2), "hustings-short-2");
        let long = ensemble_name(&format!("{}-end", "x".repeat(96)), 999);
        assert!(long.len() + "-toxiproxy".len() <= 63 && long.ends_with("-end-999"), "{long}");
    }
}
