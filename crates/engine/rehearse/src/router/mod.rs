//! The network between the hosts, in real time: it reads packets from the hosts' devices, passes them through the
//! simulator's network, and writes them to the devices of their destinations.
//!
//! ```text
//! Tun ── read ──▶ Frames ── descriptor ──▶ LiveNetwork ── when its time has come ──▶ Frames ── write ──▶ Tun
//! ```

mod edge;
mod frames;
#[cfg(all(test, feature = "ebpf"))]
mod kernel_views;
mod lateness;
mod numbers;
#[cfg(test)]
mod real_packets;
mod reset;

use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

use nix::errno::Errno;
use nix::sys::epoll::EpollFlags;
use rustc_hash::FxHashMap;
use shortflow_packet::{FlowKey, Packet, Protocol};
use shortflow_run::{TimingError, end_of};
use shortflow_scenario::{NodeId, Scenario};
use shortflow_sim::{Hosts, LiveNetwork, LiveRecord};
use shortflow_testbed::Device;
use shortflow_units::Instant;

use crate::capture::Capture;
use crate::clock::Clock;
use crate::monitor::{Monitor, Shown};
use crate::realtime::{Priority, prefer_this_thread};
use crate::thread_load::ThreadLoad;
use crate::wait::Wait;
pub(crate) use edge::{EdgeSpec, Edges};
pub(crate) use frames::Frames;
use lateness::Lateness;
use reset::reset_of;

/// Packets that are read from one host before the clock is looked at again.
const BATCH: usize = 32;

/// Packets for which there is room from the beginning.
const FRAMES: usize = 4096;

/// When what is counted.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Times {
    /// From here on it is measured,
    pub(crate) warm_up: Instant,
    /// until here;
    pub(crate) measured_until: Instant,
    /// and here it ends.
    pub(crate) end: Instant,
}

impl Times {
    pub(crate) fn new(scenario: &Scenario) -> Times {
        Times {
            warm_up: Instant::START + scenario.warm_up,
            measured_until: Instant::START + scenario.duration,
            end: end_of(scenario),
        }
    }

    /// The first of these times that has not passed. No packet is read at a later time before it has: it would
    /// count on the wrong side.
    fn first_not_passed(&self, is_warm: bool, is_measured: bool) -> Instant {
        match (is_warm, is_measured) {
            (false, _) => self.warm_up,
            (true, false) => self.measured_until,
            (true, true) => self.end,
        }
    }

    /// The share of the run that is over by `now`.
    pub(crate) fn share(&self, now: Instant) -> f64 {
        now.as_secs_f64() / self.end.as_secs_f64()
    }
}

/// What the router is run with.
pub(crate) struct Router<'d> {
    pub(crate) network: LiveNetwork,
    /// The devices of the hosts by their nodes; none for the routers.
    pub(crate) devices: &'d mut [Option<Device>],
    pub(crate) clock: Clock,
    pub(crate) times: Times,
    /// Bytes of the largest packet.
    pub(crate) largest: usize,
    /// The streams of datagrams whose losses are reported, each with its number.
    pub(crate) streams: FxHashMap<FlowKey, u32>,
    /// Where packets are captured, if anywhere.
    pub(crate) capture: Option<Capture>,
    /// Where it is shown how the network stands, if anywhere.
    pub(crate) monitor: Option<&'d Monitor>,
    /// The hosts' state of their connections.
    pub(crate) edges: Edges,
}

/// What the router tells at the end.
#[derive(Debug)]
pub(crate) struct Routed {
    pub(crate) record: Option<LiveRecord>,
    pub(crate) timing: Option<TimingError>,
    /// Datagrams that were dropped: when they were sent, and of which stream they were.
    pub(crate) dropped: Vec<(Instant, u32)>,
    /// Packets that hosts sent to nowhere, and packets that a host's kernel did not take.
    pub(crate) strangers: u64,
    pub(crate) refused: u64,
    /// Packets that the capture skipped.
    pub(crate) uncaptured: u64,
    /// Packets that reached their destination host.
    pub(crate) delivered: u64,
    /// The share of the time in which the thread has worked.
    pub(crate) busy: f64,
    /// Why the thread does not run in real time, if it does not.
    pub(crate) not_preferred: Option<Errno>,
}

