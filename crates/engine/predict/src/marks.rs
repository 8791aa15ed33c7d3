//! The band and the level of a flow's packets at each line, by the bytes that the flow has sent.

use shortflow_elements::dropper::PolicerAction;
use shortflow_elements::{Aggregate, Color};
use shortflow_packet::{Address, Dscp, FlowKey, Packet, Protocol};
use shortflow_policy::keys::Metered;
use shortflow_policy::{MarkerPlan, Role, TrafficClass};
use shortflow_scenario::Scenario;
use shortflow_tcp::Config;
use shortflow_units::Rate;

use crate::lines::Line;
use crate::load::acknowledged_segments;

impl SlowStart {
    /// That of these settings.
    pub(crate) fn from_config(tcp: &Config) -> SlowStart {
        let max = (tcp.receive_window.0 as f64 / f64::from(tcp.mss)).max(1.0);
        let growth = if tcp.quick_acks > 0 { 1.0 } else { 1.0 / acknowledged_segments(tcp) };
        SlowStart { first: f64::from(tcp.initial_window).min(max), growth, max }
    }
}

/// Packets of a flow, as a classifier sees them.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Kind {
    /// Whose packets, and to whom.
    pub(crate) addresses: (Address, Address),
    pub(crate) protocol: Protocol,
    /// Source and destination port.
    pub(crate) ports: (u16, u16),
    /// What the sender writes.
    pub(crate) dscp: Dscp,
    /// Bytes of a full packet, and of the headers in it.
    pub(crate) packet: f64,
    pub(crate) header: f64,
    /// Bytes per second of a flow that lasts; 0 where it is as fast as it can.
    pub(crate) rate: f64,
    /// How the window of its sender grows.
    pub(crate) window: SlowStart,
}

/// The window of slow start in segments: the first, how much an acknowledged segment adds, and the greatest.
#[derive(Debug, Clone, Copy)]
pub(crate) struct SlowStart {
    pub(crate) first: f64,
    pub(crate) growth: f64,
    pub(crate) max: f64,
}

impl Kind {
    fn sample(&self, dscp: Dscp) -> Packet {
        let key = FlowKey {
            src: self.addresses.0,
            dst: self.addresses.1,
            src_port: self.ports.0,
            dst_port: self.ports.1,
            protocol: self.protocol,
        };
        let payload = (self.packet - self.header) as u16;
        Packet { size: self.packet as u32, payload, key, dscp, ..Packet::default() }
    }
}

/// The packets of a flow from when it has sent so many bytes on, payload and headers.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Piece {
    pub(crate) from: f64,
    /// Where they belong, with the share of them that does.
    pub(crate) places: Vec<Place>,
}

/// A part of the packets of a piece.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Place {
    pub(crate) band: usize,
    pub(crate) level: usize,
    pub(crate) share: Share,
}

/// Which share of packets.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Share {
    All,
    /// What this meter finds within its profile, of those that it protects first or of the rest.
    Within(usize, Protected),
    /// What it finds beyond.
    Beyond(usize, Protected),
    /// What this meter finds beyond its profile and within its peak rate.
    Between(usize),
    /// What it finds beyond its peak rate.
    Above(usize),
    /// What it gives this drop precedence by SIMA.
    Precedence(usize, usize),
    /// Always the same.
    Part(f64),
}

/// Whether a meter takes packets first, as those of a flow's beginning.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Protected {
    First,
    Rest,
}

/// A meter with a profile that packets share.
#[derive(Debug, Clone)]
pub(crate) struct Meter {
    /// Its place and class.
    name: String,
    /// Bytes per second of the profile, and up to which it has a second colour: no less.
    pub(crate) committed: f64,
    pub(crate) peak: f64,
}

/// Bytes per second up to which a meter finds packets within its profile, and within its peak rate.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Rates {
    pub(crate) committed: f64,
    pub(crate) peak: f64,
}

impl Rates {
    /// A profile alone.
    pub(crate) fn from_committed(committed: Rate) -> Rates {
        let committed = committed.bytes_per_sec();
        Rates { committed, peak: committed }
    }
}

/// The meters of a network, each once.
#[derive(Debug, Clone, Default)]
pub(crate) struct Meters(pub(crate) Vec<Meter>);

