//! The folder for a new record.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::Context as _;

use super::archive::Archive;
use crate::files::in_record::refuse_in_record;
use crate::files::workdir::remove_folder;
use crate::process::utc;

/// Default parent folder of records.
const RUNS: &str = "runs";

/// An existing empty folder. Dropping it removes the folders that it created, unless they contain files by then.
#[derive(Debug)]
pub struct RecordFolder {
    path: PathBuf,
    /// The folders that it created, the innermost first.
    made: Vec<PathBuf>,
}

impl RecordFolder {
    /// The requested folder, or a new one named by time and scenario. Names in the same second differ.
    ///
    /// # Errors
    /// As for [`Archive::check`], or the folder cannot be created.
    pub fn new(asked: Option<&Path>, scenario: &str) -> anyhow::Result<Self> {
        let Some(path) = asked else { return Self::by_default(scenario) };
        Archive::check(path)?;
        let mut folder = Self { path: path.to_owned(), made: Vec::new() };
        folder.make(path, "choose another --out")?;
        // By a name like `new/..` it is one that was there, and may hold something.
        Archive::check(path)?;
        Ok(folder)
    }

    fn by_default(scenario: &str) -> anyhow::Result<Self> {
        let safe = |c: char| if c.is_alphanumeric() || "._-".contains(c) { c } else { '-' };
        let name: String = scenario.chars().map(safe).take(80).collect();
        let name = format!("{}-{name}", utc::compact(&utc::now()));
        refuse_in_record("--out", &Path::new(RUNS).join(&name))?;
        let mut folder = Self { path: PathBuf::new(), made: Vec::new() };
        let remedy = "choose one with --out";
        folder.make(Path::new(RUNS), remedy)?;
        let mut count = 1;
        loop {
            let path = Path::new(RUNS).join(if count == 1 { name.clone() } else { format!("{name}-{count}") });
            match fs::create_dir(&path) {
                Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => count += 1,
                made => {
                    made.with_context(|| failed(&path, remedy))?;
                    folder.made.insert(0, path.clone());
                    folder.path = path;
                    return Ok(folder);
                }
            }
        }
    }

    fn make(&mut self, path: &Path, remedy: &str) -> anyhow::Result<()> {
        let is_missing = |path: &&Path| !path.as_os_str().is_empty() && path.symlink_metadata().is_err();
        self.made = path.ancestors().filter(is_missing).map(Path::to_owned).collect();
        fs::create_dir_all(path).with_context(|| failed(path, remedy))
    }

    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// A function that removes the folder with its contents, or only the contents if the folder existed before.
    pub fn removal(&self) -> impl FnOnce() + Send + use<> {
        let (path, made) = (self.path.clone(), self.made.clone());
        move || {
            let _ = remove_folder(&path);
            if !made.contains(&path) {
                let _ = fs::create_dir(&path);
            }
            remove_empty(&made);
        }
    }
}

impl Drop for RecordFolder {
    fn drop(&mut self) {
        remove_empty(&self.made);
    }
}

/// Removes only empty folders.
fn remove_empty(folders: &[PathBuf]) {
    for folder in folders {
        let _ = fs::remove_dir(folder);
    }
}

fn failed(path: &Path, remedy: &str) -> String {
    format!("no folder for the record can be made at {}; {remedy}", path.display())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_made_goes_again_while_nothing_lies_in_it() {
        let root = tempfile::tempdir().unwrap();
        let (there, deep) = (root.path().join("there"), root.path().join("there/new/deep"));
        fs::create_dir(&there).unwrap();
        drop(RecordFolder::new(Some(&deep), "quick").unwrap());
        assert!(there.exists() && !there.join("new").exists());
        drop(RecordFolder::new(Some(&there), "quick").unwrap());
        assert!(there.exists(), "it was there before");
        let folder = RecordFolder::new(Some(&deep), "quick").unwrap();
        fs::write(folder.path().join("manifest.json"), "{}").unwrap();
        drop(folder);
        assert!(deep.join("manifest.json").exists());
    }

    #[test]
    fn a_name_that_leads_back_out_of_a_new_folder_is_looked_at_where_it_leads() {
        let root = tempfile::tempdir().unwrap();
        fs::write(root.path().join("mine"), "").unwrap();
        let why = RecordFolder::new(Some(&root.path().join("new/..")), "quick").unwrap_err().to_string();
        assert!(why.contains("is not empty"), "{why}");
        assert!(!root.path().join("new").exists());
    }

    #[test]
    fn an_interrupted_record_goes_with_what_lies_in_it() {
        let root = tempfile::tempdir().unwrap();
        let (there, new) = (root.path().join("there"), root.path().join("new/deep"));
        fs::create_dir(&there).unwrap();
        for path in [&there, &new] {
            let folder = RecordFolder::new(Some(path), "quick").unwrap();
            fs::write(path.join("half"), "").unwrap();
            (folder.removal())();
        }
        assert!(there.exists() && !there.join("half").exists() && !root.path().join("new").exists());
    }
}
