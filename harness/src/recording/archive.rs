//! The record's folder while a run writes to it: the manifest, always complete, and the segments that it lists.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use anyhow::Context as _;
use hustings_record::{
    CellEntry, MANIFEST_FILE, Manifest, SEGMENT_ENDING, SealedSegment, SegmentEntry, Warning, seal_segment, sum_of,
};
use rustix::fs::Access;

use crate::files::bounded;
use crate::files::in_record::refuse_in_record;
use crate::files::replace::rename_over;
use crate::files::write_error::WriteError;
use crate::process::lock::lock;

const SCENARIO_FILE: &str = "scenario.toml";
/// The scenario that the first one is compared with.
const AGAINST_FILE: &str = "against.toml";
/// Separates the original scenario from the resolved one, which follows as comments.
const RESOLVED: &str = "# ---- resolved, with --set and --seed";

/// Adds a writer's segment to the current cell and returns its path.
pub type AddSegment<'a> = &'a mut dyn FnMut(&str) -> anyhow::Result<PathBuf>;

/// A scenario as it was given, and with all changes.
pub struct ScenarioTexts {
    pub verbatim: String,
    pub resolved: String,
}

/// A record being written.
pub struct Archive {
    folder: PathBuf,
    manifest: Manifest,
    saver: Arc<Saver>,
    /// Number of the newest manifest.
    number: u64,
}

/// Writes manifests. It skips one that is older than the last one written.
struct Saver {
    path: PathBuf,
    /// Number of the newest manifest written.
    written: Mutex<u64>,
}

/// A manifest that is not yet written. On a busy disk this may take seconds, so measuring threads delegate it.
#[must_use]
pub struct UnsavedManifest {
    saver: Arc<Saver>,
    number: u64,
    text: Vec<u8>,
}

impl UnsavedManifest {
    /// # Errors
    /// It cannot be written. The previous one remains.
    pub fn save(self) -> anyhow::Result<()> {
        let mut written = lock(&self.saver.written);
        if *written < self.number {
            rename_over(&self.saver.path, &self.text).map_err(WriteError::record(&self.saver.path))?;
            *written = self.number;
        }
        Ok(())
    }
}

impl Archive {
    /// Whether a record can be started in this folder. Checked before anything starts. Changes nothing.
    ///
    /// # Errors
    /// The folder contains a record or other files, lies in a record, is not a folder, or cannot be created or written to.
    pub fn check(folder: &Path) -> anyhow::Result<()> {
        let remedy = "choose another --out";
        if folder.join(MANIFEST_FILE).exists() {
            anyhow::bail!("{} holds a record already; {remedy}", folder.display());
        }
        refuse_in_record("--out", folder)?;
        // A relative path without a parent is in the current directory.
        let there = folder.ancestors().map(|path| if path.as_os_str().is_empty() { Path::new(".") } else { path });
        let Some(there) = there.into_iter().find(|path| path.symlink_metadata().is_ok()) else { return Ok(()) };
        // Existing files would be taken for part of the record.
        if there == folder && there.is_dir() && std::fs::read_dir(there).is_ok_and(|mut inside| inside.next().is_some())
        {
            anyhow::bail!("{} is not empty; {remedy}", folder.display());
        }
        if !there.is_dir() {
            anyhow::bail!(
                "{} is not a folder, so that no record can be kept in {}; {remedy}",
                there.display(),
                folder.display()
            );
        }
        rustix::fs::access(there, Access::WRITE_OK | Access::EXEC_OK)
            .with_context(|| format!("nothing can be written to {}; {remedy}", there.display()))
    }

    /// Writes the first manifest and the scenario, with the one that it is compared with, into this folder. It must
    /// exist, and contain no record.
    ///
    /// # Errors
    /// As for [`Self::check`], or something cannot be written. Then nothing of the record is left.
    pub fn create(
        folder: &Path,
        manifest: Manifest,
        scenario: &ScenarioTexts,
        against: Option<&ScenarioTexts>,
    ) -> anyhow::Result<Self> {
        Self::check(folder)?;
        let events = folder.join("events");
        // `create_dir` does not recreate a record's folder that was removed in the meantime.
        std::fs::create_dir(&events).map_err(WriteError::record(&events))?;
        let saver = Arc::new(Saver { path: folder.join(MANIFEST_FILE), written: Mutex::new(0) });
        let mut archive = Self { folder: folder.to_owned(), manifest, saver, number: 0 };
        let kept = archive.keep_scenario(SCENARIO_FILE, scenario);
        let kept = kept.and_then(|()| against.map_or(Ok(()), |against| archive.keep_scenario(AGAINST_FILE, against)));
        kept.inspect_err(|_| archive.discard())?;
        Ok(archive)
    }

    /// Stores a scenario as part of the record.
    fn keep_scenario(&mut self, name: &str, scenario: &ScenarioTexts) -> anyhow::Result<()> {
        let ScenarioTexts { verbatim, resolved } = scenario;
        let scenario = format!("{verbatim}\n{RESOLVED}\n{}", commented(resolved));
        let path = self.folder.join(name);
        std::fs::write(&path, &scenario).map_err(WriteError::record(&path))?;
        self.update(|manifest| _ = manifest.files.insert(name.to_owned(), sum_of(scenario.as_bytes())))
    }

