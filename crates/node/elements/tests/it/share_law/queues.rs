//! Queues that serve several classes, each with the shares of a setup.

use shortflow_elements::QueueDiscipline;
use shortflow_elements::classifier::{Classifier, DscpSet, DscpTable, MultiField, SimaClass};
use shortflow_elements::meter::TokenBucketParams;
use shortflow_elements::queue::{
    AggregateShaper, AggregateShaperParams, CoDelParams, EcnMode, Fairness, Fifo, FifoParams,
    FlowQueueSettings, FqCodel, FqCodelParams, HostFair, HostFairParams, PrecedenceMap, Share,
    SharedPriority, SharedPriorityParams, Sima, SimaBuffer, SimaQueueParams, Stf, StfParams,
    Weight, Wfq, WfqClass, WfqParams, WhenFull,
};
use shortflow_elements::scheduler::{
    ConnectionRule, Customer, CustomerSide, CustomerTree, CustomerTreeParams, CustomerTreeSettings,
    DeficitRoundRobin, FairShares, RateRange, SourceLimits, SourceParams, SourceScheduler,
    StrictPriority, WeightedRoundRobin,
};
use shortflow_elements::sharing::{AggregateProfile, ConnectionLimits, Depths, Sharing};
use shortflow_packet::{Address, Dscp, Prefix};
use shortflow_units::{Bytes, Duration, Length, Rate, Rng};

use super::{CLASSES, LARGEST, Setup};
use crate::bench::{mbit, rng};

/// A class for each code point.
fn classifier() -> Classifier {
    let of = |dscp| MultiField { dscps: Some(DscpSet::EMPTY.with(dscp)), ..MultiField::default() };
    Classifier::new(vec![(of(Dscp::AF11), 0), (of(Dscp::AF12), 1), (of(Dscp::AF13), 2)])
}

fn wfq_of(
    setup: &Setup,
    share: Share,
    own: Option<Length>,
    limit: Option<Length>,
    full: Option<WhenFull>,
) -> Box<dyn QueueDiscipline> {
    let class = |weight: &u32| {
        WfqClass::new(Weight::of_number(f64::from(*weight)).unwrap(), share, own).unwrap()
    };
    let classes = setup.weights.iter().map(class).collect();
    let params = WfqParams::new(classes, classifier(), 2, limit).unwrap();
    let params = match full {
        Some(full) => params.with_when_full(full).unwrap(),
        None => params,
    };
    Box::new(Wfq::new(params, mbit(10), rng()))
}

pub(super) fn wfq_when_full(
    setup: &Setup,
    limit: Length,
    full: WhenFull,
) -> Box<dyn QueueDiscipline> {
    wfq_of(setup, Share::Class, None, Some(limit), Some(full))
}

pub(super) fn wfq(setup: &Setup, limit: Length) -> Box<dyn QueueDiscipline> {
    wfq_of(setup, Share::Class, None, Some(limit), None)
}

pub(super) fn wfq_of_own_limits(setup: &Setup, limit: Length) -> Box<dyn QueueDiscipline> {
    wfq_of(setup, Share::Class, Some(limit), None, None)
}

/// One class for all, in which each flow has the weight.
pub(super) fn wfq_of_flows(_: &Setup, limit: Length) -> Box<dyn QueueDiscipline> {
    let weight = Weight::of_number(1.0).unwrap();
    let class = WfqClass::new(weight, Share::Flow { limit: None }, Some(limit)).unwrap();
    let params = WfqParams::new(vec![class], Classifier::default(), 0, None).unwrap();
    Box::new(Wfq::new(params, mbit(10), rng()))
}

fn fifo(limit: Length) -> Box<dyn QueueDiscipline> {
    Box::new(Fifo::new(FifoParams::new(limit).unwrap()))
}

pub(super) fn drr(setup: &Setup, limit: Length) -> Box<dyn QueueDiscipline> {
    let quantum = |weight: &u32| Bytes(u64::from(LARGEST * weight));
    let children = setup.weights.iter().map(|weight| (quantum(weight), fifo(limit))).collect();
    Box::new(DeficitRoundRobin::new(classifier(), children, 2).unwrap())
}

pub(super) fn fair_shares(setup: &Setup, limit: Length) -> Box<dyn QueueDiscipline> {
    let rates = |weight: &u32| RateRange::new(mbit(u64::from(*weight)), None).unwrap();
    let children = setup.weights.iter().map(|weight| (rates(weight), fifo(limit))).collect();
    Box::new(FairShares::new(classifier(), children, 2).unwrap())
}

/// Each class is a customer, by its host, with a plan above the line.
pub(super) fn customers(setup: &Setup, limit: Length) -> Box<dyn QueueDiscipline> {
    let customer = |(class, weight): (usize, &u32)| Customer {
        prefixes: vec![Prefix::host(Address::v4(0x0a00_0101 + class as u32))],
        site: None,
        rates: RateRange::new(Rate::from_bits_per_sec(1), Some(mbit(20 * u64::from(*weight))))
            .unwrap(),
    };
    let settings = CustomerTreeSettings {
        side: CustomerSide::Source,
        rate: None,
        sites: Vec::new(),
        customers: setup.weights.iter().enumerate().map(customer).collect(),
        unknown: None,
    };
    let params = CustomerTreeParams::new(settings).unwrap();
    Box::new(CustomerTree::new(params, mbit(10), |_| fifo(limit)))
}

