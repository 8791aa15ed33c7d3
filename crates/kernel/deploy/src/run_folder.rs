//! The folder for files that last until the machine stops: `/run/shortflow` for root, or that of a user's session.

use std::io::{self, ErrorKind};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use nix::unistd::geteuid;
use shortflow_files::{Dir, Kind};

use crate::error::Error;
use crate::namespace::namespace_id;

/// That of root and of services.
const FOLDER: &str = "/run/shortflow";

/// The folders that may be it, the one for all first.
pub(crate) fn folders() -> Vec<PathBuf> {
    let own = std::env::var_os("XDG_RUNTIME_DIR").map(|own| Path::new(&own).join("shortflow"));
    std::iter::once(PathBuf::from(FOLDER)).chain(own).collect()
}

/// The first of these folders that is this user's, made where it can be.
pub(crate) fn own_folder(folders: &[PathBuf]) -> Result<Dir, Error> {
    let mut refused = Vec::new();
    for path in folders {
        match open_own(path) {
            Ok(folder) => return Ok(folder),
            Err(error) => refused.push((path.as_path(), error)),
        }
    }
    // A user who may not write there may not change devices either.
    Err(if geteuid().is_root() { refusal(refused) } else { Error::NotAllowed })
}

/// Why none of these folders can be used, and what root has to type.
pub(crate) fn refusal(refused: Vec<(&Path, io::Error)>) -> Error {
    let obstructed = refused.iter().find_map(|(path, _)| {
        let kind = Kind::from(path.symlink_metadata().ok()?.file_type());
        (kind != Kind::Folder).then(|| (path.display().to_string(), kind))
    });
    if let Some((folder, kind)) = obstructed {
        return Error::NoLockFolder { folder, kind };
    }
    let first = refused.first().map_or(FOLDER.into(), |(path, _)| path.display().to_string());
    let is_denied = |error: &io::Error| {
        matches!(error.kind(), ErrorKind::PermissionDenied | ErrorKind::ReadOnlyFilesystem)
    };
    match refused.into_iter().find(|(_, error)| !is_denied(error)) {
        Some((_, source)) => Error::Machine { what: "cannot create a folder for locks", source },
        None => Error::NoLocks { folder: first },
    }
}

pub(crate) fn open_own(path: &Path) -> io::Result<Dir> {
    let (around, name) = Dir::around(path)?;
    let folder = around.make_dir(&name, 0o755)?;
    let found = folder.own_metadata()?;
    match found.uid() == geteuid().as_raw() && found.mode() & 0o022 == 0 {
        true => Ok(folder),
        false => Err(ErrorKind::PermissionDenied.into()),
    }
}

/// The name of a device's file, which ends in `kind`: a device of this name in another network namespace is another one.
pub(crate) fn file_name(device: &str, kind: &str) -> io::Result<String> {
    Ok(format!("{}-{device}.{kind}", namespace_id()?))
}
