//! The schemes, one file each. A file has the name of its scheme; `build.rs` lists the files.

/// Markers, which write the DS field.
pub mod markers {
    include!(concat!(env!("OUT_DIR"), "/markers.rs"));
}

/// Queues, which hold packets for a link and choose the next one.
pub mod queues {
    include!(concat!(env!("OUT_DIR"), "/queues.rs"));
}