pub(super) fn wrr(setup: &Setup, limit: Length) -> Box<dyn QueueDiscipline> {
    let children = setup.weights.iter().map(|weight| (*weight, fifo(limit))).collect();
    Box::new(WeightedRoundRobin::new(classifier(), children, 2).unwrap())
}

pub(super) fn strict_priority(_: &Setup, limit: Length) -> Box<dyn QueueDiscipline> {
    let children = (0..CLASSES).map(|_| fifo(limit)).collect();
    Box::new(StrictPriority::new(classifier(), children, 2).unwrap())
}

pub(super) fn shared_priority(_: &Setup, limit: Length) -> Box<dyn QueueDiscipline> {
    let bands = DscpTable::filled(2).with(Dscp::AF11, 0).with(Dscp::AF12, 1);
    let params = SharedPriorityParams::by_code_point(limit, bands).unwrap();
    Box::new(SharedPriority::new(params))
}

/// CoDel never drops within a test: what it drops is for the delay, not for the buffer.
fn flow_queues(limit: Length) -> FlowQueueSettings {
    let (target, interval) = (Duration::from_secs(100), Duration::from_secs(1000));
    let codel = CoDelParams::new(target, interval, Bytes(1514)).unwrap();
    FlowQueueSettings { limit, queues: 1024, quantum: Bytes(1514), codel, ecn: EcnMode::Drop }
}

pub(super) fn fq_codel(_: &Setup, limit: Length) -> Box<dyn QueueDiscipline> {
    let params = FqCodelParams::new(flow_queues(limit)).unwrap();
    Box::new(FqCodel::new(params, Rng::stream(1, "fq-codel")))
}

pub(super) fn host_fair(_: &Setup, limit: Length) -> Box<dyn QueueDiscipline> {
    let params = HostFairParams::new(flow_queues(limit), Fairness::Source).unwrap();
    Box::new(HostFair::new(params, Rng::stream(1, "host-fair")))
}

/// The floods have been served more than the light class from the start.
pub(super) fn stf(_: &Setup, limit: Length) -> Box<dyn QueueDiscipline> {
    Box::new(Stf::new(StfParams::new(limit, 64, Duration::from_secs(60)).unwrap(), rng()))
}

/// Connections in one class, none of which needs tokens.
pub(super) fn source_scheduler(setup: &Setup, limit: Length) -> Box<dyn QueueDiscipline> {
    let limits = SourceLimits { limit, limit_per_connection: None, connections: 64 };
    let bucket = || TokenBucketParams::new(Rate::from_bits_per_sec(1_000), Bytes(1500)).unwrap();
    let code_points = [8, 16, 24].map(|value| Dscp::new(value).unwrap());
    let remark_after = Duration::from_secs(100);
    let params = SourceParams::new(limits, bucket(), bucket(), remark_after, code_points).unwrap();
    let rule = |weight: &u32| ConnectionRule::new(1, *weight).unwrap();
    let rules = setup.weights.iter().map(rule).collect();
    Box::new(SourceScheduler::new(params.with_rules(classifier(), rules).unwrap(), rng()))
}

/// Tokens for the line, of which each connection has a third; and room for what conforms at once, of which
/// nothing is pushed out any more.
pub(super) fn aggregate_shaper(_: &Setup, limit: Length) -> Box<dyn QueueDiscipline> {
    let depth = 6_000;
    let limit = match limit {
        Length::Packets(packets) => Length::Packets(packets + depth / 40),
        Length::Bytes(bytes) => Length::Bytes(Bytes(bytes.0 + depth)),
    };
    let profile = AggregateProfile::new(mbit(10), Bytes(depth), Bytes(1_500)).unwrap();
    let connections = ConnectionLimits::new(8, Duration::from_secs(10)).unwrap();
    let (sharing, timer) = (Sharing::Partitioned(Depths::Equal), Duration::from_millis(1));
    let params = AggregateShaperParams::new(profile, sharing, connections, limit, timer).unwrap();
    Box::new(AggregateShaper::new(params, rng()))
}

/// The light class has precedence 5 in the real-time buffer or in the other, and the floods have 1 in
/// each. Its bursts fill a seventh of its buffer at most.
fn sima(limit: Length, light_is: SimaClass) -> Box<dyn QueueDiscipline> {
    let limit = match limit {
        Length::Packets(packets) => Bytes(packets * u64::from(LARGEST)),
        Length::Bytes(bytes) => bytes,
    };
    let limit = Bytes(7 * limit.0.max(2 * u64::from(LARGEST)));
    let mut code_points = [SimaClass::RealTime, SimaClass::NonRealTime].map(SimaClass::code_points);
    let light = if light_is == SimaClass::RealTime { 0 } else { 1 };
    code_points[light][5] = Dscp::AF11;
    code_points[0][1] = Dscp::AF12;
    code_points[1][1] = Dscp::AF13;
    let [real_time, other] = code_points.map(|points| SimaBuffer::new(limit, 1.0, points).unwrap());
    let params = SimaQueueParams::new(real_time, other, PrecedenceMap::default()).unwrap();
    Box::new(Sima::new(params))
}

pub(super) fn sima_real_time(_: &Setup, limit: Length) -> Box<dyn QueueDiscipline> {
    sima(limit, SimaClass::RealTime)
}

pub(super) fn sima_non_real_time(_: &Setup, limit: Length) -> Box<dyn QueueDiscipline> {
    sima(limit, SimaClass::NonRealTime)
}
