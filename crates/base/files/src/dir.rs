//! An open folder, and what is done beneath it.

use std::ffi::{OsStr, OsString};
use std::fs::{self, File, Metadata};
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use nix::errno::Errno;
use nix::fcntl::{OFlag, renameat};
use nix::sys::stat::{Mode, mkdirat};
use nix::unistd::{UnlinkatFlags, unlinkat};

use crate::atomic_file::unused_name;
use crate::kind::Kind;
use crate::read::{self, ReadError};
use crate::{beneath, is_temporary};

/// So deep are folders in folders that are removed.
const MAX_DEPTH: u32 = 64;

/// How something is opened that is only looked at.
#[cfg(target_os = "linux")]
const OPEN_FLAGS: OFlag = OFlag::O_PATH;
#[cfg(not(target_os = "linux"))]
const OPEN_FLAGS: OFlag = OFlag::O_RDONLY.union(OFlag::O_NONBLOCK);

/// An open folder. Paths that its methods take are relative to it, stay beneath it and follow no link; whoever exchanges
/// a folder for a link meanwhile gains nothing.
#[derive(Debug)]
pub struct Dir {
    fd: OwnedFd,
}

impl Dir {
    /// The folder at `path`, as a user names it: links on the way are followed.
    ///
    /// # Errors
    /// When it is not there, is not a folder, or may not be read.
    pub fn open(path: &Path) -> io::Result<Dir> {
        let path = if path.as_os_str().is_empty() { Path::new(".") } else { path };
        let flags = (OFlag::O_DIRECTORY | OFlag::O_CLOEXEC).bits();
        let file = File::options().read(true).custom_flags(flags).open(path)?;
        Ok(Dir { fd: file.into() })
    }

    /// The same, made with all folders above it where it is not there.
    ///
    /// # Errors
    /// When it cannot be made or opened.
    pub fn create(path: &Path) -> io::Result<Dir> {
        fs::create_dir_all(path)?;
        Dir::open(path)
    }

    /// The folder around a file that a user names, and the file's name.
    ///
    /// # Errors
    /// When the path names no file, or the folder cannot be opened.
    pub fn around(path: &Path) -> io::Result<(Dir, OsString)> {
        let name = path.file_name().ok_or(io::ErrorKind::InvalidInput)?.to_owned();
        Ok((Dir::open(path.parent().unwrap_or(Path::new("")))?, name))
    }

    /// The folder `inner`.
    ///
    /// # Errors
    /// When it is not there, is not a folder, or a link leads to it.
    pub fn dir(&self, inner: impl AsRef<Path>) -> io::Result<Dir> {
        let flags = OFlag::O_RDONLY | OFlag::O_DIRECTORY;
        Ok(Dir { fd: beneath::open(self.as_fd(), inner.as_ref(), flags, Mode::empty())? })
    }

    /// The same, made with all folders above it where it is not there; `mode` is cut by the process's umask.
    ///
    /// # Errors
    /// When it cannot be made, or a link or a file stands in its place.
    pub fn make_dir(&self, inner: impl AsRef<Path>, mode: u32) -> io::Result<Dir> {
        let mut at = self.dir("")?;
        for name in inner.as_ref().components() {
            let name = Path::new(name.as_os_str());
            match mkdirat(at.as_fd(), name, Mode::from_bits_truncate(mode)) {
                Ok(()) | Err(Errno::EEXIST) => {}
                Err(error) => return Err(error.into()),
            }
            at = at.dir(name)?;
        }
        Ok(at)
    }

    /// A new folder of a name that nobody knows beforehand, for its owner alone; and that name.
    ///
    /// # Errors
    /// When it cannot be made.
    pub fn make_temporary(&self) -> io::Result<(Dir, String)> {
        loop {
            let name = unused_name(OsStr::new(""));
            match mkdirat(self.as_fd(), name.as_str(), Mode::S_IRWXU) {
                Ok(()) => return Ok((self.dir(&name)?, name)),
                Err(Errno::EEXIST) => {}
                Err(error) => return Err(error.into()),
            }
        }
    }

