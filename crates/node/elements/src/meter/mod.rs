//! Meters: compare a packet with its stream's profile. A meter returns a colour; markers and droppers act on
//! it.

pub(crate) mod bucket;
mod color_mode;
pub(crate) mod credit;
mod fair_marker;
mod integer_window;
mod momentary_rate;
mod sr_tcm;
mod token_bucket;
mod tr_tcm;
mod tsw;
mod two_buckets;

pub use color_mode::ColorMode;
pub use fair_marker::{
    FairMarker, FairMarkerParams, FairMarkerSettings, FairMarkerStats, FlowTableSize,
    IntegerFairMarker,
};
pub use integer_window::{IntegerTsw, IntegerTswParams, Pace};
pub(crate) use momentary_rate::Reading;
pub use momentary_rate::{Decay, MomentaryRate, MomentaryRateParams, POWERS};
pub use sr_tcm::{SrTcm, SrTcmParams, SrTcmSettings};
pub use token_bucket::{TokenBucket, TokenBucketParams, TokenBucketSettings};
pub use tr_tcm::{TrTcm, TrTcmParams, TrTcmSettings};
pub use tsw::{InitialRate, Tsw2Cm, Tsw3Cm, Tsw3CmParams, Tsw3CmSettings, TswParams, TswSettings};
pub use two_buckets::{TwoBuckets, TwoBucketsParams};
