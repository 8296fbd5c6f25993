//! A run's private folder under the temp directory. After a `kill -9`, its notes tell `hustings clean` what was left
//! behind, and by which run: `owner.json` (locked while the owner runs), `children`, and `docker`.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::process::procfs::ProcessId;

/// Name prefix of every run's folder. The run's id follows.
pub const FOLDER_PREFIX: &str = "hustings-";
pub(crate) const OWNER_FILE: &str = "owner.json";
pub(crate) const CHILDREN_FILE: &str = "children";
/// The address of the Docker engine, one line per ensemble of the run there.
pub(crate) const DOCKER_FILE: &str = "docker";

/// Number of retries for removing a folder to which other processes still write, and the pause between them.
const REMOVE_TRIES: u32 = 100;
const REMOVE_AGAIN: Duration = Duration::from_millis(20);

/// The process that created a folder.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FolderOwner {
    pub run: String,
    pub pid: u32,
    /// Start time of that process, in clock ticks since boot.
    pub started: u64,
    /// The executable of that process.
    pub exe: PathBuf,
}

impl FolderOwner {
    /// The value of `HUSTINGS_RUN` in the environments of the run's processes. It names the owner too, because ids are
    /// unique in one temp directory only.
    #[must_use]
    pub fn mark(&self) -> String {
        format!("{}.{}.{}", self.run, self.pid, self.started)
    }
}

#[derive(Debug, thiserror::Error)]
pub enum WorkDirError {
    #[error("the run id {0:?} cannot name a folder: use letters, digits, '.', '-' and '_', not starting with '.'")]
    BadRunId(String),
    #[error(
        "cannot {what} {path}: {source}; give runs another existing folder for temporary files by HUSTINGS_TMP, or free space there"
    )]
    Io { what: &'static str, path: PathBuf, source: io::Error },
}

/// A run's private folder: `<temp>/hustings-<run id>/`. [`remove`](Self::remove) it at the end; `Drop` is the fallback.
#[derive(Debug)]
#[must_use = "dropping it removes the folder"]
pub struct WorkDir {
    path: PathBuf,
    mark: String,
    /// Held locked. The kernel releases the lock when this process ends, for any reason.
    _owner: File,
    children: ChildNotes,
    removed: bool,
}

/// The list of a run's children.
#[derive(Debug)]
pub struct ChildNotes(File);

impl ChildNotes {
    /// As [`WorkDir::note_child`].
    ///
    /// # Errors
    /// When the note cannot be written.
    pub fn add(&self, pid: u32) -> io::Result<()> {
        // One write per line, in append mode: a kill leaves whole lines or a torn last line, which the reader skips.
        ProcessId::of(pid).map_or(Ok(()), |p| (&self.0).write_all(format!("{} {}\n", p.pid, p.started).as_bytes()))
    }
}

/// Folder for the temporary files of runs: `HUSTINGS_TMP`, else the system's temp directory (`TMPDIR`).
#[must_use]
pub fn temp_root() -> PathBuf {
    std::env::var_os("HUSTINGS_TMP").filter(|v| !v.is_empty()).map_or_else(std::env::temp_dir, PathBuf::from)
}

impl WorkDir {
    /// Creates the folder of run `run_id` under [`temp_root`], readable by this user only.
    ///
    /// # Errors
    /// The id is not a valid folder name, or the folder exists or cannot be created.
    pub fn create(run_id: &str) -> Result<Self, WorkDirError> {
        Self::create_in(&temp_root(), run_id)
    }

    /// As [`create`](Self::create), under `root`.
    ///
    /// # Errors
    /// As for [`create`](Self::create).
    pub fn create_in(root: &Path, run_id: &str) -> Result<Self, WorkDirError> {
        let allowed = |c: char| c.is_ascii_alphanumeric() || "._-".contains(c);
        if run_id.is_empty() || run_id.len() > 100 || run_id.starts_with('.') || !run_id.chars().all(allowed) {
            return Err(WorkDirError::BadRunId(run_id.to_owned()));
        }
        // The path is absolute, because cleanup looks for it in the command lines of children.
        let root = root.canonicalize().map_err(at("find the folder", root))?;
        let path = root.join(format!("{FOLDER_PREFIX}{run_id}"));
        DirBuilder::new().mode(0o700).create(&path).map_err(at("make the folder", &path))?;
        Self::sign(&path, run_id).map_err(|source| {
            let _ = fs::remove_dir_all(&path);
            WorkDirError::Io { what: "write the notes in", path, source }
        })
    }

