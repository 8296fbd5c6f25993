//! Leftovers of killed runs: folders whose owner has ended, child processes that still run, and resources at a Docker
//! engine. Anything that cannot be verified as such is not touched.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

use crate::ensemble::docker::residue::{self, Residue};
use crate::files::workdir::{CHILDREN_FILE, DOCKER_FILE, FOLDER_PREFIX, FolderOwner, OWNER_FILE};
use crate::process::procfs::{ProcessId, RUN_VARIABLE, SWEEPS_MAX};

/// Notes and owner files are short. A longer file was not written by a run.
const NOTES_BYTES_MAX: u64 = 4 << 20;
/// Time for a killed child to end.
const GONE_WITHIN: Duration = Duration::from_secs(5);

/// All run folders under a temp directory, classified by whether the owner still runs.
#[derive(Debug, Default)]
pub struct Survey {
    pub dead: Vec<Leftover>,
    /// Folders of running runs, and their owners.
    pub alive: Vec<(PathBuf, FolderOwner)>,
    /// Folders that look like a run's but cannot be classified, and why.
    pub unrecognised: Vec<(PathBuf, String)>,
}

/// A folder whose owner has ended. This value holds the folder's lock, so that only one cleaner works on it.
#[derive(Debug)]
pub struct Leftover {
    pub path: PathBuf,
    pub owner: FolderOwner,
    /// Child processes of that run that still run and are verifiably its own.
    pub children: Vec<ProcessId>,
    /// The address of the Docker engine that the run used, if it used one.
    pub engine: Option<String>,
    _lock: File,
}

/// Looks at every run folder directly under `root`; there are none in a folder that does not exist.
///
/// # Errors
/// When `root` cannot be listed.
pub fn survey(root: &Path) -> io::Result<Survey> {
    let mut found = Survey::default();
    let root = root.canonicalize()?;
    let mut paths: Vec<PathBuf> = fs::read_dir(&root)?.filter_map(|entry| Some(entry.ok()?.path())).collect();
    paths.sort();
    for path in paths {
        let name = path.file_name().and_then(|n| n.to_str()).unwrap_or_default();
        let Some(run) = name.strip_prefix(FOLDER_PREFIX) else { continue };
        match judge(&path, run) {
            Ok(RunFolderState::Dead(leftover)) => found.dead.push(leftover),
            Ok(RunFolderState::Alive(owner)) => found.alive.push((path, owner)),
            Err(why) => found.unrecognised.push((path, why)),
        }
    }
    Ok(found)
}

enum RunFolderState {
    Dead(Leftover),
    Alive(FolderOwner),
}

/// Err is the reason why the folder cannot be classified.
fn judge(path: &Path, run: &str) -> Result<RunFolderState, String> {
    let meta = fs::symlink_metadata(path).map_err(|e| e.to_string())?;
    if !meta.is_dir() {
        return Err("not a folder".to_owned());
    }
    // In a temp directory that all users share, another user's notes could name processes of ours.
    if meta.uid() != rustix::process::geteuid().as_raw() {
        return Err("it belongs to another user".to_owned());
    }
    let text = read_notes(&path.join(OWNER_FILE)).map_err(|e| format!("its {OWNER_FILE} cannot be read: {e}"))?;
    let owner: FolderOwner =
        serde_json::from_str(&text).map_err(|e| format!("its {OWNER_FILE} is not a run's: {e}"))?;
    if owner.run != run {
        return Err(format!("its {OWNER_FILE} names another run, {:?}", owner.run));
    }
    let lock = OpenOptions::new().read(true).write(true).open(path.join(OWNER_FILE)).map_err(|e| e.to_string())?;
    // The lock also detects an owner in another container, whose pid is meaningless here.
    match lock.try_lock() {
        Ok(()) => {}
        Err(TryLockError::WouldBlock) => return Ok(RunFolderState::Alive(owner)),
        Err(TryLockError::Error(e)) => return Err(format!("its {OWNER_FILE} cannot be locked: {e}")),
    }
    if (ProcessId { pid: owner.pid, started: owner.started }).is_alive() {
        return Ok(RunFolderState::Alive(owner));
    }
    let notes = |name: &str| match read_notes(&path.join(name)) {
        Err(e) if e.kind() == io::ErrorKind::NotFound => Ok(String::new()),
        notes => notes.map_err(|e| format!("its {name} cannot be read: {e}")),
    };
    let engine = notes(DOCKER_FILE)?.lines().next().map(ToOwned::to_owned);
    let notes = notes(CHILDREN_FILE)?;
    let noted =
        notes.lines().filter_map(parse_child).filter(|c| c.is_alive() && is_of(path, &owner, &c.command_line()));
    let mut children: Vec<ProcessId> = noted.collect();
    let unnoted: Vec<ProcessId> = marked(&owner).into_iter().filter(|child| !children.contains(child)).collect();
    children.extend(unnoted);
    Ok(RunFolderState::Dead(Leftover { children, engine, path: path.to_owned(), owner, _lock: lock }))
}

