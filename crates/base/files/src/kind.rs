//! What stands at a path.

use std::fmt;
use std::fs::FileType;
use std::os::unix::fs::FileTypeExt;

/// What stands at a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// A regular file.
    File,
    /// A folder.
    Folder,
    /// A symbolic link.
    Link,
    /// A pipe (FIFO).
    Pipe,
    /// A socket.
    Socket,
    /// A character or block device.
    Device,
}

impl From<FileType> for Kind {
    fn from(found: FileType) -> Kind {
        match found {
            _ if found.is_file() => Kind::File,
            _ if found.is_dir() => Kind::Folder,
            _ if found.is_symlink() => Kind::Link,
            _ if found.is_fifo() => Kind::Pipe,
            _ if found.is_socket() => Kind::Socket,
            _ => Kind::Device,
        }
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Kind::File => "a file",
            Kind::Folder => "a folder",
            Kind::Link => "a symbolic link",
            Kind::Pipe => "a pipe",
            Kind::Socket => "a socket",
            Kind::Device => "a device",
        })
    }
}