/// The devices' side of the network.
struct Side<'d> {
    devices: &'d mut [Option<Device>],
    clock: Clock,
    frames: Frames,
    lateness: Lateness,
    streams: FxHashMap<FlowKey, u32>,
    dropped: Vec<(Instant, u32)>,
    refused: u64,
    capture: Option<Capture>,
    edges: Edges,
}

/// The number of the event by which the load reports delayed data.
const BELL: u64 = u64::MAX - 1;

impl Router<'_> {
    /// Carries packets until the end, or until `stop`. `open` is how many transfers are open, for time series.
    ///
    /// # Errors
    /// When the kernel has no event queue or timer left.
    ///
    /// # Panics
    /// When a packet was lost or made: our own mistake, never the input's.
    pub(crate) fn run(self, stop: &AtomicBool, open: &AtomicU32) -> Result<Routed, Errno> {
        let Router { mut network, devices, clock, times, largest, streams, .. } = self;
        let Router { capture, monitor, edges, .. } = self;
        let mut side = Side {
            devices,
            clock,
            frames: Frames::new(FRAMES, largest),
            lateness: Lateness::new(),
            streams,
            dropped: Vec::new(),
            refused: 0,
            capture,
            edges,
        };
        let preferred = prefer_this_thread(Priority::Router);
        let thread_load = ThreadLoad::begin()?;
        let mut wait = side.awaited()?;
        let mut ready = Vec::new();
        let mut shown = monitor.map(Shown::new);
        let (mut strangers, mut record, mut is_warm) = (0, None, false);
        loop {
            // Asked before the time: a load that has seen the end of measuring stops a router that has, too.
            let is_stopped = stop.load(Ordering::Acquire);
            let now = clock.now();
            network.open_transfers = open.load(Ordering::Relaxed);
            if !is_warm && now >= times.warm_up {
                is_warm = true;
                network.advance(times.warm_up, &mut side);
                network.end_warm_up(times.measured_until);
            }
            if record.is_none() && now >= times.measured_until {
                network.advance(times.measured_until, &mut side);
                record = Some(network.measured());
            }
            network.advance(now.min(times.end), &mut side);
            tell(&mut network, &mut side);
            side.capture(now);
            if let Some(shown) = &mut shown
                && let Some(scenario) = shown.look(&mut network, now, &mut side)
            {
                side.edges.bind(scenario);
            }
            if now >= times.end || is_stopped {
                break;
            }
            let next = network.next_at().unwrap_or(times.end).min(times.end);
            wait.until(next, &mut ready)?;
            let until = times.first_not_passed(is_warm, record.is_some());
            for &(number, _) in &ready {
                strangers += side.take(number, &mut network, until, &wait);
            }
        }
        network.check_conservation();
        let busy = thread_load.share()?;
        let Side { lateness, dropped, refused, capture, .. } = side;
        Ok(Routed {
            record,
            timing: lateness.found(wait.stalls()),
            dropped,
            strangers,
            refused,
            uncaptured: capture.map_or(0, Capture::end),
            delivered: network.totals().delivered,
            busy,
            not_preferred: preferred.err(),
        })
    }
}

/// Tells queues what has happened at applications.
fn tell(network: &mut LiveNetwork, side: &mut Side<'_>) {
    for (node, news) in side.edges.take_news() {
        network.tell(node, &news, side);
    }
}

