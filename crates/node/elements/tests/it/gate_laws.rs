//! What holds for every gate: a host that works departures out on arrival gets what one gets that asks
//! the queue behind the gate at each departure.

use std::collections::{BTreeSet, VecDeque};

use proptest::prelude::*;
use shortflow_elements::queue::{AnyGate, Averages, Fifo, FifoParams, Red, RedGate, TailDrop};
use shortflow_elements::{Arrival, DropReason, Drops, Gate, QueueDiscipline, Verdict};
use shortflow_packet::{Dscp, Ecn, TrafficClass};
use shortflow_units::{Bytes, Duration, Instant, Length};

use crate::bench::{number_of, p, rng};
use crate::queue_laws::{bytes, packets, red_params, sources_of_the_workspace};

/// A packet that comes some time after the one before.
#[derive(Debug, Clone, Copy)]
struct Coming {
    after: Duration,
    arrival: Arrival,
}

/// Some at once, some as one of 1000 bytes leaves, some after a pause.
fn comings() -> impl Strategy<Value = Vec<Coming>> {
    let after = prop_oneof![
        2 => Just(Duration::ZERO),
        1 => Just(transmission(1000)),
        3 => (0..1_000_000u64).prop_map(Duration::from_nanos),
        2 => (0..9_000_000u64).prop_map(Duration::from_nanos),
    ];
    let size = prop_oneof![Just(1000), 40..1500u32];
    let dscp = prop::sample::select(vec![Dscp::AF11, Dscp::AF12, Dscp::AF13]);
    let ecn = prop::sample::select(vec![Ecn::NotEct, Ecn::Ect0, Ecn::Ce]);
    let coming = (after, size, dscp, ecn).prop_map(|(after, size, dscp, ecn)| {
        let arrival = Arrival { size, class: TrafficClass::new(dscp, ecn) };
        Coming { after, arrival }
    });
    prop::collection::vec(coming, 0..200)
}

/// On a line of 8 Mbit/s.
fn transmission(size: u32) -> Duration {
    Duration::from_micros(u64::from(size))
}

/// What became of a packet.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Fate {
    Sent { at: Instant, ecn: Ecn },
    Dropped(DropReason),
}

/// The fate of each packet, and the average and the marks after its arrival.
#[derive(Debug, PartialEq)]
struct Found {
    fates: Vec<Option<Fate>>,
    after: Vec<(Option<f64>, u64)>,
}

/// A line that asks its queue.
struct Asking {
    queue: Box<dyn QueueDiscipline>,
    free_at: Instant,
    drops: Drops,
    found: Found,
}

impl Asking {
    /// Asks the queue at each departure, one by one.
    fn find(queue: Box<dyn QueueDiscipline>, comings: &[Coming]) -> Found {
        let found = Found { fates: vec![None; comings.len()], after: Vec::new() };
        let (free_at, drops) = (Instant::START, Drops::default());
        let mut line = Asking { queue, free_at, drops, found };
        let mut now = Instant::START;
        for (number, &Coming { after, arrival }) in (0..).zip(comings) {
            now += after;
            line.serve_until(now);
            let Arrival { size, class } = arrival;
            let packet = p(number).sized(size).marked(class.dscp()).with(class.ecn()).packet();
            line.queue.enqueue(now, packet, &mut line.drops);
            if line.free_at <= now {
                line.serve(now);
            }
            for dropped in line.drops.drain() {
                let number = number_of(&dropped.packet) as usize;
                line.found.fates[number] = Some(Fate::Dropped(dropped.reason));
            }
            line.found.after.push((line.queue.average(), line.queue.ecn_marks()));
        }
        line.serve_until(Instant::NEVER);
        line.found
    }

    /// All departures up to and including `until`.
    fn serve_until(&mut self, until: Instant) {
        while self.free_at <= until {
            self.queue.departed(self.free_at);
            if !self.serve(self.free_at) {
                break;
            }
        }
    }

    /// Sends the next packet: whether there was one.
    fn serve(&mut self, at: Instant) -> bool {
        let Some(queued) = self.queue.dequeue(at, &mut self.drops) else { return false };
        let number = number_of(&queued.packet) as usize;
        self.found.fates[number] = Some(Fate::Sent { at, ecn: queued.packet.ecn });
        self.free_at = at + transmission(queued.packet.size);
        true
    }
}

