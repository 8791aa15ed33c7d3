//! The router: frames from either device, through the elements of its direction, to the other device.

use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, Ordering};

use nix::errno::Errno;
use nix::libc;
use shortflow_ebpf::{InlineProgram, InlineSettings};
use shortflow_elements::{Backlog, ClassCounters};
use shortflow_units::{Duration, Instant};

use crate::Error;
use crate::bridge::Bridge;
use crate::direction::Direction;
use crate::ethtool::{Offloads, receive_queues};
use crate::frames::{Frames, NotTaken};
use crate::occupied::{is_free, other_program};
use crate::plan::Plan;
use crate::schedule::schedule;
use crate::socket::{MAX_FRAME, Socket};
use crate::timer::{Clock, Waiter};
use crate::watched::{Change, Watched};

/// Frames for which there is room from the beginning.
const FRAMES: usize = 2048;

/// How often the programs at the devices hear of the router, and how long they wait for that.
const HEARTBEAT: Duration = Duration::from_millis(1);
const MAX_SILENCE: Duration = Duration::from_millis(8);

/// How soon a device that has no room is tried again.
const RETRY: Duration = Duration::from_micros(100);

/// How often in a row a queue may be asked for a packet that is due and give none, as one that drops does.
const MAX_IN_VAIN: u32 = 1000;

/// The priority of the thread, if it may have one (sched(7): SCHED_FIFO).
const PRIORITY: libc::c_int = 50;

/// A router between two devices, which runs a policy's elements.
pub struct Inline {
    sides: [Side; 2],
    bridge: Watched,
    clock: Clock,
    waiter: Waiter,
    is_preferred: bool,
}

/// A device, and the packets that leave through the other one.
struct Side {
    name: String,
    sockets: Vec<Socket>,
    direction: Direction,
    /// The packets that wait for the other device.
    frames: Frames,
    program: InlineProgram,
    counters: Counters,
    _offloads: Offloads,
}

#[derive(Debug, Clone, Copy, Default)]
struct Counters {
    packets: u64,
    bytes: u64,
    /// Frames that no place was free for.
    no_room: u64,
    /// Frames whose packet is cut off or damaged.
    damaged: u64,
}

/// What was counted since the start.
#[derive(Debug, Clone)]
pub struct Report {
    /// From the first device to the second, and back.
    pub directions: [DirectionReport; 2],
    /// Whether the thread runs before all others that have no real-time priority.
    pub is_preferred: bool,
}

/// What was counted in one direction.
#[derive(Debug, Clone)]
pub struct DirectionReport {
    /// The devices, as in `eth1->eth2`.
    pub name: String,
    /// Packets that left, and their bytes.
    pub packets: u64,
    /// Bytes of the IP packets that left.
    pub bytes: u64,
    /// What waits now.
    pub backlog: Backlog,
    /// Dropped packets by reason; reasons that did not occur are left out.
    pub dropped: Vec<(&'static str, u64)>,
    /// Packets with an ECN mark from the queue.
    pub ecn_marks: u64,
    /// The classes of the role that conditions packets.
    pub classes: Vec<ClassCounters>,
    /// Frames for the bridge: without IP, to many, or to this machine.
    pub to_bridge: u64,
    /// Frames that were too long, so that the bridge forwarded them.
    pub too_long: u64,
    /// Frames that the bridge forwarded because the router was late.
    pub while_silent: u64,
    /// Frames that the bridge forwarded because they came by a queue that the device did not have at the start.
    pub no_socket: u64,
    /// Frames that came faster than they were taken.
    pub lost: u64,
}

impl Inline {
    /// Attaches to both devices of a bridge. Packets pass through the elements as soon as [`Inline::run`] runs.
    ///
    /// # Errors
    /// If a policy is deployed on a device, another router has it, or the machine lacks something.
    pub fn attach(bridge: &Bridge, devices: [&str; 2], plan: &Plan<'_>) -> Result<Inline, Error> {
        devices.into_iter().try_for_each(is_free)?;
        let clock = Clock::new().map_err(Error::kernel("cannot read the clock"))?;
        let waiter = Waiter::new(clock).map_err(Error::kernel("cannot make a timer"))?;
        let settings = InlineSettings {
            max_frame: MAX_FRAME,
            max_silence: MAX_SILENCE.nanos(),
            own: bridge.addresses.clone(),
        };
        let side = |number: usize| -> Result<Side, Error> {
            let (device, index) = (devices[number], bridge.devices[number]);
            let name = format!("{device}->{}", devices[1 - number]);
            let mut program = InlineProgram::load(&settings)?;
            let offloads = Offloads::off(index);
            // The driver changes its queues when a program comes, so the sockets follow.
            program.attach(index).map_err(|error| match error {
                shortflow_ebpf::Error::XdpInUse => other_program(device),
                error => error.into(),
            })?;
            let sockets = (0..queues(device)?)
                .map(|queue| Socket::open(device, index, queue))
                .collect::<Result<Vec<_>, _>>()?;
            for (queue, socket) in (0..).zip(&sockets) {
                waiter.add(socket.fd()).map_err(Error::kernel("cannot wait for a socket"))?;
                program.listen(queue, socket)?;
            }
            let (direction, counters) = (plan.direction(number, &name, &name), Counters::default());
            let frames = Frames::new(FRAMES, MAX_FRAME as usize);
            Ok(Side { name, sockets, direction, frames, program, counters, _offloads: offloads })
        };
        let sides = [side(0)?, side(1)?];
        let bridge = Watched::new(bridge.clone(), devices);
        Ok(Inline { sides, bridge, clock, waiter, is_preferred: prefer_this_thread().is_ok() })
    }

