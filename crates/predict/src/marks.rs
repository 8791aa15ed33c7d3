//! Which band and which level the packets of a flow belong to at each line, by how much the flow has sent.

use shortflow_elements::dropper::PolicerAction;
use shortflow_elements::marker::Counted;
use shortflow_elements::meter::TswParams;
use shortflow_elements::{Aggregate, Color, Dscp, FlowKey, Packet, Protocol};
use shortflow_policy::{MarkerPlan, Role, TrafficClass};
use shortflow_scenario::{NodeId, Scenario};

use crate::lines::Line;

/// Packets of a flow, as a classifier sees them.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Kind {
    /// Who sends to whom.
    pub(crate) ends: (NodeId, NodeId),
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
}

impl Kind {
    fn sample(&self, dscp: Dscp) -> Packet {
        let key = FlowKey {
            src: self.ends.0.address(),
            dst: self.ends.1.address(),
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
    /// Bytes per second of the profile.
    pub(crate) committed: f64,
}

/// The meters of a network, each once.
#[derive(Debug, Clone, Default)]
pub(crate) struct Meters(pub(crate) Vec<Meter>);

impl Meters {
    fn number(&mut self, name: String, committed: f64) -> usize {
        let known = self.0.iter().position(|meter| meter.name == name);
        known.unwrap_or_else(|| {
            self.0.push(Meter { name, committed });
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
    /// Why it is not known where they belong.
    pub(crate) lacks: Option<String>,
}

/// What is written in the packets of a flow from so many bytes on.
#[derive(Debug, Clone)]
struct Written {
    from: f64,
    code_points: Vec<(Dscp, Share)>,
}

/// Follows the packets of `kind` over `way`.
pub(crate) fn hops(
    scenario: &Scenario,
    lines: &[Line],
    meters: &mut Meters,
    kind: &Kind,
    way: &[usize],
) -> Vec<Hop> {
    let written = vec![Written { from: 0.0, code_points: vec![(kind.dscp, Share::All)] }];
    let mut marks =
        Marks { scenario, kind, meters, written, metered: None, forgets: 0.0, lacks: None };
    let mut found = Vec::with_capacity(way.len());
    for &at in way {
        let line = &lines[at];
        marks.pass(line.conditioned[0], line);
        // Where all are treated alike, it does not matter what is written.
        let lacks = if line.tells_apart() { marks.lacks.clone() } else { None };
        let pieces = marks.written.iter().map(|written| piece(line, kind, written)).collect();
        let (metered, forgets) = (marks.metered, marks.forgets);
        found.push(Hop { line: at, pieces, metered, forgets, lacks });
        marks.pass(line.conditioned[1], line);
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
    lacks: Option<String>,
}

impl Marks<'_> {
    /// Past the role of a node, if one conditions packets there.
    fn pass(&mut self, role: Option<usize>, line: &Line) {
        let Some((role, policy)) = role.zip(self.scenario.policy.as_ref()) else { return };
        let role = &policy.roles[role];
        if self.lacks.is_none() {
            let kind = self.kind;
            let (meters, metered) = (&mut *self.meters, &mut self.metered);
            let forgets = &mut self.forgets;
            let mut marking = Marking { kind, meters, metered, forgets, place: &line.name, role };
            self.lacks = marking.conditioned(&mut self.written).err();
        }
    }
}

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
struct Marking<'m> {
    kind: &'m Kind,
    meters: &'m mut Meters,
    metered: &'m mut Option<(usize, f64)>,
    forgets: &'m mut f64,
    place: &'m str,
    role: &'m Role,
}

impl<'m> Marking<'m> {
    /// Writes what the role writes; else in words what has no closed form.
    fn conditioned(&mut self, written: &mut Vec<Written>) -> Result<(), String> {
        if self.role.classes.iter().any(|class| class.rule.sender.is_some()) {
            return Err(self.none("classes by what a sender knows"));
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
        let all = |dscp| vec![Written { from: 0.0, code_points: vec![(dscp, Share::All)] }];
        let [green, yellow, _] = self.role.code_points;
        match &class.marker {
            None => Ok(all(self.policed(class, Color::Green, dscp)?)),
            Some(MarkerPlan::Fixed(fixed)) => match fixed.bucket() {
                None => Ok(all(self.policed(class, Color::Green, fixed.dscp())?)),
                Some(bucket) if bucket.per().is_none() => {
                    let committed = bucket.params().rate().bytes_per_sec();
                    self.metered_by(class, committed, [fixed.dscp(); 2], 0.0)
                }
                Some(_) => Err(self.none("a bucket for each user")),
            },
            Some(MarkerPlan::TokenBucket(bucket)) if bucket.per().is_none() => {
                let committed = bucket.params().rate().bytes_per_sec();
                self.metered_by(class, committed, [green, yellow], 0.0)
            }
            Some(MarkerPlan::Tsw2cm(tsw)) => {
                self.metered_by(class, committed_rate(tsw), [green, yellow], 0.0)
            }
            Some(MarkerPlan::FairMarker(fair)) => {
                let first = fair.threshold() as f64 * self.kind.packet;
                self.metered_by(class, committed_rate(fair.tsw()), [green, yellow], first)
            }
            Some(MarkerPlan::Dstf(dstf)) if dstf.per().aggregate() == Aggregate::Flow => {
                let packet = self.kind.packet;
                let counted = match dstf.counted() {
                    Counted::Packet => 1.0,
                    Counted::Payload => packet / (packet - self.kind.header),
                };
                let levels = dstf.levels();
                let code_points = levels.code_points();
                // What is counted is less than what is sent, and some of that is forgotten.
                let (forgets, counts) = (dstf.decay().bytes_per_sec(), self.kind.rate / counted);
                *self.forgets = self.forgets.max(forgets);
                if counts > 0.0 && counts <= forgets {
                    return Ok(all(code_points[0]));
                }
                if counts > 0.0 && forgets > 0.0 {
                    // What it has sent is counted up to the last threshold, and falls below it between packets.
                    return Err(self.none("a stream that is faster than what is forgotten"));
                }
                let sent = if counts > 0.0 { self.kind.rate / counts } else { counted };
                let from = levels.thresholds().into_iter().map(|bytes| bytes.0 as f64 * sent);
                let each = std::iter::once(0.0).chain(from).zip(code_points);
                let one = |(from, dscp): (f64, &Dscp)| Written {
                    from,
                    code_points: vec![(*dscp, Share::All)],
                };
                Ok(each.map(one).collect())
            }
            Some(other) => Err(self.none(&format!("the marker `{}`", other.scheme()))),
        }
    }

    /// Packets within a profile and beyond it, those of the first so many bytes of a flow before others.
    fn metered_by(
        &mut self,
        class: &TrafficClass,
        committed: f64,
        [green, yellow]: [Dscp; 2],
        first: f64,
    ) -> Result<Vec<Written>, String> {
        if self.metered.is_some() {
            return Err(self.none("a second meter"));
        }
        let green = self.policed(class, Color::Green, green)?;
        let yellow = self.policed(class, Color::Yellow, yellow)?;
        let name = format!("{}/{}/{}", self.place, self.role.name, class.name);
        let meter = self.meters.number(name, committed);
        *self.metered = Some((meter, first));
        let both = |from, who| Written {
            from,
            code_points: vec![
                (green, Share::Within(meter, who)),
                (yellow, Share::Beyond(meter, who)),
            ],
        };
        let rest = both(first, Protected::Rest);
        Ok(if first > 0.0 { vec![both(0.0, Protected::First), rest] } else { vec![rest] })
    }

    fn policed(&self, class: &TrafficClass, color: Color, dscp: Dscp) -> Result<Dscp, String> {
        match class.police.map_or(PolicerAction::Forward, |actions| actions[color as usize]) {
            PolicerAction::Forward => Ok(dscp),
            PolicerAction::Remark(other) => Ok(other),
            PolicerAction::Drop => Err(self.none("a policer that drops")),
        }
    }

    /// There is no closed form for `what`.
    fn none(&self, what: &str) -> String {
        format!("{what}, as in the role `{}` at {}", self.role.name, self.place)
    }
}

/// Bytes per second.
fn committed_rate(tsw: &TswParams) -> f64 {
    tsw.committed_rate().bytes_per_sec()
}
