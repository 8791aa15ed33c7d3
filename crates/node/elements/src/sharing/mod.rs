//! The tokens of one profile, shared by the connections of an aggregate (Mehra, Tewari & Kandlur 1999, §4).
//! For example, all connections of a server conform to one profile together, and each gets its share.
//!
//! | | what a connection may take |
//! |---|---|
//! | [`Sharing::Partitioned`] | what its own bucket holds, which earns r_m/n; what overflows is lost (§4.2.1) |
//! | [`Sharing::Common`] | what the one bucket holds (§4.2.2) |
//! | [`Sharing::Logical`] | what its logical bucket holds; what overflows a full one goes equally to those that are not full (§4.2.3) |

mod connections;
mod profile;
mod rooms;
mod shared_profile;
mod tokens;

pub use connections::ConnectionLimits;
pub(crate) use connections::{Connections, Seen};
pub use profile::AggregateProfile;
pub use rooms::Rooms;
pub use shared_profile::SharedProfile;

/// How connections share the tokens of their profile.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sharing {
    /// Each of n connections has its own bucket, which earns r_m/n, whatever the others do.
    Partitioned(Depths),
    /// One bucket for all.
    Common,
    /// Each of n connections has its own bucket, which earns r_m/n, and what other buckets cannot hold.
    Logical(Depths),
}

impl Sharing {
    /// All variants.
    pub const ALL: [Sharing; 5] = [
        Sharing::Partitioned(Depths::Equal),
        Sharing::Partitioned(Depths::ByRtt),
        Sharing::Common,
        Sharing::Logical(Depths::Equal),
        Sharing::Logical(Depths::ByRtt),
    ];
}

/// The depth of each connection's bucket. Together they have the profile's depth.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Depths {
    /// B/n.
    Equal,
    /// B · rtt_i/Σ rtt, so that a connection loses no tokens while it waits for acknowledgements. A
    /// connection without a known round-trip time counts with the mean of the others.
    ByRtt,
}
