//! The way of a flow's packets: what is written in them, and where they belong at each line.

use shortflow_elements::Color;
use shortflow_elements::dropper::PolicerAction;
use shortflow_policy::{MarkerPlan, Role, TrafficClass};
use shortflow_scenario::Scenario;

use crate::lines::Line;
use crate::marking::{DROPS, Marking};
use crate::marks::{Hop, Kind, Meters, Piece, Place, Share, Written};

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
                .any(|action| matches!(action, PolicerAction::Drop | PolicerAction::End))
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
