//! Keys that several schemes share: what is written, and what it comes to.

mod choice;
mod code_point;
mod flow_queues;
mod levels;
mod matching;
mod metered;
mod per;
mod red;
mod threshold;
mod tsw;
mod turns;

pub(crate) use choice::{Choices, OneOf, choices};
pub(crate) use code_point::{CodePoint, CodePoints};
pub(crate) use flow_queues::flow_queue_keys;
pub(crate) use levels::{Levels, ThresholdsKey};
pub(crate) use matching::MatchKeys;
pub use metered::Metered;
pub(crate) use metered::{BucketKeys, color_mode};
pub(crate) use per::PerKey;
pub use red::RedPlan;
pub(crate) use red::{RedCommon, red_keys};
pub(crate) use threshold::ThresholdKey;
pub(crate) use tsw::{WINDOW, tsw};
pub use turns::Turns;
