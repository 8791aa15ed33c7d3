//! Behaviour of the elements, as timelines and laws.

mod bench;
mod fair_marker;
mod fifo;
mod fq_codel;
mod host_fair;
mod meter_laws;
mod queue_laws;
mod red;
mod red_levels;
mod round_robin;
mod source_scheduler;
mod strict_priority;
mod three_color;
mod tsw;
