//! Behaviour of the elements, as timelines and laws.

mod admission;
mod allocations;
mod bench;
mod dstf;
mod fair_marker;
mod fifo;
mod fq_codel;
mod host_fair;
mod marker_laws;
mod meter_laws;
mod pie;
mod queue_laws;
mod red;
mod red_levels;
mod round_robin;
mod shaper;
mod shared_priority;
mod sharing;
mod sima_marker;
mod sima_queue;
mod source_scheduler;
mod stf;
mod strict_priority;
mod three_color;
mod tsw;
mod wfq;