    /// Routes packets until `stop`, or until `tell` breaks, which is called about every `interval`.
    ///
    /// # Errors
    /// If the bridge or one of its ports changes, or the kernel refuses to wait.
    pub fn run(
        &mut self,
        stop: &AtomicBool,
        interval: Duration,
        tell: impl FnMut(&Report) -> ControlFlow<()>,
    ) -> Result<Report, Error> {
        let watched = self.bridge.clone();
        watched.while_it_lasts(|has_changed| self.route(stop, has_changed, interval, tell))?;
        Ok(self.report())
    }

    /// What has changed of the bridge and its ports since the start, as far as they forward.
    pub fn change(&self) -> Option<Change> {
        self.bridge.change_of_bridge()
    }

    fn route(
        &mut self,
        stop: &AtomicBool,
        has_changed: &AtomicBool,
        interval: Duration,
        mut tell: impl FnMut(&Report) -> ControlFlow<()>,
    ) -> Result<(), Error> {
        let mut tells_at = self.clock.now() + interval;
        let mut beats_at = Instant::START;
        while !stop.load(Ordering::Relaxed) && !has_changed.load(Ordering::Relaxed) {
            let now = self.clock.now();
            if now >= beats_at {
                beats_at = now + HEARTBEAT;
                let at = self.clock.on_machine(now);
                self.sides.iter().for_each(|side| side.program.is_alive(at));
            }
            if now >= tells_at {
                tells_at = now + interval;
                if tell(&self.report()).is_break() {
                    break;
                }
            }
            if let Some(next) = self.step() {
                let waited = self.waiter.until(Some(next.min(tells_at)));
                waited.map_err(Error::kernel("cannot wait for packets"))?;
            }
        }
        Ok(())
    }

    /// Forwards frames as they come, without any element, until `stop`. For comparisons of speed. Returns their number.
    ///
    /// # Errors
    /// If the kernel refuses to wait.
    pub fn forward_bare(&mut self, stop: &AtomicBool) -> Result<u64, Error> {
        let mut forwarded = 0;
        while !stop.load(Ordering::Relaxed) {
            let at = self.clock.on_machine(self.clock.now());
            self.sides.iter().for_each(|side| side.program.is_alive(at));
            let [first, second] = &mut self.sides;
            let count = first.forward_bare(second) + second.forward_bare(first);
            forwarded += count as u64;
            if count == 0 {
                self.waiter.until(None).map_err(Error::kernel("cannot wait for packets"))?;
            }
        }
        Ok(forwarded)
    }

