//! One measurement.

use std::net::{SocketAddr, UdpSocket};
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::time::{Duration as Wall, Instant as WallClock};

use nix::sys::time::TimeValLike;
use nix::time::{ClockId, clock_gettime};
use shortflow_measure::Histogram;
use shortflow_run::{Error, TimingError};
use shortflow_scenario::{IpVersion, NodeId, Scenario};
use shortflow_sim::LiveNetwork;
use shortflow_testbed::{Checksums, Device, Home, Host, HostSpec, KernelPath};
use shortflow_units::{Duration, Instant};

use super::{Speed, Way, datagrams, inline, keep_on_processor, lacking};
use crate::clock::Clock;
use crate::realtime::{Priority, prefer_this_thread};
use crate::router::{Edges, Router, Times};
use crate::site::{Asking, Site};

/// Seconds before it is measured: flows are known by then, and queues stand.
const WARM_UP: f64 = 0.2;

/// How long the first datagram may take.
const FIRST_DATAGRAM_TIMEOUT: Wall = Wall::from_secs(3);

/// The port to which datagrams go.
const PORT: u16 = 9;

/// Bytes of the largest packet.
const MTU: u32 = 1500;

/// Forwards datagrams of a size on a way, for this number of seconds.
pub(super) fn measure(home: &Home, way: Way, size: u32, seconds: f64) -> Result<Speed, Error> {
    let scenario = way.scenario()?;
    let ends = ["sender", "receiver"].map(|name| scenario_node(&scenario, name));
    let to = SocketAddr::new(ends[1].automatic(IpVersion::V4).into(), PORT);
    let specs = ends.map(|node| HostSpec {
        addresses: vec![node.automatic(IpVersion::V4).into()],
        mtu: MTU,
        queue: 1000,
        ..HostSpec::default()
    });
    let speed = |received: Received, cpu_nanos, timing: Option<TimingError>| Speed {
        way,
        size,
        round: 0,
        per_second: received.per_second,
        cpu_nanos,
        late_nanos: timing.map(|timing| timing.p99.nanos()),
        delay_nanos: received.delay_nanos,
        sender_late_nanos: received.sender_late_nanos,
    };
    if let Some(policy) = way.inline() {
        let (received, cpu) =
            inline::measure(home, policy, way == Way::InlineBare, &specs, to, size, seconds)?;
        return Ok(speed(received, Some(cpu), None));
    }
    let Some(kind) = way.ports() else {
        let checksums = Checksums::LeftToDevices;
        let path = KernelPath::make(home, [&specs[0], &specs[1]], checksums).map_err(lacking)?;
        let sockets = sockets(home, [&path.hosts[0], &path.hosts[1]], to)?;
        // The kernel forwards in the time of the sender.
        return Ok(speed(flood(sockets, size, seconds, Processors(0, 1))?, None, None));
    };
    let mut by_node: Vec<Option<HostSpec>> = scenario.nodes.iter().map(|_| None).collect();
    ends.iter().zip(specs).for_each(|(node, spec)| by_node[node.index()] = Some(spec));
    let mut site = Site::make(&Asking::for_scenario(&scenario), by_node, kind, &mut || true)?;
    let hosts = site.hosts.place(&scenario, IpVersion::V4, None).hosts;
    let [Some(sender), Some(receiver)] = ends.map(|node| hosts[node.index()].as_ref()) else {
        unreachable!("both ends are hosts")
    };
    let sockets = sockets(home, [sender, receiver], to)?;
    let applications = site.applications().map_err(lacking)?;
    let edges = Edges::new(site.edges.clone(), &scenario, applications);
    let network = LiveNetwork::new(&scenario, 0);
    let (devices, largest) = (&mut site.devices, site.largest);
    let stop = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let routing = scope.spawn(|| route(network, edges, devices, largest, &stop));
        let found = flood(sockets, size, seconds, Processors(1, 2));
        stop.store(true, Ordering::Relaxed);
        let (cpu, timing) = routing.join().expect("the router keeps every packet")?;
        Ok(speed(found?, Some(cpu), timing))
    })
}