    /// Removes all files of the record. The folder stays.
    pub fn discard(&self) {
        let _ = std::fs::remove_dir_all(self.folder.join("events"));
        for name in [SCENARIO_FILE, AGAINST_FILE, MANIFEST_FILE] {
            let _ = std::fs::remove_file(self.folder.join(name));
        }
    }

    #[must_use]
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Whether the record contains this warning.
    #[must_use]
    pub fn warns(&self, warning: &Warning) -> bool {
        self.manifest.warnings.contains(warning)
    }

    /// Changes the manifest and rewrites it.
    pub fn update(&mut self, change: impl FnOnce(&mut Manifest)) -> anyhow::Result<()> {
        change(&mut self.manifest);
        self.unsaved()?.save()
    }

    fn unsaved(&mut self) -> anyhow::Result<UnsavedManifest> {
        self.number += 1;
        let text = self.manifest.to_sealed_json()?;
        Ok(UnsavedManifest { saver: self.saver.clone(), number: self.number, text })
    }

    /// Begins a cell: its folder, and its entry in the manifest.
    pub fn begin_cell(&mut self, index: u32, name: &str) -> anyhow::Result<()> {
        let folder = self.folder.join("events").join(name);
        std::fs::create_dir(&folder).map_err(WriteError::record(&folder))?;
        let entry = CellEntry { index, name: name.to_owned(), complete: false, segments: Vec::new() };
        self.update(|manifest| manifest.cells.push(entry))
    }

    /// Lists a segment of the current cell in the manifest, before its writer starts it, and returns its path.
    pub fn add_segment(&mut self, writer: &str) -> anyhow::Result<PathBuf> {
        let (path, unsaved) = self.name_segment(writer)?;
        unsaved.save()?;
        Ok(path)
    }

    /// As [`Self::add_segment`], but the caller must save the manifest before the writer starts the segment.
    pub fn name_segment(&mut self, writer: &str) -> anyhow::Result<(PathBuf, UnsavedManifest)> {
        let cell = self.manifest.cells.last_mut().context("no cell is under way")?;
        let file = format!("{}/{writer}.{SEGMENT_ENDING}", cell.name);
        let path = self.folder.join("events").join(&file);
        cell.segments.push(SegmentEntry { file, sealed: None, plain: None });
        Ok((path, self.unsaved()?))
    }

    /// Seals all segments of the current cell, and notes whether it ended in order.
    pub fn end_cell(&mut self, complete: bool) -> anyhow::Result<()> {
        let events = self.folder.join("events");
        let mut manifest = self.manifest.clone();
        let cell = manifest.cells.last_mut().context("no cell is under way")?;
        let mut plain = Vec::new();
        for segment in &mut cell.segments {
            let path = events.join(&segment.file);
            if !path.exists() {
                continue;
            }
            let SealedSegment { path: sealed, bytes, crc, plain: held } =
                seal_segment(&path).map_err(WriteError::record(&path))?;
            let name = sealed.strip_prefix(&events).context("a segment outside of its record")?;
            segment.file = name.to_string_lossy().into_owned();
            (segment.sealed, segment.plain) = (Some((bytes, crc)), Some(held));
            plain.push(path);
        }
        cell.complete = complete;
        // With this order, a kill at any time leaves a manifest whose segments all exist.
        let before = std::mem::replace(&mut self.manifest, manifest);
        if let Err(error) = self.unsaved().and_then(UnsavedManifest::save) {
            self.manifest = before;
            return Err(error);
        }
        for path in plain {
            std::fs::remove_file(&path).map_err(WriteError::record(&path))?;
        }
        Ok(())
    }

    /// Syncs everything written to disk, so that it survives a crash of the machine. Call it only at the end: it may
    /// take a second and blocks.
    pub fn settle(&self) -> anyhow::Result<()> {
        let segments = self.manifest.cells.iter().flat_map(|cell| &cell.segments);
        let segments = segments.map(|segment| self.folder.join("events").join(&segment.file));
        for path in segments.filter(|path| path.exists()).chain([self.folder.join(MANIFEST_FILE)]) {
            let synced = File::open(&path).and_then(|file| file.sync_all());
            synced.map_err(WriteError::record(&path))?;
        }
        Ok(())
    }
}

/// The resolved scenario of the record in this folder, as TOML.
///
/// # Errors
/// It cannot be read, or does not contain a resolved scenario.
pub fn resolved_scenario(folder: &Path) -> anyhow::Result<String> {
    let path = folder.join(SCENARIO_FILE);
    let text = bounded::text(&path, bounded::SMALL).with_context(|| path.display().to_string())?;
    let resolved =
        text.split_once(RESOLVED).with_context(|| format!("{}: no resolved scenario in it", path.display()))?;
    let lines = resolved.1.lines().map(|line| line.strip_prefix("# ").unwrap_or(line));
    Ok(lines.collect::<Vec<_>>().join("\n"))
}

fn commented(text: &str) -> String {
    text.lines().map(|line| format!("# {line}\n")).collect()
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn a_manifest_that_a_newer_one_has_overtaken_is_not_written_over_it() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(MANIFEST_FILE);
        let saver = Arc::new(Saver { path: path.clone(), written: Mutex::new(0) });
        let manifest =
            |number: u64| UnsavedManifest { saver: saver.clone(), number, text: number.to_string().into_bytes() };
        let (first, second, third) = (manifest(1), manifest(2), manifest(3));
        second.save().unwrap();
        first.save().unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "2");
        third.save().unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "3");
    }
}