impl Meters {
    fn number(&mut self, name: String, Rates { committed, peak }: Rates) -> usize {
        let known = self.0.iter().position(|meter| meter.name == name);
        known.unwrap_or_else(|| {
            self.0.push(Meter { name, committed, peak });
            self.0.len() - 1
        })
    }
}

/// A line on the way of a flow, and where its packets belong there.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Hop {
    pub(crate) line: usize,
    pub(crate) pieces: Vec<Piece>,
    /// Meters that its packets have passed up to here: which, and the bytes sent up to which packets count as
    /// protected.
    pub(crate) metered: Option<(usize, f64)>,
    /// Bytes per second that markers up to here forget of what a flow has sent.
    pub(crate) forgets: f64,
    /// The window in segments beyond which markers up to here write what they write last; 0 where none goes by the window.
    pub(crate) window: f64,
    /// Why it is not known where they belong.
    pub(crate) lacks: Option<String>,
}

/// What is written in the packets of a flow from so many bytes on.
#[derive(Debug, Clone)]
pub(crate) struct Written {
    pub(crate) from: f64,
    pub(crate) code_points: Vec<(Dscp, Share)>,
}

impl Written {
    /// One code point for all packets.
    pub(crate) fn all(from: f64, dscp: Dscp) -> Written {
        Written { from, code_points: vec![(dscp, Share::All)] }
    }
}

/// Follows the packets of `kind` over `way`.
pub(crate) fn hops(
    scenario: &Scenario,
    lines: &[Line],
    meters: &mut Meters,
    kind: &Kind,
    way: &[usize],
) -> Vec<Hop> {
    let written = vec![Written::all(0.0, kind.dscp)];
    let mut marks = Marks {
        scenario,
        kind,
        meters,
        written,
        metered: None,
        forgets: 0.0,
        window: 0.0,
        lacks: None,
        drops: None,
    };
    let mut found: Vec<Hop> = Vec::with_capacity(way.len());
    for &at in way {
        let line = &lines[at];
        marks.pass(line.conditioned[0], line);
        // Where all are treated alike, it does not matter what is written, but how much is dropped does.
        let unmarked = marks.lacks.as_ref().filter(|_| line.distinguishes_packets());
        let lacks = marks.drops.as_ref().or(unmarked).cloned();
        let pieces = marks.written.iter().map(|written| piece(line, kind, written)).collect();
        let Marks { metered, forgets, window, .. } = marks;
        found.push(Hop { line: at, pieces, metered, forgets, window, lacks });
        marks.pass(line.conditioned[1], line);
    }
    // What is dropped where it comes in at the far end is lost there.
    if let Some(last) = found.last_mut() {
        last.lacks = last.lacks.take().or(marks.drops);
    }
    found
}

/// What is written in the packets of a flow on its way.
struct Marks<'m> {
    scenario: &'m Scenario,
    kind: &'m Kind,
    meters: &'m mut Meters,
    written: Vec<Written>,
    metered: Option<(usize, f64)>,
    forgets: f64,
    window: f64,
    lacks: Option<String>,
    /// The policer that may have dropped some of them, if any.
    drops: Option<String>,
}

impl Marks<'_> {
    /// Past the role of a node, if one conditions packets there.
    fn pass(&mut self, role: Option<usize>, line: &Line) {
        let Some((role, policy)) = role.zip(self.scenario.policy.as_ref()) else { return };
        let role = &policy.roles[role];
        let kind = self.kind;
        if self.drops.is_none() && self.is_policed(role) {
            let place = &line.name;
            self.drops = Some(format!("{DROPS}, as in the role `{}` at {place}", role.name));
        }
        if self.lacks.is_none() {
            let (meters, metered) = (&mut *self.meters, &mut self.metered);
            let (forgets, window) = (&mut self.forgets, &mut self.window);
            let place = &line.name;
            let mut marking = Marking { kind, meters, metered, forgets, window, place, role };
            self.lacks = marking.conditioned(&mut self.written).err();
        }
    }

    /// Whether a policer of the role may drop packets of the flow, as far as it is known to which classes they belong.
    fn is_policed(&self, role: &Role) -> bool {
        let drops = |class: &TrafficClass| {
            let colors = class.marker.as_ref().map_or(&[Color::Green][..], MarkerPlan::colors);
            let police = class.police.iter();
            police
                .flat_map(|actions| colors.iter().map(|color| actions[*color as usize]))
                .any(|action| action == PolicerAction::Drop)
        };
        if self.lacks.is_some() || role.classes.iter().any(|class| class.rule.sender.is_some()) {
            return role.classes.iter().any(drops);
        }
        let code_points = self.written.iter().flat_map(|written| &written.code_points);
        let mut classes = code_points.filter_map(|(dscp, _)| {
            let packet = self.kind.sample(*dscp);
            role.classes.iter().find(|class| class.rule.matches(&packet))
        });
        classes.any(drops)
    }
}

