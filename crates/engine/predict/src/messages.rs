//! The duration of a message: slow start over shared lines, plus the delay by losses.

use std::cell::RefCell;
use std::collections::BTreeMap;

use shortflow_models::attained_service::Arrivals;
use shortflow_models::pftk::Path;
use shortflow_models::processor_sharing::min_share_time;
use shortflow_models::short_flow::{MAX_CREDITS, ShortFlow};
use shortflow_models::sizes::{Choice, Sizes};
use shortflow_models::{Range, latency};
use shortflow_tcp::{Algorithm, Config, Recovery, RtoFloor};

use crate::load::{Growing, growing, slow_start_growth, windows};
use crate::marks::{Hop, Piece};
use crate::network::Network;
use crate::queues::Order;
use crate::range::{
    Lack, MAX_LESS_SENT, MAX_LOSSES, MAX_LOSSES_CUBIC, MAX_LOST_OF_LONG, MAX_LOST_OF_LONG_CUBIC,
    of_windows,
};
use crate::saturation::MAX_TRIP;
use crate::sizes::Listed;
use crate::traffic::{Demand, Route};
use crate::visits::slowdown;

/// The greatest load of others beside a message at a line that serves in order, while rates are looked for.
const MAX_OTHERS: f64 = 0.999;

/// So many windows of the same size are looked at one by one: more take as long.
const MAX_ALIKE: u32 = 20;

/// Segments up to which losses are followed one by one.
const MAX_FOLLOWED: u32 = 16;

/// Messages one way of a route, and their acknowledgements.
pub(crate) struct Sending<'n> {
    network: &'n Network,
    source: usize,
    tcp: &'n Config,
    data: &'n [Hop],
    answers: &'n [Hop],
    stretches: Vec<Stretch>,
    /// The lines that serve who has had least, with what comes to them: sizes and visits per second.
    attained: Vec<Attained>,
    /// Whether a FIN follows every message, and so no segment is the last.
    closes: bool,
    /// The chance that what sends lost its handshake, and has no round-trip time to go by.
    blind: f64,
    /// What losses add to a message of so many segments.
    added: RefCell<BTreeMap<u32, f64>>,
}

/// A line that serves who has had least: by what has been sent up to thresholds where it has some, in bytes.
struct Attained {
    line: usize,
    thresholds: Vec<f64>,
    /// The sizes that come to it, and how many a second.
    sizes: Listed,
    per_second: f64,
}

/// What packets of a flow meet from when it has sent so many bytes on.
#[derive(Debug, Clone)]
struct Stretch {
    from: f64,
    /// Seconds of a round trip of a full packet and what acknowledges it.
    rtt: f64,
    /// Seconds of waiting on the way.
    waits: f64,
    /// Seconds that a full packet takes where that is longest, with what others take of it, at lines that flows share alike.
    slowest: f64,
    /// The lines that serve packets in order, without flows that fill them.
    in_order: Vec<InOrder>,
    /// The same at the end of a message, whose packets go one after another once they are in the queue.
    last: f64,
    /// What is lost by itself, and what is lost with others of its window.
    alone: f64,
    bunched: f64,
    /// Why the traffic here has no closed form, if so.
    lacks: Option<Lack>,
}

/// A line that serves packets in the order in which they come.
#[derive(Debug, Clone, Copy)]
struct InOrder {
    /// Seconds of a full packet, with those of packets that go before.
    packet: f64,
    /// The load of others, as a part of what is left to this band.
    others: f64,
}

impl InOrder {
    /// Seconds from when the first packet of a window leaves the line until the first of the next does, as far as the line never
    /// runs empty: the packets of the window, and what others sent while these came, which was as long as the window before
    /// took. So a window that doubles overtakes half of the others, and one that grows no more gets an equal share.
    fn turn(&self, window: f64, before: f64) -> f64 {
        window * self.packet + self.others * before
    }
}

impl Stretch {
    fn loss(&self) -> f64 {
        1.0 - (1.0 - self.alone) * (1.0 - self.bunched)
    }