    /// The regular file `inner`, to be read. A pipe or a device is neither waited for nor set to work.
    ///
    /// # Errors
    /// When it is not there, is something else, or a link leads to it.
    pub fn file(&self, inner: impl AsRef<Path>) -> Result<File, ReadError> {
        // Looked at first: opening a device may set it to work.
        let inner = inner.as_ref();
        read::refuse_other(&self.metadata(inner)?)?;
        let flags = OFlag::O_RDONLY | OFlag::O_NONBLOCK;
        let file = File::from(beneath::open(self.as_fd(), inner, flags, Mode::empty())?);
        read::refuse_other(&file.metadata()?)?;
        Ok(file)
    }

    /// The bytes of the regular file `inner`, which has at most `max`.
    ///
    /// # Errors
    /// When it is not there, is something else or longer, or a link leads to it.
    pub fn read(&self, inner: impl AsRef<Path>, max: u64) -> Result<Vec<u8>, ReadError> {
        read::all(self.file(inner)?, max)
    }

    /// The same as text.
    ///
    /// # Errors
    /// Also when it is not UTF-8.
    pub fn read_text(&self, inner: impl AsRef<Path>, max: u64) -> Result<String, ReadError> {
        read::as_text(self.read(inner, max)?)
    }

    /// What stands at `inner`; of a link, the link.
    ///
    /// # Errors
    /// When nothing does, or a link is on the way.
    pub fn metadata(&self, inner: impl AsRef<Path>) -> io::Result<Metadata> {
        let found = beneath::open(self.as_fd(), inner.as_ref(), OPEN_FLAGS, Mode::empty())?;
        File::from(found).metadata()
    }

    /// What kind of thing stands at `inner`; none where nothing does or it cannot be known.
    pub fn kind(&self, inner: impl AsRef<Path>) -> Option<Kind> {
        Some(self.metadata(inner).ok()?.file_type().into())
    }

    /// The names of its entries, in their order.
    ///
    /// # Errors
    /// When it cannot be listed.
    pub fn names(&self) -> io::Result<Vec<OsString>> {
        // An open folder has one position for all who list it.
        let mut listed = nix::dir::Dir::from_fd(self.dir("")?.fd)?;
        let mut names = Vec::new();
        for entry in listed.iter() {
            let entry = entry?;
            let name = entry.file_name().to_bytes();
            if name != b"." && name != b".." {
                names.push(OsStr::from_bytes(name).to_owned());
            }
        }
        names.sort();
        Ok(names)
    }

    /// Gives the entry `name` another place and name; a file that is there is replaced, a link itself and not what is
    /// behind it.
    ///
    /// # Errors
    /// When the system refuses.
    pub fn rename(&self, name: &OsStr, to: &Dir, new: &OsStr) -> io::Result<()> {
        Ok(renameat(self.as_fd(), name, to.as_fd(), new)?)
    }

    /// Removes the entry `name` that is not a folder; a link itself.
    ///
    /// # Errors
    /// When the system refuses.
    pub fn remove_file(&self, name: impl AsRef<OsStr>) -> io::Result<()> {
        Ok(unlinkat(self.as_fd(), name.as_ref(), UnlinkatFlags::NoRemoveDir)?)
    }

    /// Removes the folder `name`, which must be empty.
    ///
    /// # Errors
    /// When the system refuses.
    pub fn remove_dir(&self, name: impl AsRef<OsStr>) -> io::Result<()> {
        Ok(unlinkat(self.as_fd(), name.as_ref(), UnlinkatFlags::RemoveDir)?)
    }

    /// Removes the entry `name` with all that is in it. A link is removed, and what is behind it stays.
    ///
    /// # Errors
    /// When the system refuses; some of it may be gone then.
    pub fn remove_tree(&self, name: impl AsRef<OsStr>) -> io::Result<()> {
        self.remove_within(name.as_ref(), MAX_DEPTH)
    }

