//! Queues, which hold packets for a link and choose the next one. A scheme is declared and registered here, and defined in its own file.

pub mod aggregate_shaper;
pub mod drr;
pub mod fifo;
pub mod fq_codel;
pub mod host_fair;
pub mod htb;
pub mod multi_red;
pub mod pie;
pub mod plans;
pub mod red;
pub mod shaper;
pub mod shared_priority;
pub mod sima;
pub mod source_scheduler;
pub mod stf;
pub mod strict_priority;
pub mod wfq;
pub mod wrr;

crate::scheme::register_queues! {
    aggregate_shaper AggregateShaper,
    drr Drr,
    fifo Fifo,
    fq_codel FqCodel,
    host_fair HostFair,
    htb Htb,
    multi_red MultiRed,
    pie Pie,
    plans Plans,
    red Red,
    shaper Shaper,
    shared_priority SharedPriority,
    sima Sima,
    source_scheduler SourceScheduler,
    stf Stf,
    strict_priority StrictPriority,
    wfq Wfq,
    wrr Wrr,
}