/// Works each departure out on arrival, and tells the gate of it before the next arrival.
fn worked_out(mut gate: Box<dyn Gate>, comings: &[Coming]) -> Found {
    let mut found = Found { fates: Vec::new(), after: Vec::new() };
    let (mut now, mut free_at) = (Instant::START, Instant::START);
    let mut waiting: VecDeque<(Instant, Arrival)> = VecDeque::new();
    for &Coming { after, arrival } in comings {
        now += after;
        while let Some((begins, first)) = waiting.pop_front_if(|&mut (begins, _)| begins <= now) {
            gate.begin(begins, begins + transmission(first.size), first);
        }
        let starts = free_at.max(now);
        let left_at = starts + transmission(arrival.size);
        let verdict =
            if starts == now { gate.pass(now, left_at, arrival) } else { gate.admit(now, arrival) };
        let ecn = if verdict == Verdict::Mark { Ecn::Ce } else { arrival.class.ecn() };
        found.fates.push(Some(match verdict {
            Verdict::Pass | Verdict::Mark => Fate::Sent { at: starts, ecn },
            Verdict::Drop(reason) => Fate::Dropped(reason),
        }));
        if !matches!(verdict, Verdict::Drop(_)) {
            free_at = left_at;
            waiting.extend((starts > now).then_some((starts, arrival)));
        }
        found.after.push((gate.average(), gate.ecn_marks()));
    }
    found
}

/// Checks each gate against the queue behind it.
macro_rules! gate_laws {
    ($($name:ident: $gate:expr => $queue:expr;)*) => {
        /// The types of the gates, without their modules.
        fn audited() -> BTreeSet<&'static str> {
            let types = [$(std::any::type_name_of_val(&$gate)),*];
            types.into_iter().map(|path| path.rsplit("::").next().unwrap()).collect()
        }

        proptest! {
            $(#[test]
            fn $name(comings in comings()) {
                let expected = Asking::find(Box::new($queue), &comings);
                prop_assert_eq!(worked_out(Box::new($gate), &comings), expected);
            })*
        }
    };
}

const PACKETS: Option<Length> = Some(Length::Packets(12));
const BYTES: Option<Length> = Some(Length::Bytes(Bytes(9_000)));

fn fifo(limit: Option<Length>) -> FifoParams {
    FifoParams::new(limit.unwrap()).unwrap()
}

gate_laws! {
    tail_drop_in_packets: TailDrop::new(fifo(PACKETS)) => Fifo::new(fifo(PACKETS));
    tail_drop_in_bytes: TailDrop::new(fifo(BYTES)) => Fifo::new(fifo(BYTES));
    red_in_packets:
        RedGate::new(red_params(PACKETS, packets, Averages::Shared), rng())
        => Red::new(red_params(PACKETS, packets, Averages::Shared), rng());
    red_in_bytes:
        RedGate::new(red_params(BYTES, bytes, Averages::Shared), rng())
        => Red::new(red_params(BYTES, bytes, Averages::Shared), rng());
    red_with_an_average_per_level:
        RedGate::new(red_params(PACKETS, packets, Averages::PerLevel), rng())
        => Red::new(red_params(PACKETS, packets, Averages::PerLevel), rng());
    red_with_coupled_averages:
        RedGate::new(red_params(BYTES, bytes, Averages::Coupled), rng())
        => Red::new(red_params(BYTES, bytes, Averages::Coupled), rng());
    any_gate_that_is_tail_drop:
        AnyGate::from(TailDrop::new(fifo(PACKETS))) => Fifo::new(fifo(PACKETS));
    any_gate_that_is_red:
        AnyGate::from(RedGate::new(red_params(PACKETS, packets, Averages::Coupled), rng()))
        => Red::new(red_params(PACKETS, packets, Averages::Coupled), rng());
}

#[test]
fn every_gate_of_the_workspace_is_held_to_the_law() {
    let texts = sources_of_the_workspace();
    let lines = texts.iter().flat_map(|text| text.lines());
    let gates = lines.filter_map(|line| line.strip_prefix("impl Gate for "));
    let gates: BTreeSet<&str> = gates.map(|rest| rest.trim_end_matches([' ', '{'])).collect();
    assert_eq!(gates, audited(), "add a line to `gate_laws!`");
}
