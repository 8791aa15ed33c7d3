//! Files that appear whole or not at all.

use std::collections::hash_map::RandomState;
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::hash::{BuildHasher, Hasher};
use std::io::{self, BufWriter, Write};
use std::os::fd::AsFd;
use std::path::Path;

use nix::errno::Errno;
use nix::fcntl::OFlag;
use nix::sys::stat::{Mode, fchmod};

use crate::beneath;
use crate::dir::Dir;

/// A file that is written, with a buffer, under a temporary name in the same folder, and gets its name when it is
/// finished. Without that it is removed when dropped.
///
/// What stands at the name before is replaced: a link itself, and not what is behind it. Permissions are set on the open
/// file before it has its name, so that they never become those of another file.
#[derive(Debug)]
pub struct AtomicFile {
    folder: Dir,
    temporary: String,
    name: OsString,
    mode: u32,
    file: Option<BufWriter<File>>,
}

impl AtomicFile {
    /// A file that will be `path`, which a user names, with these permissions.
    ///
    /// # Errors
    /// When its folder is not there, or cannot be written.
    pub fn create(path: &Path, mode: u32) -> io::Result<AtomicFile> {
        let (folder, name) = Dir::around(path)?;
        AtomicFile::create_in(folder, &name, mode)
    }

    /// A file that will be `name` in `folder`, with these permissions.
    ///
    /// # Errors
    /// When the folder cannot be written.
    pub fn create_in(folder: Dir, name: &OsStr, mode: u32) -> io::Result<AtomicFile> {
        if Path::new(name).file_name() != Some(name) {
            return Err(io::ErrorKind::InvalidInput.into());
        }
        let flags = OFlag::O_WRONLY | OFlag::O_CREAT | OFlag::O_EXCL;
        let private = Mode::S_IRUSR | Mode::S_IWUSR;
        let (temporary, file) = loop {
            let temporary = unused_name(name);
            match beneath::open(folder.as_fd(), Path::new(&temporary), flags, private) {
                Ok(fd) => break (temporary, File::from(fd)),
                Err(error) if error.raw_os_error() == Some(Errno::EEXIST as i32) => {}
                Err(error) => return Err(error),
            }
        };
        // Where the system has no locks, what a killed process leaves behind stays.
        let _ = file.try_lock();
        let file = Some(BufWriter::with_capacity(1 << 16, file));
        Ok(AtomicFile { folder, temporary, name: name.to_owned(), mode, file })
    }

    /// Brings the file to the disk and gives it its name.
    ///
    /// # Errors
    /// When the system refuses; then what was there before is untouched.
    pub fn finish(mut self) -> io::Result<Dir> {
        let buffer = self.file.take().expect("it is taken once");
        let named = buffer.into_inner().map_err(io::IntoInnerError::into_error).and_then(|file| {
            fchmod(file.as_fd(), Mode::from_bits_truncate(self.mode))?;
            file.sync_all()?;
            self.folder.rename(OsStr::new(&self.temporary), &self.folder, &self.name)
        });
        if named.is_err() {
            let _ = self.folder.remove_file(&self.temporary);
        }
        named.and_then(|()| self.folder.try_clone())
    }
}

impl Drop for AtomicFile {
    fn drop(&mut self) {
        if self.file.take().is_some() {
            // What is left over is removed by the next who writes the file.
            let _ = self.folder.remove_file(&self.temporary);
        }
    }
}

impl Write for AtomicFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.buffer().write(bytes)
    }

    fn write_all(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.buffer().write_all(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.buffer().flush()
    }
}

impl AtomicFile {
    fn buffer(&mut self) -> &mut BufWriter<File> {
        self.file.as_mut().expect("it is not finished")
    }
}

/// Writes `bytes` as the file `name` in `folder`, whole or not at all.
///
/// # Errors
/// When the system refuses; then what was there before is untouched.
pub fn write(folder: &Dir, name: impl AsRef<OsStr>, mode: u32, bytes: &[u8]) -> io::Result<()> {
    let mut file = AtomicFile::create_in(folder.try_clone()?, name.as_ref(), mode)?;
    file.write_all(bytes)?;
    file.finish().map(drop)
}