/// Runs the router until it is stopped: nanoseconds of CPU time for each packet, and how late they were.
fn route(
    network: LiveNetwork,
    edges: Edges,
    devices: &mut [Option<Device>],
    largest: usize,
    stop: &AtomicBool,
) -> Result<(f64, Option<TimingError>), Error> {
    keep_on_processor(0).map_err(lacking)?;
    let end = Instant::START + Duration::from_secs(3600);
    let router = Router {
        network,
        devices,
        clock: Clock::beginning_in(Duration::ZERO).map_err(lacking)?,
        times: Times { warm_up: Instant::START, measured_until: end, end },
        largest,
        streams: Default::default(),
        capture: None,
        monitor: None,
        edges,
    };
    let spent = || clock_gettime(ClockId::CLOCK_THREAD_CPUTIME_ID).map_err(lacking);
    let before = spent()?;
    let routed = router.run(stop, &AtomicU32::new(0)).map_err(lacking)?;
    let spent = (spent()? - before).num_nanoseconds() as f64;
    Ok((spent / routed.delivered as f64, routed.timing))
}

/// The node of this name.
fn scenario_node(scenario: &Scenario, name: &str) -> NodeId {
    let at = scenario.nodes.iter().position(|node| node.name == name);
    NodeId(at.expect("the scenario is our own") as u32)
}

/// The sockets of the sender and of the receiver.
pub(super) fn sockets(
    home: &Home,
    hosts: [&Host; 2],
    to: SocketAddr,
) -> Result<(Vec<UdpSocket>, UdpSocket), Error> {
    let receiver = hosts[1].within(home, || datagrams::receiver(to)).map_err(lacking)?;
    let senders = hosts[0].within(home, || datagrams::senders(to)).map_err(lacking)?;
    Ok((senders.map_err(lacking)?, receiver.map_err(lacking)?))
}

/// Where the sender and the receiver run.
pub(super) struct Processors(pub(super) usize, pub(super) usize);

/// The datagrams that the receiver got.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Received {
    /// Datagrams per second while the sender sent as many as it could.
    pub(super) per_second: f64,
    /// The 99th percentile of their delay, in nanoseconds, at half of that rate.
    pub(super) delay_nanos: Option<f64>,
    /// The part of it that the sender caused: the 99th percentile of how late it sent.
    pub(super) sender_late_nanos: Option<f64>,
}

/// Sends as many datagrams as possible, then half as many.
pub(super) fn flood(
    (senders, receiver): (Vec<UdpSocket>, UdpSocket),
    size: u32,
    seconds: f64,
    Processors(of_sender, of_receiver): Processors,
) -> Result<Received, Error> {
    let (stop, came) = (AtomicBool::new(false), AtomicU64::new(0));
    let (is_flooded, is_paced) = (AtomicBool::new(false), AtomicBool::new(false));
    // Whoever looks at the clock must come to it in time.
    let _preferred = prefer_this_thread(Priority::Router);
    std::thread::scope(|scope| {
        let receiving = scope.spawn(|| {
            keep_on_processor(of_receiver)?;
            datagrams::receive(&receiver, &came, &stop)
        });
        let sending = scope.spawn(|| {
            keep_on_processor(of_sender)?;
            datagrams::send(&senders, size, &is_flooded)
        });
        let patient_until = WallClock::now() + FIRST_DATAGRAM_TIMEOUT;
        while came.load(Ordering::Relaxed) == 0 && WallClock::now() < patient_until {
            std::thread::sleep(Wall::from_millis(10));
        }
        std::thread::sleep(Wall::from_secs_f64(WARM_UP));
        let (begun, before) = (WallClock::now(), came.load(Ordering::Relaxed));
        std::thread::sleep(Wall::from_secs_f64(seconds));
        let found = came.load(Ordering::Relaxed) - before;
        let per_second = found as f64 / begun.elapsed().as_secs_f64();
        is_flooded.store(true, Ordering::Relaxed);
        sending.join().expect("the sender only sends").map_err(lacking)?;
        std::thread::sleep(DRAIN);
        let (senders, is_over) = (&senders, &is_paced);
        let pacing = scope.spawn(move || {
            keep_on_processor(of_sender)?;
            datagrams::send_paced(senders, size, per_second / 2.0, is_over)
        });
        std::thread::sleep(Wall::from_secs_f64(seconds));
        is_paced.store(true, Ordering::Relaxed);
        let lateness = pacing.join().expect("the sender only sends").map_err(lacking)?;
        std::thread::sleep(DRAIN);
        stop.store(true, Ordering::Relaxed);
        let delays = receiving.join().expect("the receiver only counts").map_err(lacking)?;
        let nanos = |of: &Histogram| of.quantile(0.99).map(|seconds| seconds * 1e9);
        Ok(Received {
            per_second,
            delay_nanos: nanos(&delays),
            sender_late_nanos: nanos(&lateness),
        })
    })
}

/// How long the last datagrams of a flood may take.
const DRAIN: Wall = Wall::from_millis(100);
