//! The profile of an aggregate, and how its connections share it.

use shortflow_elements::sharing::{Depths, Sharing};
use shortflow_units::{Bytes, Duration};

use super::choices;
use crate::Asked;

choices!(Sharing as "Sharing" {
    /// Each of n connections has its own bucket, which earns r_m/n tokens, whatever the others do.
    "partitioned" => Sharing::Partitioned(Depths::Equal),
    /// As "partitioned", with a bucket depth in proportion to the round-trip time. Only at the sending host.
    "partitioned-by-rtt" => Sharing::Partitioned(Depths::ByRtt),
    /// All connections share one bucket.
    "common" => Sharing::Common,
    /// As "partitioned-by-rtt", but tokens that overflow a full bucket go in equal parts to the buckets that
    /// are not full. Only at the sending host.
    "logical" => Sharing::Logical(Depths::ByRtt),
    /// As "logical", with buckets of equal depth.
    "logical-equal" => Sharing::Logical(Depths::Equal),
});

/// Shares may depend on round-trip times, which only a connection's own TCP knows.
pub(crate) fn asks_rtt(sharing: Sharing) -> Asked {
    match sharing {
        Sharing::Partitioned(Depths::ByRtt) | Sharing::Logical(Depths::ByRtt) => Asked::Tcp,
        _ => Asked::Nothing,
    }
}

/// Defines a table of keys: those of an aggregate, and more.
macro_rules! aggregate_keys {
    ($(#[$attribute:meta])* struct Keys { $($own:tt)* }) => {
        crate::keys::key_table! {
            $(#[$attribute])*
            struct Keys {
                /// The mean rate r_m of all connections together.
                #[schemars(extend("x-range" = "above zero"))]
                rate: shortflow_units::Rate,
                /// Bucket depth B: the largest burst of all connections together. A connection can use its
                /// full share only if B is at least r_m times the mean round-trip time.
                #[schemars(extend("x-range" = "at least `max_packet`"))]
                depth: shortflow_units::Bytes,
                /// Peak rate r_p: the highest rate at which packets follow each other. Default: unlimited.
                #[schemars(extend("x-range" = "at least `rate`"))]
                peak: Option<shortflow_units::Rate>,
                /// Largest packet L_m that can be in profile.
                #[serde(default = "crate::keys::max_packet")]
                #[schemars(extend("x-range" = "above zero"))]
                max_packet: shortflow_units::Bytes,
                /// How connections share the tokens.
                sharing: crate::keys::OneOf<shortflow_elements::sharing::Sharing>,
                /// How many connections have a share at the same time. A further connection replaces the one
                /// that has been idle longest.
                #[serde(default = "crate::keys::connections")]
                #[schemars(extend("x-range" = "1 to 4096"))]
                connections: u32,
                /// A connection that has been idle for this long loses its share. A connection that closes
                /// loses it at once.
                #[serde(default = "crate::keys::connection_timeout")]
                #[schemars(extend("x-range" = "above zero"))]
                idle_timeout: shortflow_units::Duration,
                $($own)*
            }
        }

        impl Keys {
            /// The profile, or `None` after a mistake.
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

            /// The limits on connections, or `None` after a mistake.
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

/// Distributing tokens takes one step per connection.
pub(crate) fn connections() -> u32 {
    256
}

pub(crate) fn connection_timeout() -> Duration {
    Duration::from_secs(60)
}