/// Removes what killed processes have left of the file at `path`, which nobody writes any more.
pub fn remove_abandoned(path: &Path) {
    let Ok((folder, name)) = Dir::around(path) else { return };
    let begin = prefix(&name);
    for left in folder.names().unwrap_or_default() {
        let shown = left.to_string_lossy();
        if shown.starts_with(&begin)
            && is_temporary(&shown)
            && folder.file(Path::new(&left)).is_ok_and(|file| file.try_lock().is_ok())
        {
            let _ = folder.remove_file(&left);
        }
    }
}

/// Whether files and folders that are not finished have names of this kind.
pub fn is_temporary(name: &str) -> bool {
    name.starts_with(PREFIX) && name.ends_with(SUFFIX)
}

const PREFIX: &str = ".shortflow-";
const SUFFIX: &str = ".tmp";

/// A temporary name that nobody can know beforehand.
pub(crate) fn unused_name(of: &OsStr) -> String {
    // Keys of the hasher come from the system's random numbers, and differ each time.
    let number = RandomState::new().build_hasher().finish();
    format!("{}{number:016x}{SUFFIX}", prefix(of))
}

/// How the temporary name of a file begins.
fn prefix(name: &OsStr) -> String {
    // Names have 255 bytes at most, and no half characters.
    let shown: String = name.to_string_lossy().chars().take(40).collect();
    match shown.is_empty() {
        true => PREFIX.to_owned(),
        false => format!("{PREFIX}{shown}-"),
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::{PermissionsExt, symlink};

    use super::*;

    fn mode(path: &Path) -> u32 {
        fs::metadata(path).unwrap().permissions().mode() & 0o777
    }

    #[test]
    fn a_link_in_its_place_is_replaced_and_what_is_behind_it_keeps_bytes_and_permissions() {
        let home = tempfile::tempdir().unwrap();
        let (path, secret) = (home.path().join("a.json"), home.path().join("secret"));
        fs::write(&secret, "secret").unwrap();
        fs::set_permissions(&secret, fs::Permissions::from_mode(0o600)).unwrap();
        symlink(&secret, &path).unwrap();
        let folder = Dir::open(home.path()).unwrap();
        write(&folder, "a.json", 0o644, b"open").unwrap();
        assert_eq!((fs::read(&path).unwrap().as_slice(), mode(&path)), (&b"open"[..], 0o644));
        assert_eq!((fs::read(&secret).unwrap().as_slice(), mode(&secret)), (&b"secret"[..], 0o600));
        assert_eq!(folder.names().unwrap(), ["a.json", "secret"]);
    }

    #[test]
    fn a_file_is_never_open_to_others_before_it_has_its_name() {
        let home = tempfile::tempdir().unwrap();
        let mut file = AtomicFile::create(&home.path().join("a"), 0o644).unwrap();
        file.write_all(b"half").unwrap();
        let unfinished = home.path().join(&file.temporary);
        assert_eq!(mode(&unfinished), 0o600);
        drop(file);
        assert!(!unfinished.exists());
    }

    #[test]
    fn what_a_killed_process_left_of_a_file_is_removed_and_what_somebody_writes_is_not() {
        let home = tempfile::tempdir().unwrap();
        let path = home.path().join("a.pcapng");
        let (left, other) = (".shortflow-a.pcapng-x1.tmp", ".shortflow-b.pcapng-x1.tmp");
        for name in [left, other] {
            fs::write(home.path().join(name), "half").unwrap();
        }
        let mut writer = AtomicFile::create(&path, 0o644).unwrap();
        remove_abandoned(&path);
        let is_there = |name: &str| home.path().join(name).exists();
        assert!(!is_there(left) && is_there(other));
        writer.write_all(b"whole").unwrap();
        writer.finish().unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"whole", "though it was being written meanwhile");
    }
}
