//! Atomic file writes: a reader sees the old or the new content, even after a crash. Anything that is not a plain file
//! is written to, never replaced.

use std::fs::{self, OpenOptions, Permissions};
use std::io::{self, ErrorKind, Write as _};
use std::path::{Path, PathBuf};

use hustings_record::UNFINISHED_PREFIX;
use tempfile::{Builder, NamedTempFile};

/// Number of links that the kernel follows before it reports a loop.
const LINKS_MAX: usize = 40;

/// Replaces the content of this file. Symbolic links are followed. A device, a pipe or the path of an open descriptor
/// is written to.
///
/// # Errors
/// It cannot be written. The old content remains, unless it is not a plain file.
pub(crate) fn replace(path: &Path, content: &[u8]) -> io::Result<()> {
    match place(path)? {
        OutputPlace::Stream => OpenOptions::new().append(true).open(path)?.write_all(content),
        OutputPlace::File { path, mode } => {
            let file = written_beside(&path, content)?;
            if let Some(mode) = mode {
                file.as_file().set_permissions(mode)?;
            }
            file.as_file().sync_all()?;
            file.persist(&path).map(drop).map_err(|error| error.error)
        }
    }
}

/// As [`replace`], for a plain file of ours, without `fsync`: the content reaches the disk later.
///
/// # Errors
/// It cannot be written. The old content remains.
pub(crate) fn rename_over(path: &Path, content: &[u8]) -> io::Result<()> {
    written_beside(path, content)?.persist(path).map(drop).map_err(|error| error.error)
}

fn written_beside(path: &Path, content: &[u8]) -> io::Result<NamedTempFile> {
    let mut file = beside(path)?;
    // By the file itself: its wrapper's errors name the temporary file, which no user knows.
    file.as_file_mut().write_all(content)?;
    Ok(file)
}

/// Whether the file could be replaced or created. Changes nothing.
///
/// # Errors
/// The reason why not.
pub(crate) fn check(path: &Path) -> io::Result<()> {
    match place(path)? {
        // Opening a pipe waits for a reader, and opening a device can have side effects.
        OutputPlace::Stream => Ok(()),
        OutputPlace::File { path, mode: None } => beside(&path).map(drop),
        OutputPlace::File { path, mode: Some(_) } => {
            OpenOptions::new().append(true).open(&path)?;
            beside(&path).map(drop)
        }
    }
}

/// The kind of target of a path.
enum OutputPlace {
    /// A device, a pipe, or an open file by its descriptor.
    Stream,
    /// A plain file with these permissions, or none yet.
    File { path: PathBuf, mode: Option<Permissions> },
}

fn place(path: &Path) -> io::Result<OutputPlace> {
    if path.as_os_str().is_empty() {
        return Err(io::Error::new(ErrorKind::InvalidInput, "no file is named"));
    }
    let target = match fs::metadata(path) {
        Err(error) if error.kind() == ErrorKind::NotFound => {
            return Ok(OutputPlace::File { path: followed(path)?, mode: None });
        }
        found => found?,
    };
    if target.is_dir() {
        return Err(ErrorKind::IsADirectory.into());
    }
    let real = fs::canonicalize(path);
    // Standard output may be a plain file, to which its opener continues to write.
    let is_open_elsewhere = path.starts_with("/dev") || path.starts_with("/proc");
    match real {
        Ok(path) if target.is_file() && !is_open_elsewhere => {
            Ok(OutputPlace::File { path, mode: Some(target.permissions()) })
        }
        _ => Ok(OutputPlace::Stream),
    }
}

/// The path at which a missing file would be created, after following links.
pub(crate) fn followed(path: &Path) -> io::Result<PathBuf> {
    let mut path = path.to_owned();
    for _ in 0..LINKS_MAX {
        match fs::read_link(&path) {
            Ok(to) => path = folder_of(&path).join(to),
            Err(_) => return Ok(path),
        }
    }
    Err(io::Error::other("links lead round in a circle"))
}

