//! The files of a record: plain ones, inside of its folder, and no larger than somebody said. Anything else that lies there under
//! such a name (a pipe, a device, a link that leads elsewhere) is refused before it is opened.

use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Component, Path};

/// A manifest is longer than this in no record: a million segments take half of it.
const SMALL_BYTES_MAX: u64 = 256 * 1024 * 1024;

/// Opens a plain file at this path below the folder, and gives its length. The folder itself may be a link.
///
/// # Errors
/// Why that is no file of a record, in words, or why it cannot be opened.
pub(crate) fn open_inside(folder: &Path, file: &str) -> io::Result<(File, u64)> {
    let mut path = folder.to_owned();
    for part in Path::new(file).components() {
        let Component::Normal(name) = part else { return Err(refused("its path leaves the record")) };
        path.push(name);
        if fs::symlink_metadata(&path)?.is_symlink() {
            return Err(refused("it is a link, and a record holds none"));
        }
    }
    let known = fs::symlink_metadata(&path)?;
    if !known.is_file() {
        return Err(refused("it is no plain file"));
    }
    Ok((File::open(&path)?, known.len()))
}

/// Reads a small plain file whole.
///
/// # Errors
/// As [`open_inside`], and where it is not small.
pub(crate) fn read_small(folder: &Path, file: &str) -> io::Result<Vec<u8>> {
    let (open, length) = open_inside(folder, file)?;
    if length > SMALL_BYTES_MAX {
        return Err(refused(&format!("it is {length} bytes long, and no such file is")));
    }
    let mut content = Vec::new();
    // It may grow while it is read.
    open.take(SMALL_BYTES_MAX).read_to_end(&mut content)?;
    Ok(content)
}

/// Plain files below this folder of a record, as paths below the record, sorted. Links are named and not followed.
pub(crate) fn files_below(folder: &Path, below: &str) -> io::Result<Vec<String>> {
    let mut found = Vec::new();
    let mut waiting = vec![below.to_owned()];
    while let Some(below) = waiting.pop() {
        for entry in fs::read_dir(folder.join(&below))? {
            let entry = entry?;
            let name = format!("{below}/{}", entry.file_name().to_string_lossy());
            if entry.file_type()?.is_dir() { waiting.push(name) } else { found.push(name) }
        }
    }
    found.sort();
    Ok(found)
}

fn refused(why: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, why)
}
