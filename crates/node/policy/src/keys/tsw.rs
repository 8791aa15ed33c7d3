//! Keys that markers with a time sliding window share.

use shortflow_elements::meter::InitialRate;
use shortflow_units::Duration;

use super::{OneOf, choices};

choices!(InitialRate as "InitialRate" {
    /// The committed rate (RFC 2859, Figure 2).
    "committed" => InitialRate::Committed,
    /// Zero.
    "zero" => InitialRate::Zero,
});

/// Defines a table of keys: those of a rate estimator, and more.
macro_rules! tsw_keys {
    ($(#[$attribute:meta])* struct $Name:ident { $($own:tt)* }) => {
        crate::keys::key_table! {
            $(#[$attribute])*
            struct $Name {
                /// Committed information rate.
                #[schemars(extend("x-range" = "above zero"))]
                cir: shortflow_units::Rate,
                /// Window of the rate estimator.
                #[serde(default = "crate::keys::estimator_window")]
                #[schemars(extend("x-range" = "above zero"))]
                window: shortflow_units::Duration,
                /// Initial value of the rate estimate.
                #[serde(default = "crate::keys::initial_rate")]
                initial_rate: crate::keys::OneOf<shortflow_elements::meter::InitialRate>,
                $($own)*
            }
        }

        impl $Name {
            /// The estimator's parameters, or `None` after a mistake.
            fn tsw(
                &self,
                checker: &mut crate::check::Checker<'_>,
                path: &str,
            ) -> Option<shortflow_elements::meter::TswParams> {
                use shortflow_elements::meter::TswParams;
                checker.accept(path, TswParams::new(self.cir, self.window, self.initial_rate.0))
            }
        }
    };
}
pub(crate) use tsw_keys;

/// Casetti & Mellia 2005, §2: 1 s.
pub(crate) fn estimator_window() -> Duration {
    Duration::from_secs(1)
}

/// RFC 2859, Figure 2.
pub(crate) fn initial_rate() -> OneOf<InitialRate> {
    OneOf(InitialRate::Committed)
}