    /// Seconds that a window of so many packets takes after one that took `before`.
    fn turn(&self, window: f64, before: f64) -> f64 {
        let queued = self.in_order.iter().map(|line| line.turn(window, before));
        self.rtt.max(window * self.slowest).max(queued.fold(0.0, f64::max))
    }

    /// Seconds between two packets of a window at the slowest line, with what others send between them.
    fn spacing(&self) -> f64 {
        let queued = self.in_order.iter().map(|line| line.packet / (1.0 - line.others));
        self.slowest.max(queued.fold(0.0, f64::max))
    }

    /// What others bring between the first and the last of packets that come while so many seconds pass.
    fn between(&self, seconds: f64) -> f64 {
        self.in_order.iter().map(|line| line.others * seconds).fold(0.0, f64::max)
    }
}

impl<'n> Sending<'n> {
    pub(crate) fn new(
        network: &'n Network,
        source: usize,
        route: &'n Route,
        is_there: bool,
    ) -> Sending<'n> {
        let (data, answers) = match is_there {
            true => (&route.there[..], &route.back[..]),
            false => (&route.back[..], &route.there[..]),
        };
        let tcp = &*network.sources[source].tcp;
        let mut sending = Sending {
            network,
            source,
            tcp,
            data,
            answers,
            stretches: Vec::new(),
            attained: Vec::new(),
            closes: false,
            blind: 0.0,
            added: RefCell::default(),
        };
        sending.stretches = sending.found();
        sending.attained = sending.attained_service();
        sending
    }

    fn found(&self) -> Vec<Stretch> {
        let mut from: Vec<f64> =
            self.data.iter().flat_map(|hop| hop.pieces.iter().map(|piece| piece.from)).collect();
        from.sort_by(f64::total_cmp);
        from.dedup();
        from.into_iter().map(|from| self.stretch(from)).collect()
    }

    fn stretch(&self, from: f64) -> Stretch {
        let packet = f64::from(self.tcp.mss) + f64::from(self.tcp.header);
        let network = self.network;
        let access =
            self.data.iter().map(|hop| network.lines[hop.line].rate).fold(f64::INFINITY, f64::min);
        let alone =
            self.data.iter().map(|hop| network.lines[hop.line].time(packet)).fold(0.0, f64::max);
        let (mut shares, mut last, mut in_order) = (Vec::new(), Vec::new(), Vec::new());
        let mut waits = 0.0;
        let (mut kept, mut found_room) = (1.0, 1.0);
        let mut lacks = None;
        for hop in self.data {
            let line = &network.lines[hop.line];
            let piece = piece_at(hop, from);
            if network.is_at_rest && lacks.is_none() {
                lacks = of_windows(network, self.source, hop, piece);
            }
            let order = line.bands()[piece.places[0].band].order;
            let met = &network.met[hop.line][piece.places[0].band];
            waits += network
                .over(piece, &|place| network.met[hop.line][place.band].wait_of(self.source));
            let before = met.before_of(self.source);
            kept *= 1.0 - network.lost_at(hop, piece);
            found_room *= 1.0 - met.bunched;
            let limited = line.rate / access;
            let sessions = match network.sources[self.source].demand {
                Demand::Closed { sessions, .. } => Some((self.source, sessions)),
                _ => None,
            };
            let free = (1.0 - before).max(1e-3);
            if order == Order::Fifo && !met.is_filled {
                let others = (met.load_beside(self.source) / free).min(MAX_OTHERS);
                in_order.push(InOrder { packet: line.time(packet) / free, others });
            }
            let factor = match order {
                Order::LeastAttained => 1.0 / free,
                Order::Fifo if !met.is_filled => 1.0 / free,
                _ => slowdown(met, before, sessions, limited),
            };
            let time = alone.max(line.time(packet));
            let crowd = network.crowds[hop.line];
            shares.push((crowd, (time, time * factor)));
            last.push(match order {
                Order::Fifo => [line.time(packet) / (1.0 - before).max(1e-3); 2].into(),
                _ => (time, time * factor),
            });
        }
        let (slowest, last) = (min_share(of_crowds(shares)), min_share(last));
        let rtt = self.bare(self.data, packet) + waits + self.back();
        Stretch {
            from,
            rtt,
            waits,
            slowest,
            in_order,
            last,
            alone: 1.0 - kept / found_room,
            bunched: 1.0 - found_room,
            lacks,
        }
    }

    /// Seconds of sending and propagation of a packet.
    fn bare(&self, hops: &[Hop], bytes: f64) -> f64 {
        hops.iter()
            .map(|hop| {
                self.network.lines[hop.line].time(bytes) + self.network.lines[hop.line].delay
            })
            .sum()
    }

    /// Seconds until an acknowledgement is back.
    fn back(&self) -> f64 {
        let waits: f64 = self
            .answers
            .iter()
            .map(|hop| {
                let met = &self.network.met[hop.line][hop.pieces[0].places[0].band];
                met.wait_of(self.source)
            })
            .sum();
        self.bare(self.answers, f64::from(self.tcp.header)) + waits
    }

    /// After handshakes of which this share timed out.
    pub(crate) fn after_handshakes(mut self, timed_out: f64) -> Self {
        // Who forgives a lost SYN has a sample all the same (RFC 7323 §4).
        self.blind = if self.tcp.lost_syns_forgiven > 0 { 0.0 } else { timed_out };
        self
    }

    /// Each message ends a connection, if `so`.
    pub(crate) fn closing(self, so: bool) -> Self {
        Sending { closes: so, ..self }
    }

    /// The loss of what is sent back at the beginning of a flow.
    pub(crate) fn first_loss(&self) -> f64 {
        self.stretches[0].loss()
    }

    /// Seconds that a packet of headers takes to the far end at the beginning of a flow.
    pub(crate) fn bare_packet(&self) -> f64 {
        self.bare(self.data, f64::from(self.tcp.header)) + self.stretches[0].waits
    }

    /// The first window in segments.
    pub(crate) fn initial_window(&self) -> f64 {
        f64::from(self.tcp.initial_window).min(self.max_window())
    }

    fn max_window(&self) -> f64 {
        (self.tcp.receive_window.0 as f64 / f64::from(self.tcp.mss)).max(1.0)
    }

    /// The window after so many bytes without a wait.
    pub(crate) fn window_after(&self, window: f64, bytes: f64) -> f64 {
        let growth = slow_start_growth(self.tcp) - 1.0;
        (window + growth * (bytes / f64::from(self.tcp.mss)).ceil()).min(self.max_window())
    }

    /// The mean time of a message of so many bytes from its first segment leaving until the last has come, the first
    /// of `siblings` such that share what they get; `start` tells how many bytes the flow has sent before, and the
    /// `window` is that at its beginning.
    pub(crate) fn time(
        &self,
        bytes: f64,
        start: f64,
        window: f64,
        siblings: f64,
    ) -> Result<f64, Lack> {
        let (mss, header) = (f64::from(self.tcp.mss), f64::from(self.tcp.header));
        let segments = (bytes / mss).ceil().max(1.0);
        let wire = bytes + segments * header;
        let first = bytes.min(mss) + header;
        let at = self.at(start);
        for stretch in &self.stretches[at..=self.at(start + wire)] {
            if let Some(why) = &stretch.lacks {
                return Err(why.clone());
            }
        }
        if self.network.is_at_rest && (siblings > 1.0 || self.meets_precedences()) {
            self.fits(start, window.min(segments), siblings)?;
        }
        if self.network.is_at_rest {
            self.answers_in_time(segments)?;
        }
        let one_way = self.bare(self.data, first) + self.stretches[at].waits;
        let mut sending = self.windows(start, segments, window, siblings);
        for attained in &self.attained {
            let whole = self.by_attained(attained, start, wire, segments)?;
            sending = sending.max(whole - self.network.lines[attained.line].time(first));
        }
        self.stays_below_drops(start, segments)?;
        let (network, own) = (self.network, self.source);
        let sending = network.through_profiles(own, self.data, siblings * wire, sending)?;
        let losses = self.losses(segments, start, window)?;
        let distrust = if start > 0.0 { 0.0 } else { self.distrust() };
        Ok(one_way + sending + losses + distrust)
    }

    /// For how long profiles hold up a message of so many bytes, as a part of what it takes without them; none where that is not
    /// known.
    pub(crate) fn held_up(&self, bytes: f64) -> Option<f64> {
        let (mss, header) = (f64::from(self.tcp.mss), f64::from(self.tcp.header));
        let segments = (bytes / mss).ceil().max(1.0);
        let one_way = self.bare(self.data, mss + header);
        let alone = one_way + self.windows(0.0, segments, self.initial_window().min(segments), 1.0);
        let wire = bytes + segments * header;
        let held = self.network.through_profiles(self.source, self.data, wire, alone).ok()?;
        Some(held / alone - 1.0)
    }

    /// How long a line that serves who has had least takes for a message that is there as a whole.
    fn by_attained(
        &self,
        attained: &Attained,
        start: f64,
        wire: f64,
        segments: f64,
    ) -> Result<f64, Lack> {
        let Attained { line, thresholds, sizes, per_second } = attained;
        let choice = Choice::new(sizes)?;
        let hop = self.data.iter().find(|hop| hop.line == *line).expect("its own line");
        let met = &self.network.met[*line][hop.pieces[0].places[0].band];
        let free = 1.0 - met.before_of(self.source);
        let capacity = self.network.lines[*line].rate * free.max(1e-3);
        let arrivals = Arrivals { rate: *per_second, sizes: &choice, capacity };
        if thresholds.is_empty() {
            let load = per_second * choice.mean_up_to(wire) / capacity;
            if self.network.is_at_rest {
                Range::from_to(0.0, MAX_LESS_SENT)
                    .check("the load of flows that have sent less", load)?;
            }
            return Ok(arrivals.continuous(wire)?);
        }
        let band = piece_at(hop, start + wire).places[0].band;
        let room = self.network.lines[*line].bands()[band].room(wire / segments);
        if self.network.is_at_rest {
            Range::from_to(0.0, room).check("the packets of a message in later bands", segments)?;
        }
        // What is beyond the range of that model is so for the bands, too, and is told by them.
        let is_whole = start == 0.0;
        let levels = || arrivals.levels(thresholds, wire / segments, wire).unwrap_or(0.0);
        Ok(if is_whole { levels() } else { 0.0 })
    }

    /// Refuses messages that are sent side by side and do not fit into a queue with their first windows: what is lost then has
    /// no closed form.
    fn fits(&self, start: f64, window: f64, siblings: f64) -> Result<(), Lack> {
        let packet = f64::from(self.tcp.mss) + f64::from(self.tcp.header);
        let end = start + window * packet;
        let mut before = f64::INFINITY;
        for hop in self.data {
            let line = &self.network.lines[hop.line];
            let comes_faster = before > line.rate;
            before = before.min(line.rate);
            for (at, piece) in hop.pieces.iter().enumerate() {
                let next = hop.pieces.get(at + 1).map_or(f64::INFINITY, |next| next.from);
                let packets = siblings * (next.min(end) - piece.from.max(start)).max(0.0) / packet;
                let room = self
                    .network
                    .over(piece, &|place| line.bands()[place.band].room_for(place.level, packet));
                if comes_faster && packets > room {
                    let who = match siblings > 1.0 {
                        true => format!(
                            "{siblings:.0} simultaneous messages send {packets:.0} packets in \
                                their first windows"
                        ),
                        false => {
                            format!("a message sends {packets:.0} packets in its first window")
                        }
                    };
                    let name = &line.name;
                    return Err(Lack::new(format!(
                        "{who} to {name}, whose queue holds at most {room:.0}"
                    )));
                }
            }
        }
        Ok(())
    }

    /// Refuses a window that waits in its own queue until CoDel drops, where the round trip is so long that it drops again before
    /// the window has answered.
    fn answers_in_time(&self, segments: f64) -> Result<(), Lack> {
        let packet = f64::from(self.tcp.mss) + f64::from(self.tcp.header);
        let window = segments.min(self.initial_window());
        for hop in self.data {
            let line = &self.network.lines[hop.line];
            let Some(turns) = line.bands()[hop.pieces[0].places[0].band].turns else { continue };
            let trip =
                self.bare(self.data, packet) + self.bare(self.answers, f64::from(self.tcp.header));
            let waits = window * line.time(packet) > turns.target + turns.interval;
            if waits {
                let what =
                    "the round trip of windows that wait for CoDel to drop, in its intervals,";
                Range::from_to(0.0, MAX_TRIP)
                    .check(what, trip / turns.interval)
                    .map_err(|error| Lack::new(format!("at {} {error}", line.name)))?;
            }
        }
        Ok(())
    }

    /// Refuses messages whose windows fill a queue whose RED follows it to the end of its curve: in slow start half of a
    /// window waits, as acknowledgements let two packets go for each.
    fn stays_below_drops(&self, start: f64, segments: f64) -> Result<(), Lack> {
        if !self.network.is_at_rest {
            return Ok(());
        }
        let packet = f64::from(self.tcp.mss) + f64::from(self.tcp.header);
        let trip =
            self.bare(self.data, packet) + self.bare(self.answers, f64::from(self.tcp.header));
        let times = self.data.iter().map(|hop| self.network.lines[hop.line].time(packet));
        let slowest = times.fold(0.0, f64::max);
        let largest = windows(segments, self.tcp, trip, slowest)
            .iter()
            .map(|(_, count)| *count)
            .fold(0.0, f64::max);
        for hop in self.data {
            let line = &self.network.lines[hop.line];
            let piece = piece_at(hop, start);
            let band = &line.bands()[piece.places[0].band];
            let curves = band.curves_in(packet);
            let Some(level) = curves.get(piece.places[0].level).filter(|_| band.follows) else {
                continue;
            };

            Range::from_to(0.0, level.max_threshold)
                .check("the packets of a window that queue behind one another", largest / 2.0)
                .map_err(|error| Lack::new(format!("at {} {error}", line.name)))?;
        }
        Ok(())
    }

    /// Whether it passes buffers that drop by how full they are.
    fn meets_precedences(&self) -> bool {
        let mut lines = self.data.iter().map(|hop| &self.network.lines[hop.line]);
        lines.any(|line| line.bands().iter().any(|band| band.precedences.is_some()))
    }

    fn at(&self, sent: f64) -> usize {
        self.stretches.iter().rposition(|stretch| stretch.from <= sent).unwrap_or(0)
    }

    /// From the first segment leaving until the last leaves, when `segments` go in windows from `window` on: each but
    /// the last takes a round trip, or as long as the line takes for it beside others.
    fn windows(&self, start: f64, segments: f64, window: f64, siblings: f64) -> f64 {
        let packet = f64::from(self.tcp.mss) + f64::from(self.tcp.header);
        let bare =
            self.bare(self.data, packet) + self.bare(self.answers, f64::from(self.tcp.header));
        let mut growing = Growing::new(self.tcp, window, bare);
        let (mut sent, mut time, mut before) = (0.0, 0.0, 0.0);
        let mut alike = 0;
        while segments - sent > growing.window() {
            let at = self.at(start + sent * packet);
            let stretch = &self.stretches[at];
            let window = growing.window();
            let each = stretch.turn(window * siblings, before);
            before = each;
            time += each;
            sent += window;
            alike += u32::from(growing.is_full() && at == self.stretches.len() - 1);
            if alike >= MAX_ALIKE {
                // As many more windows as are left, each as long.
                let more = ((segments - sent) / window).ceil() - 1.0;
                time += each * more.max(0.0);
                sent += window * more.max(0.0);
                break;
            }
            growing.pass(each, stretch.spacing());
        }
        let rest = (segments - sent).max(0.0) / growing.window();
        time += self.stretches[self.at(start + sent * packet)].between(before * rest.min(1.0));
        // The rest goes at once; its first packet is that whose way is counted.
        let mut position = sent + 1.0;
        while position < segments {
            let at = self.at(start + position * packet);
            let next = self.stretches.get(at + 1).map_or(f64::INFINITY, |next| next.from);
            let here = ((next - start) / packet).min(segments).max(position + 1.0) - position;
            time += here * self.stretches[at].last * siblings;
            position += here;
        }
        time
    }

    /// What losses add to a message: followed one by one while it is short, by Cardwell et al. beyond.
    fn losses(&self, segments: f64, start: f64, window: f64) -> Result<f64, Lack> {
        let packet = f64::from(self.tcp.mss) + f64::from(self.tcp.header);
        let first = &self.stretches[self.at(start)];
        let last = &self.stretches[self.at(start + (segments - 1.0) * packet)];
        let (green, yellow) = (first.loss(), last.loss());
        if green == 0.0 && yellow == 0.0 {
            return Ok(0.0);
        }
        let place = segments.min(1e9) as u32;
        if let Some(added) = self.added.borrow().get(&place) {
            return Ok(*added);
        }
        let rtt = first.rtt;
        let timeout = match self.closes || (segments > 1.0 && window > 1.0) {
            true => self.patience(rtt),
            false => self.timeout(rtt),
        };
        let added = if place <= MAX_FOLLOWED {
            let credits = match last.from > first.from {
                false => 0.0,
                true => (last.from / packet + 2.0).min(f64::from(MAX_CREDITS)),
            };
            let with = |green_loss: f64, yellow_loss: f64| {
                let flow = ShortFlow {
                    rtt,
                    timeout,
                    setup_timeout: timeout,
                    green_loss,
                    yellow_loss,
                    credits: credits as u32,
                    initial_window: window.max(1.0) as u32,
                };
                Ok::<f64, Lack>(flow.by_recursion(place)? - flow.setup_time()?)
            };
            with(green, yellow)? - with(0.0, 0.0)?
        } else {
            let path = Path {
                rtt,
                timeout,
                segments_per_ack: growing(self.tcp),
                max_window: self.max_window(),
            };
            // A loss that stands for all of its round (Padhye et al. 2000, §II): half a window with it.
            let rounds = (segments / 2.0).min(self.max_window());
            let loss = self.mean_loss(segments * packet, (rounds / 2.0).max(1.0));
            let (max, losses) = match self.tcp.congestion {
                Algorithm::Cubic => (MAX_LOST_OF_LONG_CUBIC, MAX_LOSSES_CUBIC),
                _ => (MAX_LOST_OF_LONG, MAX_LOSSES),
            };
            Range::from_to(0.0, losses)
                .check("the packets that a message loses on average", segments * loss)?;
            Range::from_to(0.0, max)
                .check("the share of packets that a long message loses", loss)?;
            let with = |loss: f64| latency::transfer(&path, window.max(1.0), segments, loss);
            with(loss)?.total() - with(0.0)?.total()
        };
        self.added.borrow_mut().insert(place, added);
        Ok(added)
    }

    /// What a message waits longer for its first segment, where that is lost and so was its handshake: the timeout is that of
    /// a sender which has measured nothing (RFC 6298 §5.7), and its window is that one segment (RFC 5681 §3.1).
    fn distrust(&self) -> f64 {
        let first = &self.stretches[0];
        let timeout = self.timeout(first.rtt);
        let longer = (self.tcp.rto_after_lost_syn().as_secs_f64() - timeout).max(0.0);
        let loss = first.loss();
        // Each further loss of it doubles the timeout; half of all and more never come (latency::setup_time).
        self.blind * longer * loss / (1.0 - 2.0 * loss.min(0.49))
    }

    /// The share of so many bytes from the beginning of a flow that are the first to be lost of their round, of which
    /// so many are lost `together`.
    fn mean_loss(&self, wire: f64, together: f64) -> f64 {
        let each = self.stretches.iter().enumerate().map(|(number, stretch)| {
            let end = self.stretches.get(number + 1).map_or(f64::INFINITY, |next| next.from);
            let loss = 1.0 - (1.0 - stretch.alone) * (1.0 - stretch.bunched / together);
            (end.min(wire) - stretch.from).max(0.0) * loss
        });
        each.sum::<f64>() / wire
    }

    /// T after one sample of the round trip (RFC 6298 §2.2).
    fn timeout(&self, rtt: f64) -> f64 {
        let floor = self.tcp.rto_min.as_secs_f64();
        match self.tcp.rto_floor {
            RtoFloor::Timeout => floor.max(3.0 * rtt),
            RtoFloor::Variation => rtt + floor.max(2.0 * rtt),
        }
    }

    /// How long a sender waits for what acknowledges one of several segments: until it probes, where it does (RFC 8985 §7.2),
    /// else T.
    fn patience(&self, rtt: f64) -> f64 {
        let timeout = self.timeout(rtt);
        match self.tcp.tail_loss_probe && self.tcp.recovery == Recovery::Rack {
            true => timeout.min(2.0 * rtt),
            false => timeout,
        }
    }

    /// The sizes that come to lines which serve who has had least.
    fn attained_service(&self) -> Vec<Attained> {
        let network = self.network;
        let is_meant = |hop: &&Hop| {
            let line = &network.lines[hop.line];
            let is_least =
                |piece: &Piece| line.bands()[piece.places[0].band].order == Order::LeastAttained;
            hop.pieces.iter().any(is_least) || has_thresholds(hop)
        };
        self.data
            .iter()
            .filter(is_meant)
            .filter_map(|here| {
                let line = here.line;
                let from =
                    |hop: &Hop| hop.pieces.iter().map(|piece| piece.from).collect::<Vec<_>>();
                let alike = |hop: &Hop| hop.line == line && from(hop) == from(here);
                let mut sizes = Listed::new();
                for (number, source) in network.sources.iter().enumerate() {
                    let (Demand::Open { visit, .. } | Demand::Closed { visit, .. }) =
                        &source.demand
                    else {
                        continue;
                    };
                    let header = f64::from(source.tcp.header);
                    for route in &source.routes {
                        for message in &visit.messages {
                            let hops = if message.is_there { &route.there } else { &route.back };
                            if !hops.iter().any(alike) {
                                continue;
                            }
                            let rate = network.visits[number] * route.share * message.count;
                            // Who waits for what he gets does not wait for himself.
                            let others = match source.demand {
                                Demand::Closed { sessions, .. } if number == self.source => {
                                    1.0 - 1.0 / sessions
                                }
                                _ => 1.0,
                            };
                            let rate = rate * others;
                            sizes.extend(message.sizes.iter().map(|&(size, share)| {
                                let segments = (size / f64::from(source.tcp.mss)).ceil();
                                (size + segments * header, share * rate)
                            }));
                        }
                    }
                }
                let all: f64 = sizes.iter().map(|(_, rate)| rate).sum();
                sizes.retain(|(_, rate)| *rate > 0.0);
                sizes.iter_mut().for_each(|(_, rate)| *rate /= all);
                let thresholds = from(here).split_off(1);
                (all > 0.0).then_some(Attained { line, thresholds, sizes, per_second: all })
            })
            .collect()
    }
}