/// A temporary file with a unique name in the same folder, because a rename does not work across file systems.
fn beside(path: &Path) -> io::Result<NamedTempFile> {
    let folder = folder_of(path);
    if !folder.is_dir() {
        return Err(io::Error::new(ErrorKind::NotFound, format!("there is no folder {}", folder.display())));
    }
    // Created here for the same reason, and with the rights of any new file.
    Builder::new()
        .prefix(UNFINISHED_PREFIX)
        .make_in(folder, |path| OpenOptions::new().write(true).create_new(true).open(path))
}

/// The folder that contains it.
pub(crate) fn folder_of(path: &Path) -> &Path {
    path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{PermissionsExt as _, symlink};

    use super::*;

    #[test]
    fn a_file_is_replaced_whole_and_keeps_its_rights() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("out");
        replace(&file, b"one").unwrap();
        let mode = || fs::metadata(&file).unwrap().permissions().mode() & 0o777;
        assert_ne!(mode(), 0o600, "a new one has those of any new file");
        fs::set_permissions(&file, Permissions::from_mode(0o640)).unwrap();
        replace(&file, b"two").unwrap();
        assert_eq!((fs::read(&file).unwrap(), mode()), (b"two".to_vec(), 0o640));
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1, "nothing is left beside it");
    }

    #[test]
    fn what_the_user_has_beside_it_stays_whatever_it_is_called() {
        let folder = tempfile::tempdir().unwrap();
        let (file, own) = (folder.path().join("report.html"), folder.path().join("report.part"));
        fs::write(&own, "mine").unwrap();
        replace(&file, b"page").unwrap();
        assert_eq!((fs::read(own).unwrap(), fs::read(file).unwrap()), (b"mine".to_vec(), b"page".to_vec()));
    }

    #[test]
    fn a_link_leads_to_what_is_replaced_and_stays_a_link() {
        let folder = tempfile::tempdir().unwrap();
        let [there, link, nowhere, round] = ["there", "link", "nowhere", "round"].map(|name| folder.path().join(name));
        fs::write(&there, "old").unwrap();
        symlink("there", &link).unwrap();
        replace(&link, b"new").unwrap();
        assert_eq!((fs::read(&there).unwrap(), fs::read_link(&link).unwrap()), (b"new".to_vec(), "there".into()));
        symlink("made", &nowhere).unwrap();
        replace(&nowhere, b"made").unwrap();
        assert_eq!(fs::read(folder.path().join("made")).unwrap(), b"made");
        symlink("round", &round).unwrap();
        assert!(replace(&round, b"").is_err() && check(&round).is_err());
    }

    #[test]
    fn devices_pipes_and_open_files_are_written_to_and_stay_what_they_are() {
        let folder = tempfile::tempdir().unwrap();
        let pipe = folder.path().join("pipe");
        rustix::fs::mknodat(
            rustix::fs::CWD,
            &pipe,
            rustix::fs::FileType::Fifo,
            rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR,
            0,
        )
        .unwrap();
        let reader = std::thread::spawn({
            let pipe = pipe.clone();
            move || fs::read(pipe).unwrap()
        });
        check(&pipe).unwrap();
        replace(&pipe, b"through").unwrap();
        assert_eq!(reader.join().unwrap(), b"through");
        let open = NamedTempFile::new().unwrap();
        use std::os::fd::AsRawFd as _;
        let by_descriptor = PathBuf::from(format!("/proc/self/fd/{}", open.as_file().as_raw_fd()));
        replace(&by_descriptor, b"one").unwrap();
        replace(&by_descriptor, b"two").unwrap();
        assert_eq!(fs::read(open.path()).unwrap(), b"onetwo", "whoever holds it open sees it grow");
        let full = replace(Path::new("/dev/full"), b"x").unwrap_err();
        assert_eq!(full.kind(), ErrorKind::StorageFull, "{full}");
    }

    #[test]
    fn what_cannot_be_written_is_told_before_and_changes_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let missing = folder.path().join("no/such");
        for path in [folder.path().to_owned(), missing, "/proc/version/x".into(), "/proc/x".into(), "".into()] {
            let told = check(&path).expect_err("it cannot be").to_string();
            assert_eq!(replace(&path, b"").unwrap_err().to_string(), told);
            assert!(!told.contains(".hustings"), "a temporary name: {told}");
        }
        assert!(check(&folder.path().join("new")).is_ok() && !folder.path().join("new").exists());
    }
}