    fn sign(path: &Path, run_id: &str) -> io::Result<Self> {
        let mut owner = OpenOptions::new().write(true).create_new(true).open(path.join(OWNER_FILE))?;
        // Locked before it is written: a reader finds either an empty file, or a locked one.
        owner.lock()?;
        let pid = std::process::id();
        let me = ProcessId::of(pid).ok_or_else(|| io::Error::other("/proc does not show this process"))?;
        let exe = std::env::current_exe()?;
        let own = FolderOwner { run: run_id.to_owned(), pid, started: me.started, exe };
        serde_json::to_writer(&owner, &own)?;
        owner.flush()?;
        let children = OpenOptions::new().append(true).create_new(true).open(path.join(CHILDREN_FILE))?;
        let (path, mark) = (path.to_owned(), own.mark());
        Ok(Self { path, mark, _owner: owner, children: ChildNotes(children), removed: false })
    }

    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Identifies the run in the environments of its processes.
    #[must_use]
    pub fn mark(&self) -> &str {
        &self.mark
    }

    /// Notes a child of this run. Call it right after the start. A child that has already ended needs no note.
    ///
    /// # Errors
    /// When the note cannot be written.
    pub fn note_child(&self, pid: u32) -> io::Result<()> {
        self.children.add(pid)
    }

    /// The list of children, for a component that starts children throughout the run.
    ///
    /// # Errors
    /// Too many files are open.
    pub fn children(&self) -> io::Result<ChildNotes> {
        self.children.0.try_clone().map(ChildNotes)
    }

    /// Keeps the folder for `hustings clean`, which removes what its notes list.
    pub fn leave(mut self) {
        self.removed = true;
    }

    /// Removes the folder with all that is in it.
    ///
    /// # Errors
    /// When something in it cannot be removed.
    pub fn remove(mut self) -> Result<(), WorkDirError> {
        self.removed = true;
        remove_folder(&self.path).map_err(at("remove the folder", &self.path))
    }
}

/// Removes a folder with its contents, also while another thread or a child that was just killed writes one more file.
///
/// # Errors
/// When something in it cannot be removed. A folder that is missing is no error.
pub(crate) fn remove_folder(path: &Path) -> io::Result<()> {
    let mut tries = REMOVE_TRIES;
    loop {
        match fs::remove_dir_all(path) {
            Err(e) if e.kind() == io::ErrorKind::DirectoryNotEmpty && tries > 0 => tries -= 1,
            Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(()),
            done => return done,
        }
        thread::sleep(REMOVE_AGAIN);
    }
}

impl Drop for WorkDir {
    fn drop(&mut self) {
        if !self.removed {
            let _ = fs::remove_dir_all(&self.path);
        }
    }
}

fn at(what: &'static str, path: &Path) -> impl FnOnce(io::Error) -> WorkDirError {
    let path = path.to_owned();
    move |source| WorkDirError::Io { what, path, source }
}

#[cfg(test)]
mod tests {
    use super::{WorkDir, WorkDirError};

    #[test]
    fn the_folder_lives_as_long_as_its_run() {
        let root = tempfile::tempdir().expect("a temp dir");
        let work = WorkDir::create_in(root.path(), "run-1").expect("made");
        let path = work.path().to_owned();
        assert!(path.ends_with("hustings-run-1"));
        work.note_child(std::process::id()).expect("noted");
        assert!(
            std::fs::read_to_string(path.join("children")).expect("notes").starts_with(&std::process::id().to_string())
        );
        assert!(
            matches!(WorkDir::create_in(root.path(), "run-1"), Err(WorkDirError::Io { .. })),
            "two runs, one folder"
        );
        assert!(path.exists(), "the second run took nothing away from the first");
        work.remove().expect("removed");
        assert!(!path.exists());
        drop(WorkDir::create_in(root.path(), "run-2").expect("made"));
        assert!(!root.path().join("hustings-run-2").exists());
    }

    #[test]
    fn a_run_id_cannot_leave_the_temp_dir() {
        let root = tempfile::tempdir().expect("a temp dir");
        for id in ["", "..", "../x", "a/b", ".hidden", "a b", "<script>"] {
            assert!(matches!(WorkDir::create_in(root.path(), id), Err(WorkDirError::BadRunId(_))), "{id:?}");
        }
    }
}
