//! A profile, and what each connection of its aggregate may take of it.

use shortflow_units::{Duration, Instant};

use super::tokens::{SharedTokens, Units};
use super::{AggregateProfile, Sharing};
use crate::Packet;
use crate::meter::bucket::{Earned, Tokens, time_to_earn};

/// The profile of an aggregate whose connections share its tokens. Connections are known by numbers
/// below 2²⁰, each of which joins before it is asked for.
///
/// Whatever the connections do, and whichever come and go: in any time t, packets of at most r_m·t + B
/// bytes are admitted, and B bytes or less are held at any time.
///
/// ```
/// use shortflow_elements::Packet;
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
    /// When the packet before has passed at the peak rate.
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

    /// Makes room for `connections` at once.
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

    /// Earns what is due at `now`. A clock that is set back earns nothing twice.
    #[inline]
    pub fn earn(&mut self, now: Instant) {
        let earned = Tokens::earned(self.profile.rate(), self.earned.until(now));
        self.tokens.earn(units(earned));
    }

    /// Until when tokens were earned.
    pub(crate) fn earned_at(&self) -> Instant {
        self.earned.at()
    }

    /// `connection`, which is not among them, has a share from now on.
    pub fn join(&mut self, connection: u32) {
        self.tokens.join(connection);
    }

    /// `connection` has none any more: the others share what it held.
    pub fn leave(&mut self, connection: u32) {
        self.tokens.leave(connection);
    }

    /// The round-trip time of `connection` is `rtt` from now on; it counts in whole microseconds, from
    /// one of them to 2²⁴ − 1, some 17 s.
    pub fn set_rtt(&mut self, connection: u32, rtt: Duration) {
        let micros = (rtt.nanos() / 1000).clamp(1, MAX_RTT);
        self.tokens.set_rtt(connection, micros as u32);
    }

    /// Whether `packet` keeps to the profile when `connection` sends it, as of the last
    /// [`earn`](Self::earn).
    #[inline]
    pub fn conforms(&self, connection: u32, packet: &Packet) -> bool {
        self.profile.fits(packet)
            && self.peak_free_at <= self.earned.at()
            && self.tokens.holds(connection, price(packet))
    }

    /// Takes the tokens of `packet`, if it [conforms](Self::conforms): whether it did.
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

    /// When `packet` conforms if `connection` sends it, unless tokens are taken or connections come
    /// and go meanwhile; never when it is too large.
    pub fn conforms_at(&self, connection: u32, packet: &Packet) -> Instant {
        if !self.profile.fits(packet) {
            return Instant::NEVER;
        }
        let lacking = self.tokens.lacking(connection, price(packet));
        let lacking = Tokens::of_units(lacking.unsigned_abs());
        let earned_at = self.earned.at() + time_to_earn(self.profile.rate(), lacking);
        earned_at.max(self.peak_free_at)
    }

    /// What all connections hold together, in whole bytes.
    pub fn held(&self) -> shortflow_units::Bytes {
        Tokens::of_units(self.tokens.total().unsigned_abs()).bytes()
    }
}

/// In microseconds: those of 256 connections together have 32 bits, with which a kernel shares a depth out exactly.
const MAX_RTT: u64 = (1 << 24) - 1;

fn price(packet: &Packet) -> Units {
    units(Tokens::from_bytes(packet.bytes()))
}

/// The tokens as a number that can be subtracted from. What no time could spend counts as much.
fn units(tokens: Tokens) -> Units {
    Units::try_from(tokens.units()).unwrap_or(Units::MAX).min(1 << 120)
}
