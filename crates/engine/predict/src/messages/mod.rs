//! The duration of a message: slow start over shared lines, plus the delay by losses.

mod attained;
mod losses;
mod refusals;
mod stretch;

use std::cell::RefCell;
use std::collections::BTreeMap;

use shortflow_tcp::{Config, Recovery};

use crate::marks::Hop;
use crate::network::Network;
use crate::range::Lack;
use crate::slow_start::{Growing, slow_start_growth};
use crate::traffic::Route;
use attained::Attained;
use stretch::Stretch;

/// So many windows of the same size are looked at one by one: more take as long.
const MAX_ALIKE: u32 = 20;

/// What slow start makes of a window over a message of so many segments. It grows while it holds the sender back: until what is
/// acknowledged and the window are the whole message. With RACK, as in Linux, it grows on until it is twice what was in flight.
fn grown(window: f64, segments: f64, tcp: &Config) -> f64 {
    let growth = slow_start_growth(tcp) - 1.0;
    let held = window + growth * (segments - window).max(0.0) / (1.0 + growth);
    match tcp.recovery {
        Recovery::Rack => {
            let most = segments.min(held);
            (window + growth * segments).min((2.0 * most).max(held))
        }
        _ => held,
    }
}

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
        let segments = (bytes / f64::from(self.tcp.mss)).ceil();
        grown(window, segments, self.tcp).min(self.max_window())
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
            self.answers_pass(segments, window)?;
        }
        let turn = if start > 0.0 { 0.0 } else { self.second_turn() };
        let one_way = self.bare(self.data, first) + self.stretches[at].waits + turn;
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

    /// Seconds that the first packet after a handshake waits for the turns of long flows: that of the handshake found its turn at
    /// once, and the next comes when each of the others has had one (RFC 8290 §4.2).
    fn second_turn(&self) -> f64 {
        let header = f64::from(self.tcp.header);
        let trip = self.bare_packet() + self.bare(self.answers, header);
        let waits = self.data.iter().map(|hop| (self.network.round(hop) - trip).max(0.0));
        waits.sum()
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
}

#[cfg(test)]
mod tests {
    use shortflow_tcp::Era;

    use super::*;

    #[test]
    fn a_window_grows_while_it_holds_the_sender_back() {
        let rack = Era::LinuxToday.config();
        let sack = Config { recovery: Recovery::Sack, ..rack.clone() };
        assert_eq!(slow_start_growth(&sack), 2.0);
        // With 2 of 14 segments acknowledged a window of 12 takes the rest.
        assert_eq!(grown(10.0, 14.0, &sack), 12.0);
        assert_eq!(grown(10.0, 4.0, &sack), 10.0);
        // 12 were in flight, and twice as many may be.
        assert_eq!(grown(10.0, 14.0, &rack), 24.0);
        assert_eq!(grown(10.0, 4.0, &rack), 10.0);
        assert_eq!(grown(10.0, 6.0, &rack), 12.0);
    }
}
