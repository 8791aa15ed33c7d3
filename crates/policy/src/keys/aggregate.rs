//! The profile of an aggregate, and how its connections share it.

use shortflow_elements::sharing::{Depths, Sharing};
use shortflow_units::{Bytes, Duration};

use super::choices;
use crate::Asked;

choices!(Sharing as "Sharing" {
    /// Each of n connections has a bucket of its own, which earns r_m/n, whatever the others do.
    "partitioned" => Sharing::Partitioned(Depths::Equal),
    /// The same, with buckets as deep as round-trip times are long. At a connection's own host only.
    "partitioned-by-rtt" => Sharing::Partitioned(Depths::ByRtt),
    /// One bucket for all.
    "common" => Sharing::Common,
    /// As "partitioned-by-rtt", but what overflows a full bucket goes equally to the others that are
    /// not full. At a connection's own host only.
    "logical" => Sharing::Logical(Depths::ByRtt),
    /// The same with buckets of equal depth.
    "logical-equal" => Sharing::Logical(Depths::Equal),
});

/// Shares may hang on round-trip times, which only a connection's own TCP knows.
pub(crate) fn asks_rtt(sharing: Sharing) -> Asked {
    match sharing {
        Sharing::Partitioned(Depths::ByRtt) | Sharing::Logical(Depths::ByRtt) => Asked::Tcp,
        _ => Asked::Nothing,
    }
}

/// A table of keys that holds those of an aggregate beside its own.
macro_rules! aggregate_keys {
    ($(#[$attribute:meta])* struct Keys { $($own:tt)* }) => {
        crate::keys::key_table! {
            $(#[$attribute])*
            struct Keys {
                /// The mean rate r_m of all connections together.
                #[schemars(extend("x-range" = "above zero"))]
                rate: shortflow_units::Rate,
                /// The depth B of the bucket: the greatest burst of all together. For each to use its
                /// part, r_m times the mean round-trip time at least.
                #[schemars(extend("x-range" = "at least `max_packet`"))]
                depth: shortflow_units::Bytes,
                /// The peak rate r_p: packets follow each other no faster; by default as fast as may be.
                #[schemars(extend("x-range" = "at least `rate`"))]
                peak: Option<shortflow_units::Rate>,
                /// The largest packet L_m that is ever in profile.
                #[serde(default = "crate::keys::max_packet")]
                #[schemars(extend("x-range" = "above zero"))]
                max_packet: shortflow_units::Bytes,
                /// How connections share the tokens.
                sharing: crate::keys::OneOf<shortflow_elements::sharing::Sharing>,
                /// How many connections have a share at once; one more takes the place of the one that
                /// has been silent longest.
                #[serde(default = "crate::keys::connections")]
                #[schemars(extend("x-range" = "1 to 4096"))]
                connections: u32,
                /// After which silence a connection has no share any more; one that closes has none at
                /// once.
                #[serde(default = "crate::keys::connection_timeout")]
                #[schemars(extend("x-range" = "above zero"))]
                idle_timeout: shortflow_units::Duration,
                $($own)*
            }
        }

        impl Keys {
            /// The profile; none when there is a mistake.
            fn profile(
                &self,
                checker: &mut crate::check::Checker<'_>,
                path: &str,
            ) -> Option<shortflow_elements::sharing::AggregateProfile> {
                use shortflow_elements::sharing::AggregateProfile;
                checker.filling(&format!("{path}.depth"), "depth", self.depth, self.rate);
                let profile = AggregateProfile::new(self.rate, self.depth, self.max_packet);
                let profile = profile.and_then(|profile| match self.peak {
                    Some(peak) => profile.with_peak(peak),
                    None => Ok(profile),
                });
                checker.accept(path, profile)
            }

            /// How many connections have a share; none when there is a mistake.
            fn limits(
                &self,
                checker: &mut crate::check::Checker<'_>,
                path: &str,
            ) -> Option<shortflow_elements::sharing::ConnectionLimits> {
                use shortflow_elements::sharing::ConnectionLimits;
                let limits = ConnectionLimits::new(self.connections as usize, self.idle_timeout);
                checker.accept(path, limits)
            }
        }
    };
}
pub(crate) use aggregate_keys;

/// The MTU of Ethernet.
pub(crate) fn max_packet() -> Bytes {
    Bytes(1500)
}

/// Handing out tokens takes a step for each.
pub(crate) fn connections() -> u32 {
    256
}

pub(crate) fn connection_timeout() -> Duration {
    Duration::from_secs(60)
}