impl Leftover {
    /// Resources of the run at its Docker engine. None if it used no engine.
    ///
    /// # Errors
    /// The engine cannot be queried.
    pub fn residue(&self) -> io::Result<Option<Residue>> {
        let found = self.engine.as_ref().map(|engine| residue::of_run(engine, &self.owner.run, &self.path));
        found.transpose().map_err(io::Error::other)
    }

    /// Kills the run's remaining children, removes its resources at its Docker engine, then its folder. Returns the
    /// number of killed children and the removed resources.
    ///
    /// # Errors
    /// A child cannot be killed or does not end in time, the engine cannot be queried, or something cannot be removed.
    /// The folder then remains, so that the call can be retried.
    pub fn remove(self) -> io::Result<(usize, Option<Residue>)> {
        let (mut killed, mut children) = (0, self.children.clone());
        for _ in 0..SWEEPS_MAX {
            killed += self.kill(&children)?;
            // A killed process may have started another one in the meantime.
            children = marked(&self.owner);
            if children.is_empty() {
                break;
            }
        }
        if let Some(child) = children.first() {
            return Err(io::Error::other(format!("process {} was started while others were killed", child.pid)));
        }
        let removed = self.engine.as_ref().map(|engine| residue::remove_run(engine, &self.owner.run, &self.path));
        let removed = removed.transpose().map_err(io::Error::other)?;
        fs::remove_dir_all(&self.path)?;
        Ok((killed, removed))
    }

    /// Kills these children and waits until they have ended. Returns the number of those that it killed.
    fn kill(&self, children: &[ProcessId]) -> io::Result<usize> {
        let (mark, mut killed) = (self.owner.mark(), 0);
        for child in children {
            let ours = |line: &str| is_of(&self.path, &self.owner, line) || child.has_variable(RUN_VARIABLE, &mark);
            killed += usize::from(child.kill_if(ours)?);
        }
        let step = Duration::from_millis(10);
        for _ in 0..GONE_WITHIN.as_millis() / step.as_millis() {
            if !children.iter().any(|c| c.is_alive()) {
                break;
            }
            thread::sleep(step);
        }
        match children.iter().find(|c| c.is_alive()) {
            Some(child) => Err(io::Error::other(format!("process {} was killed and does not go", child.pid))),
            None => Ok(killed),
        }
    }
}

/// The live processes of this user, other than this process, whose environments name the run.
fn marked(owner: &FolderOwner) -> Vec<ProcessId> {
    let user = rustix::process::geteuid().as_raw();
    let is_of_user = |pid: u32| fs::metadata(format!("/proc/{pid}")).is_ok_and(|meta| meta.uid() == user);
    let mut found = ProcessId::all_with_variable(RUN_VARIABLE, &owner.mark());
    found.retain(|process| process.pid != std::process::id() && is_of_user(process.pid));
    found
}

/// Whether this run started the process with this command line: it names the run's folder or our executable.
fn is_of(folder: &Path, owner: &FolderOwner, command_line: &str) -> bool {
    let names = |p: &Path| p.to_str().is_some_and(|p| !p.is_empty() && command_line.contains(p));
    names(folder) || names(&owner.exe)
}

fn parse_child(line: &str) -> Option<ProcessId> {
    let (pid, started) = line.split_once(' ')?;
    Some(ProcessId { pid: pid.parse().ok()?, started: started.parse().ok()? })
}

fn read_notes(path: &Path) -> io::Result<String> {
    let meta = fs::symlink_metadata(path)?;
    if !meta.is_file() || meta.len() > NOTES_BYTES_MAX {
        return Err(io::Error::other("not a file that a run writes"));
    }
    fs::read_to_string(path)
}
