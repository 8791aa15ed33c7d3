//! A profile for the connections of this machine's TCP: a congestion control that keeps all of them together within it.
//!
//! ```text
//! live connections ── iter/tcp ──▶ ┌────────────────────┐
//!                                  │ profile.bpf.c      │──▶ no more than ⟨B, r_m, r_p, L_m⟩ on the wire
//! new connections ──── sockops ──▶ └────────────────────┘
//! ```
//!
//! All of it is in the kernel, and stays there when the process ends. [`TcpParts`] finds it again.

mod layout;
#[cfg(feature = "ebpf")]
mod program;
#[cfg(not(feature = "ebpf"))]
#[path = "program_unavailable.rs"]
mod program;

use std::net::IpAddr;

use shortflow_elements::sharing::{AggregateProfile, Depths, Sharing};
use shortflow_units::{Bytes, Duration, Rate};

pub use layout::TcpState;
pub use program::TcpProfile;

/// The deepest bucket.
pub const MAX_TCP_DEPTH: Bytes = Bytes(1 << 31);
/// The highest rate.
pub const MAX_TCP_RATE: Rate = Rate::from_bits_per_sec(1_000_000_000_000);
/// The lowest rate: the program counts whole bytes per second.
pub const MIN_TCP_RATE: Rate = Rate::from_bits_per_sec(8);

/// The profile of connections, and how they share it.
#[derive(Debug, Clone)]
pub struct TcpSettings {
    /// ⟨B, r_m, r_p, L_m⟩.
    pub profile: AggregateProfile,
    /// How connections share its tokens.
    pub sharing: Sharing,
    /// Who is first where a common bucket is empty.
    pub order: TcpOrder,
    /// How windows grow.
    pub growth: TcpGrowth,
    /// What each window is held to: at most this rate times the round-trip time.
    pub window_rate: Option<Rate>,
    /// How many connections have a share of their own at a time. Further ones have one more share together.
    pub connections: usize,
    /// A connection that sends nothing for this long has no share.
    pub idle_timeout: Duration,
}

/// Which connection is served first where a common bucket is empty.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TcpOrder {
    /// The one that was withheld first, with all that it has.
    FirstCome,
    /// The one that was served longest ago, segment by segment.
    LeastRecentlyServed,
}

/// How windows grow in congestion avoidance, in segments per round trip.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TcpGrowth {
    /// One.
    Reno,
    /// rtt²/rtt_av², where rtt_av is the mean over the connections of the profile.
    AggregateFair,
    /// rtt²/reference².
    ConstantRate {
        /// The round-trip time at which it grows as Reno.
        reference: Duration,
    },
    /// `segments` where the round-trip time is above this, else one.
    IncreaseByK {
        /// K.
        segments: u32,
        /// The round-trip time.
        above: Duration,
    },
}

/// Which connections of the network namespace of the thread belong to a profile; all of what is given must match.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TcpFilter {
    /// The address of this host, and how many bits of it count.
    pub local: Option<(IpAddr, u8)>,
    /// The address of the other host.
    pub peer: Option<(IpAddr, u8)>,
    /// The port of this host.
    pub local_port: Option<u16>,
    /// The port of the other host.
    pub peer_port: Option<u16>,
}

/// The parts of a profile in the kernel, by their numbers there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TcpParts {
    /// The maps: the congestion control, and what [`TcpProfile`] reads and writes.
    pub maps: [u32; 5],
    /// The program of each [`TcpHook`]; `None` where it is not attached.
    pub hooks: [Option<u32>; TcpHook::ALL.len()],
}

/// The events of a cgroup at which a profile has a program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TcpHook {
    /// A connection is established: it comes to the profile.
    Established,
    /// A segment is sent: one that TCP sends without asking stays if the profile has no tokens for it.
    Sent,
}

impl TcpHook {
    /// All of them.
    pub const ALL: [TcpHook; 2] = [TcpHook::Established, TcpHook::Sent];
}

/// What a walk over all connections has done.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct TcpWalk {
    /// Connections whose congestion control was changed.
    pub changed: usize,
    /// Those for which the kernel refused it.
    pub refused: usize,
    /// Those that keep theirs, as their segments are longer than the profile's packets.
    pub unfit: usize,
}

/// The name that a congestion control can have in the kernel: at most 15 bytes. It is of this network namespace and policy.
pub fn tcp_control_name(namespace: u64, policy: &str) -> String {
    // FNV-1a.
    let all = namespace.to_ne_bytes().into_iter().chain(policy.bytes());
    let hash = all.fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    });
    format!("sf_{:012x}", hash & 0xffff_ffff_ffff)
}

/// How the program numbers a sharing, and whether depths depend on round-trip times.
fn sharing(sharing: Sharing) -> [u8; 2] {
    match sharing {
        Sharing::Partitioned(depths) => [0, (depths == Depths::ByRtt).into()],
        Sharing::Common => [1, 0],
        Sharing::Logical(depths) => [2, (depths == Depths::ByRtt).into()],
    }
}
