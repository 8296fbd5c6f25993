//! The records in a folder: one line each, and a page over all of them.

use std::cmp::Ordering;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, anyhow, bail};
use hustings_record::{Damage, MANIFEST_FILE, RecordReader, SUMMARY_FILE};
use hustings_reports::history::HistoryEntry;
use hustings_reports::render::{self, clean_line};
use hustings_reports::summary::Summary;
use hustings_reports::verdict::Verdict;

use crate::cmd::files::{Output, check_outputs, kept_summary};
use crate::console::exit::{Exit, Failure};
use crate::console::output::{inform, say, say_json};

/// Default folder of records.
pub(super) const FOLDER: &str = "runs";
/// The remedies where there are no records.
const ELSEWHERE: &str = "--in names the folder that records lie in, and `hustings run` makes a record";

/// Lists the records by their stored summaries. Records without a summary are named, and so are those that are not what
/// their summaries were made of: these have no verdict.
pub(super) fn list(folder: &Path, page: Option<&Output>, json: bool) -> Result<Exit, Failure> {
    check_outputs(&[("--json", json.then_some(&Output::Standard)), ("--page", page)], &[])?;
    let (mut runs, mut damaged) = (Vec::new(), Vec::new());
    for record in records(folder).map_err(Failure::infrastructure)? {
        let name = record.file_name().unwrap_or_default().to_string_lossy().into_owned();
        match kept_summary(&record.join(SUMMARY_FILE)) {
            Ok(summary) => match fits(&record, &summary) {
                Ok(()) => runs.push(HistoryEntry::of(name, &summary)),
                Err(error) => {
                    inform!("{name} is damaged: {error:#}; `hustings check` says what can be read of it");
                    damaged.push(HistoryEntry::of(name, &summary));
                }
            },
            Err(error) => inform!("no summary of {name}: {error:#}; `hustings report` makes one"),
        }
    }
    if runs.is_empty() && damaged.is_empty() {
        inform!("there is no record with a summary in {}; {ELSEWHERE}", folder.display());
    }
    runs.sort_by(by_time);
    if let Some(page) = page {
        let html = render::runs_page(&runs).map_err(Failure::infrastructure)?;
        page.written("page", &html)?;
    }
    if json {
        say_json(serde_json::to_string_pretty(&runs).map_err(Failure::infrastructure)?)?;
    } else {
        let sound = runs.iter().map(|run| (run, run.verdict.to_string()));
        let mut rows: Vec<(&HistoryEntry, String)> =
            sound.chain(damaged.iter().map(|run| (run, "damaged".to_owned()))).collect();
        rows.sort_by(|one, other| by_time(one.0, other.0));
        for (run, verdict) in rows {
            let HistoryEntry { started_utc, ensemble, cells, scenario, folder, .. } = run;
            let [started_utc, scenario, folder] = [started_utc, scenario, folder].map(|text| clean_line(text));
            say(format_args!(
                "{started_utc:<20}  {verdict:<12}  {ensemble:<9}  {cells:>4} cells  {scenario:<18}  {folder}"
            ))?;
        }
    }
    Ok(Exit::Pass)
}

fn by_time(one: &HistoryEntry, other: &HistoryEntry) -> Ordering {
    (&one.started_utc, &one.folder).cmp(&(&other.started_utc, &other.folder))
}

/// Whether the record is what its summary was made of. Its segments are looked for, but not read.
fn fits(record: &Path, summary: &Summary) -> anyhow::Result<()> {
    let reading = RecordReader::begin(record, Damage::Refused)?;
    if reading.manifest != summary.manifest {
        bail!("its summary was made of another manifest than the one that is there");
    }
    if !summary.is_consistent() {
        bail!("the verdict in its summary is not that of the checks there; `hustings report` makes it anew");
    }
    if let Some(file) = reading.missing_segment() {
        bail!("{file}: named by the manifest, but it is not there as it was written");
    }
    // A summary that knows of such changes is no pass.
    if let Some(changed) = reading.changed.first().filter(|_| summary.verdict == Verdict::Pass) {
        bail!("{changed}");
    }
    Ok(())
}

/// The subfolders that contain a manifest.
fn records(folder: &Path) -> anyhow::Result<Vec<PathBuf>> {
    let entries = std::fs::read_dir(folder).map_err(|error| anyhow!("{}: {error}; {ELSEWHERE}", folder.display()))?;
    let mut found = Vec::new();
    for entry in entries {
        let path = entry.with_context(|| folder.display().to_string())?.path();
        if path.join(MANIFEST_FILE).is_file() {
            found.push(path);
        }
    }
    Ok(found)
}