/// What a policer does to packets that closed forms do not follow.
const DROPS: &str = "a policer that drops";

fn piece(line: &Line, kind: &Kind, written: &Written) -> Piece {
    let places = written.code_points.iter().map(|&(dscp, share)| {
        let (band, level) = line.place(&kind.sample(dscp));
        Place { band, level, share }
    });
    let mut places: Vec<Place> = places.collect();
    if places.windows(2).all(|two| two[0].band == two[1].band && two[0].level == two[1].level) {
        places.truncate(1);
        places[0].share = Share::All;
    }
    Piece { from: written.from, places }
}

/// What a role does to the packets of a flow.
pub(crate) struct Marking<'m> {
    pub(crate) kind: &'m Kind,
    meters: &'m mut Meters,
    metered: &'m mut Option<(usize, f64)>,
    pub(crate) forgets: &'m mut f64,
    /// The least window in segments at which markers by window write the last code point.
    pub(crate) window: &'m mut f64,
    place: &'m str,
    pub(crate) role: &'m Role,
}

impl<'m> Marking<'m> {
    /// Writes what the role writes; else in words what has no closed form.
    fn conditioned(&mut self, written: &mut Vec<Written>) -> Result<(), String> {
        if self.role.classes.iter().any(|class| class.rule.sender.is_some()) {
            return Err(self.none("classes by the sender's knowledge of a flow"));
        }
        let mut found: Vec<Written> = Vec::new();
        for one in written.iter() {
            match one.code_points[..] {
                [(dscp, Share::All)] => match self.class_of(dscp) {
                    Some(class) => {
                        let from = one.from;
                        let more = self.classed(class, dscp)?;
                        found.extend(
                            more.into_iter().filter(|more| more.from >= from || from == 0.0),
                        );
                    }
                    None => found.push(one.clone()),
                },
                _ if one.code_points.iter().all(|(dscp, _)| self.class_of(*dscp).is_none()) => {
                    found.push(one.clone());
                }
                _ => return Err(self.none("a second meter")),
            }
        }
        *written = found;
        Ok(())
    }