/// Whether packets of a flow come to other bands of a line the more it has sent.
fn has_thresholds(hop: &Hop) -> bool {
    let bands = |piece: &Piece| piece.places[0].band;
    hop.pieces.windows(2).any(|two| bands(&two[0]) != bands(&two[1]))
}

/// The shares of lines, of those that the same flows share only the least: who waits at one does not wait at the others.
fn of_crowds(shares: Vec<(usize, (f64, f64))>) -> Vec<(f64, f64)> {
    let mut by_crowd: BTreeMap<usize, (f64, f64)> = BTreeMap::new();
    for (crowd, share) in shares {
        let min = by_crowd.entry(crowd).or_insert(share);
        if share.1 > min.1 {
            *min = share;
        }
    }
    by_crowd.into_values().collect()
}

/// The mean time of a packet that gets the least of the shares of its lines. Those that are hardly shared do not count.
fn min_share(mut shares: Vec<(f64, f64)>) -> f64 {
    let max = shares.iter().map(|(_, shared)| *shared).fold(0.0, f64::max);
    shares.retain(|(alone, shared)| *shared > alone * (1.0 + NEGLIGIBLE_WAIT));
    match &shares[..] {
        [] | [_] => max,
        several => min_share_time(several).unwrap_or(max).max(max),
    }
}

/// How much longer a packet takes at most at a line that is hardly shared.
const NEGLIGIBLE_WAIT: f64 = 0.01;

/// The piece of a flow that has sent so many bytes.
fn piece_at(hop: &Hop, sent: f64) -> &Piece {
    let at = hop.pieces.iter().rposition(|piece| piece.from <= sent).unwrap_or(0);
    &hop.pieces[at]
}