    /// Sends what is due, and receives a batch at each queue. Returns when there is more to do; `None` for at once.
    fn step(&mut self) -> Option<Instant> {
        let Inline { sides, clock, .. } = self;
        let mut next = Instant::NEVER;
        let mut received = 0;
        for from in 0..2 {
            let [first, second] = &mut *sides;
            let (here, there) = if from == 0 { (first, second) } else { (second, first) };
            received += here.receive(*clock);
            next = next.min(here.send(&mut there.sockets[0], clock.now()));
        }
        (received == 0).then_some(next)
    }

    /// What was counted so far.
    pub fn report(&self) -> Report {
        let directions = [&self.sides[0], &self.sides[1]].map(Side::report);
        Report { directions, is_preferred: self.is_preferred }
    }
}

impl Side {
    /// Takes a batch of frames from each queue.
    fn receive(&mut self, clock: Clock) -> usize {
        let Side { sockets, direction, frames, counters, .. } = self;
        let mut received = 0;
        for socket in sockets {
            // Frames of one batch came before now.
            let now = clock.now();
            received += socket.receive(|frame| match frames.take_in(frame) {
                Ok(packet) => direction.arrive(now, packet, |dropped| {
                    frames.release(dropped);
                }),
                Err(NotTaken::NoRoom) => counters.no_room += 1,
                Err(NotTaken::NoPacket) => counters.damaged += 1,
            });
        }
        received
    }

    /// Hands a batch of frames on to the other side.
    fn forward_bare(&mut self, to: &mut Side) -> usize {
        let out = &mut to.sockets[0];
        let mut count = 0;
        for socket in &mut self.sockets {
            count += socket.receive(|frame| {
                if out.has_room() {
                    out.push(frame);
                }
            });
        }
        out.flush();
        count
    }

    /// Sends what is due. Returns when more is.
    fn send(&mut self, socket: &mut Socket, now: Instant) -> Instant {
        let frames = &mut self.frames;
        let (mut next, mut in_vain) = (Instant::NEVER, 0);
        loop {
            match self.direction.next_at() {
                Some(at) if at <= now => {}
                at => {
                    next = at.unwrap_or(next);
                    break;
                }
            }
            if !socket.has_room() {
                socket.flush();
                if !socket.has_room() {
                    next = now + RETRY;
                    break;
                }
            }
            let departed = self.direction.depart(now, |dropped| {
                frames.release(dropped);
            });
            if let Some(packet) = departed {
                self.counters.packets += 1;
                self.counters.bytes += u64::from(packet.size);
                socket.push(frames.give_back(&packet));
                in_vain = 0;
                continue;
            }
            // A queue that says it is ready and gives nothing, time and again, may not hold up the router.
            in_vain += 1;
            if in_vain > MAX_IN_VAIN {
                next = now + RETRY;
                break;
            }
        }
        socket.flush();
        next
    }

    fn report(&self) -> DirectionReport {
        let Side { name, sockets, direction, program, counters, .. } = self;
        let [_, to_bridge, too_long, while_silent, no_socket] = program.frames();
        let dropped = direction.dropped().map(|(reason, count)| (reason.name(), count));
        let no_room = Some(("no memory", counters.no_room)).filter(|(_, count)| *count > 0);
        let damaged = Some(("damaged", counters.damaged)).filter(|(_, count)| *count > 0);
        DirectionReport {
            name: name.clone(),
            packets: counters.packets,
            bytes: counters.bytes,
            backlog: direction.backlog(),
            dropped: dropped.chain(no_room).chain(damaged).collect(),
            ecn_marks: direction.ecn_marks(),
            classes: direction.classes(),
            to_bridge,
            too_long,
            while_silent,
            no_socket,
            lost: sockets.iter().map(Socket::lost).sum(),
        }
    }
}

/// The number of receive queues of a device, if the program knows as many.
fn queues(device: &str) -> Result<u32, Error> {
    let (found, max) = (receive_queues(device), InlineProgram::MAX_QUEUES);
    match found > max {
        true => Err(Error::ManyQueues { device: device.to_owned(), found, max }),
        false => Ok(found),
    }
}

/// The thread runs before others; other threads and programs that it starts are as any other.
fn prefer_this_thread() -> Result<(), Errno> {
    schedule(libc::SCHED_FIFO | libc::SCHED_RESET_ON_FORK, PRIORITY)
}
