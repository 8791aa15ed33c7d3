//! Schedulers: choose the next of several queues. A scheduler is a queue itself.

mod classes;
mod customers;
mod deficit_round_robin;
mod fair_shares;
mod source;
mod strict_priority;
mod weighted_round_robin;

pub use customers::{
    Customer, CustomerSide, CustomerSite, CustomerTree, CustomerTreeParams, CustomerTreeSettings,
};
pub use deficit_round_robin::{DeficitRoundRobin, checked_quantum};
pub use fair_shares::{FairShares, RateRange};
pub use source::{ConnectionRule, SourceLimits, SourceParams, SourceScheduler, SourceSettings};
pub use strict_priority::StrictPriority;
pub use weighted_round_robin::{WeightedRoundRobin, checked_weight};
