//! Files and links that are there whole or not at all, whenever the machine stops.

use std::fs::{self, File};
use std::io::{self, Write};
use std::os::unix::fs::symlink;
use std::path::Path;

/// What the name of something unfinished begins with.
pub(crate) const UNFINISHED: &str = ".new-";

/// Writes a file, in a folder that is made if need be, and brings both to the disk.
pub(crate) fn write_file(path: &Path, text: &[u8]) -> io::Result<()> {
    let folder = path.parent().expect("a file is in a folder");
    fs::create_dir_all(folder)?;
    let mut file = File::create(path)?;
    file.write_all(text)?;
    file.sync_all()?;
    sync_folder(folder)
}

/// Puts a file in the place of another, in one step.
pub(crate) fn write_whole(path: &Path, text: &[u8]) -> io::Result<()> {
    let folder = path.parent().expect("a file is in a folder");
    let mut file = tempfile::Builder::new().prefix(UNFINISHED).tempfile_in(folder)?;
    file.write_all(text)?;
    file.as_file().sync_all()?;
    file.persist(path).map_err(|error| error.error)?;
    sync_folder(folder)
}

/// Why something failed, without the name of an unfinished file, which is another each time and which nobody finds.
pub(crate) fn bare(error: io::Error) -> io::Error {
    let text = error.to_string();
    match text.split_once(" at path ") {
        Some((why, path)) if path.contains(UNFINISHED) => {
            io::Error::new(error.kind(), why.to_owned())
        }
        _ => error,
    }
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
    sync_folder(link.parent().expect("a link is in a folder"))
}

/// Brings the names in a folder to the disk.
pub(crate) fn sync_folder(folder: &Path) -> io::Result<()> {
    File::open(folder)?.sync_all()
}
