//! The records in a folder: one line each, and a page over all of them.

use std::path::{Path, PathBuf};

use anyhow::Context as _;
use hustings_record::MANIFEST_FILE;
use hustings_reports::history::Past;
use hustings_reports::render::{self, clean_line};

use crate::cmd::files::{Output, check_outputs, kept_summary};
use crate::cmd::report::SUMMARY_FILE;
use crate::console::exit::{Exit, Failure};
use crate::console::output::{inform, say};

/// Default folder of records.
pub(super) const FOLDER: &str = "runs";

/// Lists the records by their stored summaries. Records without a summary are named.
pub(super) fn list(folder: &Path, page: Option<&Output>, json: bool) -> Result<Exit, Failure> {
    check_outputs(&[("--json", json.then_some(&Output::Standard)), ("--page", page)], &[])?;
    let mut runs = Vec::new();
    for record in records(folder).map_err(Failure::infrastructure)? {
        let name = record.file_name().unwrap_or_default().to_string_lossy().into_owned();
        match kept_summary(&record.join(SUMMARY_FILE)) {
            Ok(summary) => runs.push(Past::of(name, &summary)),
            Err(error) => inform!("no summary of {name}: {error:#}; `hustings report` makes one"),
        }
    }
    if runs.is_empty() {
        inform!("there is no record with a summary in {}; --in names the folder that records lie in", folder.display());
    }
    runs.sort_by(|one, other| (&one.started_utc, &one.folder).cmp(&(&other.started_utc, &other.folder)));
    if let Some(page) = page {
        let html = render::runs_page(&runs).map_err(Failure::infrastructure)?;
        page.written("page", &html)?;
    }
    if json {
        say(serde_json::to_string_pretty(&runs).map_err(Failure::infrastructure)?)?;
    } else {
        for run in &runs {
            let Past { started_utc, verdict, ensemble, cells, scenario, folder, .. } = run;
            let [started_utc, scenario, folder] = [started_utc, scenario, folder].map(|text| clean_line(text));
            say(format_args!(
                "{started_utc:<20}  {verdict:<12}  {ensemble:<9}  {cells:>4} cells  {scenario:<18}  {folder}"
            ))?;
        }
    }
    Ok(Exit::Pass)
}

/// The subfolders that contain a manifest.
fn records(folder: &Path) -> anyhow::Result<Vec<PathBuf>> {
    let entries = std::fs::read_dir(folder).with_context(|| folder.display().to_string())?;
    let mut found = Vec::new();
    for entry in entries {
        let path = entry.with_context(|| folder.display().to_string())?.path();
        if path.join(MANIFEST_FILE).is_file() {
            found.push(path);
        }
    }
    Ok(found)
}
