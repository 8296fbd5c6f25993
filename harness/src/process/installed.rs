//! Programs of this machine.

use std::path::PathBuf;

use rustix::fs::{Access, access};

/// Finds a program in the same way as a shell: by its path, or by a name in `PATH`.
pub(crate) fn program(name: &str) -> Option<PathBuf> {
    let can_start = |path: &PathBuf| path.is_file() && access(path, Access::EXEC_OK).is_ok();
    if name.contains('/') {
        return Some(PathBuf::from(name)).filter(can_start);
    }
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path).map(|folder| folder.join(name)).find(can_start)
}