    fn class_of(&self, dscp: Dscp) -> Option<&'m TrafficClass> {
        let packet = self.kind.sample(dscp);
        self.role.classes.iter().find(|class| class.rule.matches(&packet))
    }

    /// What is written in packets of a class, which came with `dscp`.
    fn classed(&mut self, class: &TrafficClass, dscp: Dscp) -> Result<Vec<Written>, String> {
        let all = |dscp| vec![Written::all(0.0, dscp)];
        let colors = self.role.code_points;
        match &class.marker {
            None => Ok(all(self.policed(class, Color::Green, dscp)?)),
            Some(MarkerPlan::Fixed(fixed)) => match fixed.bucket() {
                None => Ok(all(self.policed(class, Color::Green, fixed.dscp())?)),
                Some(bucket) => {
                    let rates = Rates::from_bucket(self.shared(bucket)?);
                    self.metered_by(class, rates, [fixed.dscp(); 3], 0.0)
                }
            },
            Some(MarkerPlan::TokenBucket(bucket)) => {
                let rates = Rates::from_bucket(self.shared(bucket)?);
                self.metered_by(class, rates, colors, 0.0)
            }
            Some(MarkerPlan::Tsw2cm(tsw)) => {
                self.metered_by(class, Rates::from_window(tsw), colors, 0.0)
            }
            Some(MarkerPlan::FairMarker(fair)) => {
                let (rates, packets) = Rates::from_fair_marker(fair);
                self.metered_by(class, rates, colors, packets as f64 * self.kind.packet)
            }
            Some(MarkerPlan::Aggregate(aggregate)) => self.by_aggregate(class, aggregate),
            Some(MarkerPlan::Srtcm(plan)) => self.by_sr_tcm(class, plan),
            Some(MarkerPlan::Trtcm(plan)) => self.by_tr_tcm(class, plan),
            Some(MarkerPlan::Tsw3cm(plan)) => {
                self.metered_by(class, Rates::from_window_with_peak(plan), colors, 0.0)
            }
            Some(MarkerPlan::TwoBuckets(plan)) => self.by_two_buckets(class, plan),
            Some(plan @ (MarkerPlan::Dstf(_) | MarkerPlan::TcpState(_)))
                if class.police.is_some() =>
            {
                Err(self.none(&format!("a policer behind the marker `{}`", plan.scheme())))
            }
            Some(MarkerPlan::Dstf(dstf)) if dstf.per().aggregate() == Aggregate::Flow => {
                self.by_bytes_sent(dstf)
            }
            Some(MarkerPlan::Sima(sima)) => self.by_momentary_rate(class, sima),
            Some(MarkerPlan::TcpState(state)) => self.by_window(state),
            Some(other) => Err(self.none(&format!("the marker `{}`", other.scheme()))),
        }
    }

    /// The parameters of meters that all packets share.
    pub(crate) fn shared<'p, P: Clone>(&self, meter: &'p Metered<P>) -> Result<&'p P, String> {
        match meter.per() {
            None => Ok(meter.params()),
            Some(_) => Err(self.none("a bucket for each user")),
        }
    }

    /// The meter of a class, which takes the first so many bytes of a flow before others.
    pub(crate) fn meter(
        &mut self,
        class: &TrafficClass,
        rates: Rates,
        first: f64,
    ) -> Result<usize, String> {
        if self.metered.is_some() {
            return Err(self.none("a second meter"));
        }
        let name = format!("{}/{}/{}", self.place, self.role.name, class.name);
        let meter = self.meters.number(name, rates);
        *self.metered = Some((meter, first));
        Ok(meter)
    }

    /// Packets within a profile and beyond it, and beyond its peak rate where that is higher; those of the first so many
    /// bytes of a flow before others.
    pub(crate) fn metered_by(
        &mut self,
        class: &TrafficClass,
        rates: Rates,
        [green, yellow, red]: [Dscp; 3],
        first: f64,
    ) -> Result<Vec<Written>, String> {
        let green = self.policed(class, Color::Green, green)?;
        let yellow = self.policed(class, Color::Yellow, yellow)?;
        let has_peak = rates.peak > rates.committed;
        let meter = self.meter(class, rates, first)?;
        let both = |from, who| Written {
            from,
            code_points: vec![
                (green, Share::Within(meter, who)),
                (yellow, Share::Beyond(meter, who)),
            ],
        };
        let rest = match has_peak {
            false => both(first, Protected::Rest),
            true => Written {
                from: first,
                code_points: vec![
                    (green, Share::Within(meter, Protected::Rest)),
                    (yellow, Share::Between(meter)),
                    (self.policed(class, Color::Red, red)?, Share::Above(meter)),
                ],
            },
        };
        Ok(if first > 0.0 { vec![both(0.0, Protected::First), rest] } else { vec![rest] })
    }

    pub(crate) fn policed(
        &self,
        class: &TrafficClass,
        color: Color,
        dscp: Dscp,
    ) -> Result<Dscp, String> {
        match class.police.map_or(PolicerAction::Forward, |actions| actions[color as usize]) {
            PolicerAction::Forward => Ok(dscp),
            PolicerAction::Remark(other) => Ok(other),
            PolicerAction::Drop => Err(self.none(DROPS)),
        }
    }

    /// There is no closed form for `what`.
    pub(crate) fn none(&self, what: &str) -> String {
        format!("{what} in the role `{}` at {}", self.role.name, self.place)
    }
}