impl Side<'_> {
    /// Waits for all devices, and for the bell.
    fn awaited(&self) -> Result<Wait, Errno> {
        let wait = Wait::new(self.clock)?;
        for (number, device) in (0..).zip(&*self.devices) {
            if let Some(device) = device {
                wait.add(device, EpollFlags::EPOLLIN, number)?;
            }
        }
        if let Some(applications) = self.edges.applications() {
            wait.add(applications.bell(), EpollFlags::EPOLLIN, BELL)?;
        }
        Ok(wait)
    }

    /// Handles packets from a host, or the load's event: the time of what is read after `until` is `until`. Returns
    /// the number of packets without a destination.
    fn take(&mut self, number: u64, network: &mut LiveNetwork, until: Instant, wait: &Wait) -> u64 {
        if number == BELL {
            self.edges.take_held_back();
            return 0;
        }
        let (node, mut strangers) = (NodeId(number as u32), 0);
        for _ in 0..BATCH {
            let Some(device) = &mut self.devices[node.index()] else { break };
            let packet = match self.frames.take_in(|place| device.read(place)) {
                Ok(Some(packet)) => packet,
                Ok(None) => {
                    strangers += 1;
                    continue;
                }
                Err(error) => {
                    // One that a program inside has removed is ready for ever.
                    if error.raw_os_error() == Some(Errno::EBADFD as i32) {
                        wait.remove(device);
                    }
                    break;
                }
            };
            let now = self.clock.now().min(until);
            let seen = self.frames.seen(&packet);
            let sender = self.edges.sent(node, &packet, seen);
            // The bytes of a packet that is dropped may be overwritten.
            let is_asked = sender.as_ref().is_some_and(|sender| sender.is_range);
            let bytes = is_asked.then(|| self.frames.bytes(&packet).to_vec());
            if let Err((packet, _)) = network.send(now, node, packet, sender.as_ref(), self) {
                self.frames.release(&packet);
                strangers += 1;
            }
            if network.take_ended() {
                self.reset(node, &bytes.unwrap_or_default());
            }
            tell(network, self);
        }
        strangers
    }

    /// Resets the connection of a segment at the host that sent it, as if its peer did. The load gives up both ends.
    fn reset(&mut self, node: NodeId, segment: &[u8]) {
        let device = self.devices[node.index()].as_mut();
        if let Some((device, reset)) = device.zip(reset_of(segment))
            && device.write(&reset).is_err()
        {
            self.refused += 1;
        }
    }

    /// Copies what the network has shown, before the bytes of a packet fall free.
    fn keep_seen(&mut self) {
        if let Some(capture) = &mut self.capture {
            capture.take_in(&self.frames);
        }
    }

    fn capture(&mut self, now: Instant) {
        self.keep_seen();
        if let Some(capture) = &mut self.capture {
            capture.hand_on(now);
        }
    }
}

impl Hosts for Side<'_> {
    fn deliver(&mut self, at: Instant, node: NodeId, packet: Packet) {
        self.keep_seen();
        let seen = self.frames.seen(&packet);
        let bytes = self.frames.give_back(&packet);
        let taken = self.devices[node.index()].as_mut().map(|device| device.write(bytes));
        self.lateness.add(at, self.clock.now());
        if !matches!(taken, Some(Ok(()))) {
            self.refused += 1;
        }
        self.edges.came(node, &packet, seen);
    }

    fn dropped(&mut self, sent_at: Instant, packet: Packet) {
        self.keep_seen();
        self.frames.release(&packet);
        if packet.key.protocol == Protocol::UDP
            && let Some(&stream) = self.streams.get(&packet.key)
        {
            self.dropped.push((sent_at, stream));
        }
    }
}

#[cfg(test)]
mod tests {
    use shortflow_units::Duration;

    use super::*;

    #[test]
    fn a_packet_that_is_read_late_counts_before_the_end_of_measuring_that_nobody_has_noticed() {
        let at = |seconds| Instant::START + Duration::from_secs(seconds);
        let times = Times { warm_up: at(1), measured_until: at(3), end: at(4) };
        let read_at = |now: Instant, is_warm, is_measured| {
            now.min(times.first_not_passed(is_warm, is_measured))
        };
        assert_eq!(read_at(at(2), false, false), at(1), "the warm-up is not over for the counters");
        assert_eq!(read_at(at(2), true, false), at(2));
        assert_eq!(read_at(at(4), true, false), at(3), "the counters are not read yet");
        assert_eq!(read_at(at(5), true, true), at(4));
    }
}
