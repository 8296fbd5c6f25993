//! Files that are written whole: a reader sees the old or the new content, whatever happens meanwhile. What is no plain file is
//! written to, and never replaced.

use std::fs::{self, OpenOptions, Permissions};
use std::io::{self, ErrorKind, Write as _};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use tempfile::{Builder, NamedTempFile};

/// As many links lead on to another file before the kernel says that they go round.
const LINKS_MAX: usize = 40;
/// Rights of new files, less those that the user's mask takes away.
const MODE: u32 = 0o666;

/// Replaces what is in this file. A link leads to the file that is replaced; a device, a pipe or what stands for an open file is
/// written to.
///
/// # Errors
/// It cannot be written: what was there is there still, unless it was no plain file.
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

/// The same of a plain file of ours, and at once: the disk holds it some time later.
///
/// # Errors
/// It cannot be written: what was there is there still.
pub(crate) fn rename_over(path: &Path, content: &[u8]) -> io::Result<()> {
    written_beside(path, content)?.persist(path).map(drop).map_err(|error| error.error)
}

fn written_beside(path: &Path, content: &[u8]) -> io::Result<NamedTempFile> {
    let mut file = beside(path)?;
    file.write_all(content)?;
    Ok(file)
}

/// Whether it could be replaced, or made; changes nothing.
///
/// # Errors
/// Why not.
pub(crate) fn check(path: &Path) -> io::Result<()> {
    match place(path)? {
        // To open a pipe waits for a reader, and to open a device may do more.
        OutputPlace::Stream => Ok(()),
        OutputPlace::File { path, mode: None } => beside(&path).map(drop),
        OutputPlace::File { path, mode: Some(_) } => {
            OpenOptions::new().append(true).open(&path)?;
            beside(&path).map(drop)
        }
    }
}

/// What a path leads to.
enum OutputPlace {
    /// A device, a pipe, or an open file by its descriptor.
    Stream,
    /// A plain file with these rights, or none yet.
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
    // Standard output may be a plain file, which whoever opened it goes on writing to.
    let is_open_elsewhere = path.starts_with("/dev") || path.starts_with("/proc");
    match real {
        Ok(path) if target.is_file() && !is_open_elsewhere => {
            Ok(OutputPlace::File { path, mode: Some(target.permissions()) })
        }
        _ => Ok(OutputPlace::Stream),
    }
}

/// Where a file would be made that is not there: links may lead there.
fn followed(path: &Path) -> io::Result<PathBuf> {
    let mut path = path.to_owned();
    for _ in 0..LINKS_MAX {
        match fs::read_link(&path) {
            Ok(to) => path = folder_of(&path).join(to),
            Err(_) => return Ok(path),
        }
    }
    Err(io::Error::other("links lead round in a circle"))
}

/// A file of a name that nobody else has, in the same folder: what is renamed has to be there.
fn beside(path: &Path) -> io::Result<NamedTempFile> {
    let folder = folder_of(path);
    if !folder.is_dir() {
        return Err(io::Error::new(ErrorKind::NotFound, format!("there is no folder {}", folder.display())));
    }
    Builder::new().prefix(".hustings-").permissions(Permissions::from_mode(MODE)).tempfile_in(folder)
}

/// The folder that it is in.
pub(crate) fn folder_of(path: &Path) -> &Path {
    path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

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
        for path in [folder.path().to_owned(), folder.path().join("no/such"), "/proc/version/x".into(), "".into()] {
            let told = check(&path).expect_err("it cannot be").to_string();
            assert_eq!(replace(&path, b"").unwrap_err().to_string(), told);
        }
        assert!(check(&folder.path().join("new")).is_ok() && !folder.path().join("new").exists());
    }
}
