//! Files and links that are replaced atomically, also if the machine stops.

use std::fs;
use std::io;
use std::os::unix::fs::symlink;
use std::path::Path;

use shortflow_files::{Dir, write};

/// What the name of something unfinished began with in earlier versions.
const UNFINISHED: &str = ".new-";
/// Files of the state are for the agent's user alone.
pub(crate) const PRIVATE: u32 = 0o600;

/// Writes a file beneath an open folder, in folders that are made if need be, and brings all of it to the disk.
pub(crate) fn write_beneath(dir: &Dir, inner: &Path, mode: u32, text: &[u8]) -> io::Result<()> {
    // Folders are open to whom their files are.
    let folders = mode | (mode & 0o444) >> 2;
    let folder = dir.make_dir(inner.parent().unwrap_or(Path::new("")), folders)?;
    write(&folder, inner.file_name().unwrap_or_default(), mode, text)?;
    folder.sync()
}

/// Replaces a file of the state atomically.
pub(crate) fn write_atomically(path: &Path, text: &[u8]) -> io::Result<()> {
    let (folder, name) = Dir::around(path)?;
    write(&folder, &name, PRIVATE, text)?;
    folder.sync()
}

/// Whether something that is not finished has a name of this kind.
pub(crate) fn is_unfinished(name: &str) -> bool {
    name.starts_with(UNFINISHED) || shortflow_files::is_temporary(name)
}

/// Lets `link` lead to `to`, in one step.
pub(crate) fn replace_link(link: &Path, to: &Path) -> io::Result<()> {
    let next = link.with_extension("next");
    match fs::remove_file(&next) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    symlink(to, &next)?;
    fs::rename(&next, link)?;
    sync_folder(link.parent().expect("a link must be in a folder"))
}

/// Brings the names in a folder to the disk.
pub(crate) fn sync_folder(folder: &Path) -> io::Result<()> {
    Dir::open(folder)?.sync()
}
