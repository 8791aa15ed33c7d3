//! The schemes, one file each. The file's name is the scheme's; `build.rs` lists the files.

/// What is written into the DS field.
pub mod markers {
    include!(concat!(env!("OUT_DIR"), "/markers.rs"));
}

/// How packets wait for a link, and which goes first.
pub mod queues {
    include!(concat!(env!("OUT_DIR"), "/queues.rs"));
}
