//! Files that appear whole or not at all.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::Path;

use tempfile::NamedTempFile;

use super::Error;

/// Writes a file so that nobody ever sees half of it: under a temporary name in the same folder,
/// synced to the disk, then renamed. Whatever goes wrong leaves what was there before.
pub fn write_whole(
    path: &Path,
    write: impl FnOnce(&mut dyn Write) -> io::Result<()>,
) -> Result<(), Error> {
    let failed = Error::io("write", path);
    let mut file = temporary(path)?;
    write(&mut file).map_err(&failed)?;
    publish(file, path)
}

/// A buffered temporary file in the folder of `path`; it is removed when dropped.
pub(super) fn temporary(path: &Path) -> Result<BufWriter<NamedTempFile>, Error> {
    let folder = path.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let file = tempfile::Builder::new()
        .prefix(".shortflow-")
        .suffix(".tmp")
        .tempfile_in(folder)
        .map_err(Error::io("write", path))?;
    Ok(BufWriter::with_capacity(1 << 16, file))
}

/// Gives a finished temporary file its name.
pub(super) fn publish(file: BufWriter<NamedTempFile>, path: &Path) -> Result<(), Error> {
    let failed = Error::io("write", path);
    let file = file.into_inner().map_err(|error| failed(error.into_error()))?;
    open_to_all(file.as_file()).map_err(&failed)?;
    file.as_file().sync_all().map_err(&failed)?;
    file.persist(path).map_err(|error| failed(error.error))?;
    Ok(())
}

/// Temporary files are private; results are to be read like any other file.
#[cfg(unix)]
fn open_to_all(file: &File) -> io::Result<()> {
    use std::os::unix::fs::PermissionsExt;
    file.set_permissions(std::fs::Permissions::from_mode(0o644))
}

#[cfg(not(unix))]
fn open_to_all(_: &File) -> io::Result<()> {
    Ok(())
}
