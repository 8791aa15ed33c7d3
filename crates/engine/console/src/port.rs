//! Counters of one port over an interval.

use std::collections::BTreeMap;

use shortflow_packet::{Dscp, Ecn, FlowKey};
use shortflow_run::{Event, Sight};
use shortflow_units::{Duration, Instant};

use crate::behaviour::Behaviour;
use crate::model::{Flow, Role, Stream};

/// The most flows of which is known how they behave; of others each packet is one of its own.
const MAX_FLOWS: usize = 4096;
/// A flow that is silent for so long is forgotten.
const FORGET: Duration = Duration::from_secs(20);
/// The maximum number of reported flows.
const TOP: usize = 8;

/// What passes a port.
#[derive(Debug, Default)]
pub(crate) struct Port {
    /// Interactive, bulk.
    by_role: [Counted; 2],
    by_code_point: BTreeMap<Dscp, Counted>,
    flows: BTreeMap<FlowKey, Seen>,
}

/// Packets of one stream, since the interval began.
#[derive(Debug, Default)]
struct Counted {
    bytes: u64,
    dropped: u64,
    marked: u64,
    /// How long each was under way, in seconds.
    delays: Vec<f64>,
}

#[derive(Debug)]
struct Seen {
    behaviour: Behaviour,
    /// Since the interval began.
    bytes: u64,
}

const NAMES: [(&str, Role); 2] = [("interactive", Role::Interactive), ("bulk", Role::Bulk)];

impl Port {
    /// A packet passes, or is dropped.
    pub(crate) fn see(&mut self, sight: &Sight<'_>) {
        let packet = sight.packet;
        if sight.event == Event::Sent {
            return;
        }
        let role = self.role(sight);
        let by_role = &mut self.by_role[usize::from(role == Role::Bulk)];
        let by_code_point = self.by_code_point.entry(packet.dscp).or_default();
        let delay = sight.now.since(sight.sent_at.min(sight.now)).as_secs_f64();
        for counted in [by_role, by_code_point] {
            match sight.event {
                Event::Dropped(_) => counted.dropped += 1,
                _ => {
                    counted.bytes += u64::from(packet.size);
                    counted.marked += u64::from(packet.ecn == Ecn::Ce);
                    counted.delays.push(delay);
                }
            }
        }
    }

    /// What its flow is; a packet that is dropped does not count as sent.
    fn role(&mut self, sight: &Sight<'_>) -> Role {
        let key = sight.packet.key;
        if self.flows.len() >= MAX_FLOWS && !self.flows.contains_key(&key) {
            return Behaviour::new(sight.now).sent(sight.now, sight.packet.size);
        }
        let new = || Seen { behaviour: Behaviour::new(sight.now), bytes: 0 };
        let flow = self.flows.entry(key).or_insert_with(new);
        match sight.event {
            Event::Dropped(_) => flow.behaviour.role(),
            _ => {
                flow.bytes += u64::from(sight.packet.size);
                flow.behaviour.sent(sight.now, sight.packet.size)
            }
        }
    }

    /// What has passed in the interval of this length that ends now; another begins.
    pub(crate) fn close(
        &mut self,
        now: Instant,
        seconds: f64,
        name: &dyn Fn(&FlowKey) -> String,
    ) -> (Vec<Stream>, Vec<Flow>) {
        let mut streams: Vec<Stream> = self
            .by_role
            .iter_mut()
            .zip(NAMES)
            .map(|(counted, (name, role))| counted.take(name.to_owned(), role, seconds))
            .collect();
        // One code point would be both together.
        if self.by_code_point.len() > 1 {
            streams.extend(self.by_code_point.iter_mut().map(|(code_point, counted)| {
                counted.take(code_point.to_string(), Role::Class, seconds)
            }));
        } else {
            self.by_code_point.values_mut().for_each(|counted| *counted = Counted::default());
        }
        let mut top: Vec<(&FlowKey, &Seen)> =
            self.flows.iter().filter(|(_, seen)| seen.bytes > 0).collect();
        top.sort_by_key(|(_, seen)| std::cmp::Reverse(seen.bytes));
        let flow = |(key, seen): &(&FlowKey, &Seen)| Flow {
            name: name(key),
            stream: NAMES[usize::from(seen.behaviour.role() == Role::Bulk)].0.to_owned(),
            rate_bit_per_s: 8.0 * seen.bytes as f64 / seconds,
        };
        let flows = top.iter().take(TOP).map(flow).collect();
        self.flows.retain(|_, seen| {
            seen.bytes = 0;
            seen.behaviour.silent(now) < FORGET
        });
        (streams, flows)
    }
}

impl Counted {
    fn take(&mut self, name: String, role: Role, seconds: f64) -> Stream {
        let Counted { bytes, dropped, marked, mut delays } = std::mem::take(self);
        delays.sort_by(f64::total_cmp);
        let count = delays.len();
        let mean = (count > 0).then(|| delays.iter().sum::<f64>() / count as f64);
        // The nearest rank: the least value that 95 of 100 do not exceed.
        let p95 = (count > 0).then(|| delays[(count * 95).div_ceil(100) - 1]);
        Stream {
            name,
            role,
            delay_s: mean,
            delay_p95_s: p95,
            rate_bit_per_s: Some(8.0 * bytes as f64 / seconds),
            dropped,
            marked,
            waiting: None,
        }
    }
}
