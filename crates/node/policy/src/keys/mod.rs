//! Keys that several schemes share, and their parameters.

mod aggregate;
mod choice;
mod code_point;
mod flow_queues;
mod levels;
mod list;
mod matching;
mod metered;
mod per;
mod protocol;
mod red;
mod table;
mod threshold;
mod tsw;
mod turns;

pub(crate) use aggregate::{aggregate_keys, connection_timeout, connections};
pub(crate) use aggregate::{asks_rtt, max_packet};
pub(crate) use choice::{Choices, OneOf, choices};
pub(crate) use code_point::{CodePoint, CodePoints};
pub(crate) use flow_queues::flow_queue_keys;
pub(crate) use levels::{Levels, ThresholdsKey};
pub(crate) use list::ListOf;
pub(crate) use matching::{AddressesKey, MatchKeys};
pub use metered::Metered;
pub(crate) use metered::{BucketKeys, color_mode};
pub(crate) use per::PerKey;
pub use red::RedPlan;
pub(crate) use red::{RedCommon, curve_keys, red_keys};
pub(crate) use table::key_table;
pub(crate) use threshold::ThresholdKey;
pub(crate) use tsw::{estimator_window, initial_rate, tsw_keys};
pub use turns::Turns;
