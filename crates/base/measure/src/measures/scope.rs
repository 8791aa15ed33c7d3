//! What each measure is taken of.

use super::Measure;

/// What a measure is taken of: which parts of a [`Subject`](super::Subject) it needs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scope {
    /// A workload, and each of its size classes.
    Class,
    /// The same, for each limit.
    Limit,
    /// A workload above each of its size classes.
    Above,
    /// A workload.
    Workload,
    /// The datagrams of a workload, and each of its streams.
    Stream,
    /// A port, and each of its code points.
    CodePoint,
    /// A port.
    Port,
    /// A counter.
    Counter,
}

impl Measure {
    /// What it is taken of.
    pub const fn scope(self) -> Scope {
        match self {
            Measure::Completion
            | Measure::CompletionMedian
            | Measure::CompletionP95
            | Measure::CompletionP99
            | Measure::CompletionMax
            | Measure::CompletionDeviation
            | Measure::CompletionVariation
            | Measure::Completed
            | Measure::CompletedRate
            | Measure::Active
            | Measure::Handshake
            | Measure::Request
            | Measure::Reply => Scope::Class,
            Measure::ShareOver => Scope::Limit,
            Measure::BytesAbove => Scope::Above,
            Measure::Open
            | Measure::OfferedLoad
            | Measure::RealisedLoad
            | Measure::Goodput
            | Measure::DataGoodput
            | Measure::RequestGoodput
            | Measure::PacketLoss
            | Measure::Retransmissions
            | Measure::Timeouts
            | Measure::Fairness
            | Measure::MaxMinFairness
            | Measure::LongFlowRate
            | Measure::ThroughputVariation
            | Measure::IdleSamples
            | Measure::DelayAdded
            | Measure::DelayDeviation
            | Measure::Jitter
            | Measure::JitterMedian
            | Measure::JitterP95
            | Measure::JitterP99 => Scope::Workload,
            Measure::Sent
            | Measure::Delay
            | Measure::DelayMedian
            | Measure::DelayP95
            | Measure::DelayP99
            | Measure::DelayMax
            | Measure::DatagramLoss
            | Measure::RFactor
            | Measure::OpinionScore => Scope::Stream,
            Measure::Arrived | Measure::Loss => Scope::CodePoint,
            Measure::Utilisation | Measure::MeanQueue | Measure::MeanWait | Measure::EcnMarks => {
                Scope::Port
            }
            Measure::Counter | Measure::CounterRate => Scope::Counter,
        }
    }
}
