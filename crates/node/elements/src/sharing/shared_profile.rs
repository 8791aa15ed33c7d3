//! A profile, and each connection's share of it.

use shortflow_packet::Packet;
use shortflow_units::{Duration, Instant};

use super::rooms::Rooms;
use super::tokens::{SharedTokens, Units};
use super::{AggregateProfile, Sharing};
use crate::meter::bucket::{Earned, Tokens, time_to_earn};

/// The profile of an aggregate whose connections share its tokens. Connections have numbers below 2²⁰, and
/// join before their first packet.
///
/// Whatever the connections do, and however they change: in any time t, packets of at most r_m·t + B bytes
/// are admitted, and at most B bytes are held at any time.
///
/// ```
/// use shortflow_packet::Packet;
/// use shortflow_elements::sharing::{AggregateProfile, Depths, SharedProfile, Sharing};
/// use shortflow_units::{Bytes, Instant};
///
/// let profile = AggregateProfile::new("1 Mbit/s".parse()?, "6 KB".parse()?, Bytes(1500))?;
/// let mut shared = SharedProfile::new(profile, Sharing::Logical(Depths::Equal));
/// (0..2).for_each(|connection| shared.join(connection));
/// shared.earn(Instant::START);
///
/// // Half of the bucket is the first's, however much it sends.
/// let packet = Packet { size: 1500, ..Packet::default() };
/// let admitted = [0, 0, 0, 1, 1, 1].map(|connection| shared.admit(connection, &packet));
/// assert_eq!(admitted, [true, true, false, true, true, false]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone)]
pub struct SharedProfile {
    profile: AggregateProfile,
    sharing: Sharing,
    tokens: SharedTokens,
    earned: Earned,
    /// When the previous packet has passed at the peak rate.
    peak_free_at: Instant,
}

impl SharedProfile {
    /// A full bucket, without connections.
    pub fn new(profile: AggregateProfile, sharing: Sharing) -> Self {
        let depth = units(Tokens::from_bytes(profile.depth()));
        let tokens = SharedTokens::new(sharing, depth);
        let (earned, peak_free_at) = (Earned::default(), Instant::START);
        SharedProfile { profile, sharing, tokens, earned, peak_free_at }
    }

    /// Reserves memory for `connections` at the same time.
    pub fn reserve(&mut self, connections: usize) {
        self.tokens.reserve(connections);
    }

    /// The profile.
    pub fn profile(&self) -> &AggregateProfile {
        &self.profile
    }

    /// How it is shared.
    pub fn sharing(&self) -> Sharing {
        self.sharing
    }

    /// Adds the tokens earned by `now`. If the clock is set back, nothing is earned twice.
    #[inline]
    pub fn earn(&mut self, now: Instant) {
        let earned = Tokens::earned(self.profile.rate(), self.earned.until(now));
        self.tokens.earn(units(earned));
    }

    /// The time up to which tokens were earned.
    pub(crate) fn earned_at(&self) -> Instant {
        self.earned.at()
    }

    /// `connection`, which is new, has a share from now on.
    pub fn join(&mut self, connection: u32) {
        self.tokens.join(connection);
    }

    /// `connection` loses its share: the others get what it held.
    pub fn leave(&mut self, connection: u32) {
        self.tokens.leave(connection);
    }

    /// Sets the round-trip time of `connection`, in whole microseconds from 1 to 2²⁴ − 1 (about 17 s).
    pub fn set_rtt(&mut self, connection: u32, rtt: Duration) {
        let micros = (rtt.nanos() / 1000).clamp(1, MAX_RTT);
        self.tokens.set_rtt(connection, micros as u32);
    }

    /// Whether `packet` of `connection` conforms to the profile, as of the last [`earn`](Self::earn).
    #[inline]
    pub fn conforms(&self, connection: u32, packet: &Packet) -> bool {
        self.profile.fits(packet)
            && self.peak_free_at <= self.earned.at()
            && self.tokens.holds(connection, price(packet))
    }

    /// Takes the tokens of `packet` if it [conforms](Self::conforms). Returns whether it did.
    #[inline]
    pub fn admit(&mut self, connection: u32, packet: &Packet) -> bool {
        let conforms = self.conforms(connection, packet);
        if conforms {
            self.tokens.take(connection, price(packet));
            if let Some(peak) = self.profile.peak() {
                self.peak_free_at = self.earned.at() + peak.time_for(packet.bytes());
            }
        }
        conforms
    }

    /// The rooms that connections have for tokens now. They hold until tokens are earned or taken, or connections
    /// change.
    pub fn look(&self, rooms: &mut Rooms) {
        self.tokens.look(rooms);
    }

    /// When `packet` of `connection` conforms, unless tokens are taken or connections change meanwhile;
    /// `NEVER` if it is too large. `rooms` are the [present](Self::look) ones.
    pub fn conforms_at(&self, rooms: &Rooms, connection: u32, packet: &Packet) -> Instant {
        if !self.profile.fits(packet) {
            return Instant::NEVER;
        }
        let lacking = self.tokens.lacking(rooms, connection, price(packet));
        let lacking = Tokens::of_units(lacking.unsigned_abs());
        let earned_at = self.earned.at() + time_to_earn(self.profile.rate(), lacking);
        earned_at.max(self.peak_free_at)
    }

    /// The tokens that all connections hold together, in whole bytes.
    pub fn held(&self) -> shortflow_units::Bytes {
        Tokens::of_units(self.tokens.total().unsigned_abs()).bytes()
    }
}

/// In microseconds. The sum over 256 connections fits into 32 bits, so a kernel can share a depth exactly.
const MAX_RTT: u64 = (1 << 24) - 1;

fn price(packet: &Packet) -> Units {
    units(Tokens::from_bytes(packet.bytes()))
}

/// The tokens as a signed number, limited to what any time can spend.
fn units(tokens: Tokens) -> Units {
    Units::try_from(tokens.units()).unwrap_or(Units::MAX).min(1 << 120)
}
