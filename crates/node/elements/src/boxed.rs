//! Elements behind their traits.
//!
//! What a trait object calls is compiled in the crate that makes the object: here, where code is compiled for speed.

use crate::marker::{
    AdmissionControl, AggregateMarker, ColorMarker, DstfMarker, FixedMarker, SimaMarker,
    SrptMarker, TcpStateMarker,
};
use crate::meter::{FairMarker, SrTcm, TokenBucket, TrTcm, Tsw2Cm, Tsw3Cm, TwoBuckets};
use crate::queue::{
    AggregateShaper, Fifo, FqCodel, HostFair, Pie, Red, Shaper, SharedPriority, Sima, Stf, Wfq,
};
use crate::scheduler::{DeficitRoundRobin, SourceScheduler, StrictPriority, WeightedRoundRobin};
use crate::{Marker, Meter, PerAggregate, QueueDiscipline};

macro_rules! boxed {
    ($object:ident: $($element:ty),+ $(,)?) => {
        $(impl From<$element> for Box<dyn $object> {
            #[inline(never)]
            fn from(element: $element) -> Self {
                Box::new(element)
            }
        })+
    };
}

boxed! {
    QueueDiscipline: AggregateShaper, DeficitRoundRobin, Fifo, FqCodel, HostFair, Pie, Red, Shaper,
    SharedPriority, Sima, SourceScheduler, Stf, StrictPriority, WeightedRoundRobin, Wfq,
}

boxed! {
    Marker: AdmissionControl, AggregateMarker, ColorMarker, DstfMarker, FixedMarker, SimaMarker,
    SrptMarker, TcpStateMarker,
}

boxed! {
    Meter: FairMarker, SrTcm, TokenBucket, TrTcm, Tsw2Cm, Tsw3Cm, TwoBuckets, PerAggregate<SrTcm>,
    PerAggregate<TokenBucket>, PerAggregate<TrTcm>, PerAggregate<TwoBuckets>,
}
