//! Behaviour of the elements, as timelines and laws.

mod admission;
mod bench;
mod dstf;
mod fair_marker;
mod fifo;
mod marker_laws;
mod meter_laws;
mod queue_laws;
mod red;
mod red_levels;
mod shared_priority;
mod stf;
mod strict_priority;
mod three_color;
mod tsw;
mod wfq;
