//! The files of a record: plain files inside its folder, with a limit on their size. Anything else under such a name (a
//! pipe, a device, a link that leads elsewhere) is refused before it is opened.

use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Component, Path};

/// Limit for files that are read whole. A manifest of a million segments takes half of it.
const SMALL_BYTES_MAX: u64 = 256 * 1024 * 1024;

/// Opens a plain file at this path below the folder, and returns its length. The folder itself may be a link.
///
/// # Errors
/// The path is not a plain file inside the record, or the file cannot be opened.
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
/// As [`open_inside`], or the file is too large.
pub(crate) fn read_small(folder: &Path, file: &str) -> io::Result<Vec<u8>> {
    let (open, length) = open_inside(folder, file)?;
    if length > SMALL_BYTES_MAX {
        return Err(refused(&format!("it is {length} bytes long, and no such file is")));
    }
    let mut content = Vec::new();
    // The file may grow while it is read.
    open.take(SMALL_BYTES_MAX).read_to_end(&mut content)?;
    Ok(content)
}

/// Files below this folder of a record, sorted, as paths below the record. Links are listed but not followed.
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

/// As [`files_below`], beside this folder of the record. A folder that cannot be listed stands for the files in it.
pub(crate) fn files_beside(folder: &Path, but: &str) -> io::Result<Vec<String>> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let name = entry.file_name().to_string_lossy().into_owned();
        if !entry.file_type()?.is_dir() {
            found.push(name);
        } else if name != but {
            found.extend(files_below(folder, &name).unwrap_or_else(|_| vec![name]));
        }
    }
    found.sort();
    Ok(found)
}

fn refused(why: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, why)
}