    fn remove_within(&self, name: &OsStr, depth: u32) -> io::Result<()> {
        if self.metadata(Path::new(name))?.is_dir() {
            let inside = self.dir(Path::new(name))?;
            if depth == 0 {
                return Err(io::ErrorKind::InvalidInput.into());
            }
            for inner in inside.names()? {
                inside.remove_within(&inner, depth - 1)?;
            }
            return self.remove_dir(name);
        }
        self.remove_file(name)
    }

    /// Removes folders of [`make_temporary`](Dir::make_temporary) that their makers, which were killed, no longer lock.
    /// Whether one is locked by somebody who lives.
    pub fn remove_abandoned(&self) -> bool {
        let mut is_held = false;
        for name in self.names().unwrap_or_default() {
            if !is_temporary(&name.to_string_lossy()) {
                continue;
            }
            let Ok(folder) = self.dir(Path::new(&name)).map(|dir| File::from(dir.fd)) else {
                continue;
            };
            match folder.try_lock() {
                // Where this fails, the folder stays, hidden as before.
                Ok(()) => drop(self.remove_tree(&name)),
                Err(fs::TryLockError::WouldBlock) => is_held = true,
                // A file system without locks.
                Err(fs::TryLockError::Error(_)) => {}
            }
        }
        is_held
    }

    /// The file `name`, made for its owner alone where it is not there, to be locked. One of somebody else's is refused.
    ///
    /// # Errors
    /// When a link or something else stands there, or it belongs to another user.
    pub fn lock_file(&self, name: impl AsRef<OsStr>) -> io::Result<File> {
        let flags = OFlag::O_RDWR | OFlag::O_CREAT | OFlag::O_NONBLOCK;
        let private = Mode::S_IRUSR | Mode::S_IWUSR;
        let file =
            File::from(beneath::open(self.as_fd(), Path::new(name.as_ref()), flags, private)?);
        let found = file.metadata()?;
        let is_private =
            found.uid() == nix::unistd::geteuid().as_raw() && found.mode() & 0o077 == 0;
        if found.is_file() && is_private {
            return Ok(file);
        }
        let what = "this file is not one of this user's alone, as a lock must be";
        Err(io::Error::new(io::ErrorKind::PermissionDenied, what))
    }

    /// Brings the names in it to the disk.
    ///
    /// # Errors
    /// When the disk does not take them.
    pub fn sync(&self) -> io::Result<()> {
        Ok(nix::unistd::fsync(self.as_fd())?)
    }

    /// The same folder once more.
    ///
    /// # Errors
    /// When there is no descriptor left.
    pub fn try_clone(&self) -> io::Result<Dir> {
        Ok(Dir { fd: self.fd.try_clone()? })
    }

    /// What it is itself.
    ///
    /// # Errors
    /// When the system refuses.
    pub fn own_metadata(&self) -> io::Result<Metadata> {
        self.try_clone().and_then(|dir| File::from(dir.fd).metadata())
    }

    /// Sets its permissions.
    ///
    /// # Errors
    /// When the system refuses.
    pub fn set_mode(&self, mode: u32) -> io::Result<()> {
        Ok(nix::sys::stat::fchmod(self.as_fd(), Mode::from_bits_truncate(mode))?)
    }

    /// The path of each entry of a kind in it and in folders in it, relative to it; at most `max` entries of each
    /// folder, and folders at most `depth` deep.
    pub fn walk(&self, kind: Kind, max: usize, depth: u32) -> Vec<PathBuf> {
        let mut found = Vec::new();
        for name in self.names().unwrap_or_default().into_iter().take(max) {
            let at = self.kind(Path::new(&name));
            if at == Some(kind) {
                found.push(PathBuf::from(&name));
            }
            if at == Some(Kind::Folder)
                && depth > 0
                && let Ok(inside) = self.dir(Path::new(&name))
            {
                let inner = inside.walk(kind, max, depth - 1);
                found.extend(inner.into_iter().map(|path| Path::new(&name).join(path)));
            }
        }
        found
    }
}

impl AsFd for Dir {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}

impl From<Dir> for File {
    fn from(dir: Dir) -> File {
        dir.fd.into()
    }
}
