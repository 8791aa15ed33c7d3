//! Packets whose headers the kernel does not have in one piece.

use proptest::strategy::{Strategy, ValueTree};
use proptest::test_runner::TestRunner;
use shortflow_deploy::{Choice, DeviceStatus, Kind, Tree};
use shortflow_elements::classifier::MultiField;

use super::bench::{Bench, DEVICE, given, on_a_bench, run};
use crate::classifying::{OTHERWISE, expected, packet, rule};
use crate::support::{compiled, of_queue, settings};

/// Rules of each round, rounds, and packets of each for each way to have them in pieces.
const RULES: usize = 5;
const ROUNDS: usize = 4;
const PACKETS: usize = 150;
/// Bytes of a frame: one of less than a page is always in one piece.
const LENGTH: usize = 4096 + 200;
/// How many of its first bytes a frame has in one piece: the header of Ethernet alone; that of IPv4 too; that of IPv6 and half
/// the ports behind it; and all of it.
const LINEAR: [usize; 4] = [14, 34, 56, LENGTH];

/// A packet in a frame, and the number of the first rule that fits it.
struct Shown {
    frame: Vec<u8>,
    rule: Option<usize>,
}

fn drawn<T>(runner: &mut TestRunner, of: impl Strategy<Value = T>) -> T {
    of.new_tree(runner).unwrap().current()
}

fn rules(runner: &mut TestRunner) -> Vec<MultiField> {
    (0..RULES).map(|_| drawn(runner, rule())).collect()
}

/// Packets that can be read, some behind a tag of a virtual LAN.
fn shown(runner: &mut TestRunner, rules: &[MultiField]) -> Vec<Shown> {
    let found = std::iter::repeat_with(|| {
        let packet = drawn(runner, packet());
        let rule = match expected(rules, &packet)? {
            OTHERWISE => None,
            class => Some(class as usize - 1),
        };
        let kind: &[u8] = if packet[0] >> 4 == 6 { &[0x86, 0xdd] } else { &[8, 0] };
        let tag: &[u8] = if drawn(runner, 0..4u8) == 0 { &[0x81, 0, 0, 7] } else { &[] };
        let mut frame = [&[2; 12], tag, kind, &packet].concat();
        frame.resize(LENGTH, 0);
        Some(Shown { frame, rule })
    });
    found.flatten().take(PACKETS).collect()
}

/// A class for each rule and one for the rest, on a line on which nothing waits for long.
fn tree(rules: &[MultiField]) -> Tree {
    let class = |asks: String| {
        format!("{{ quantum = \"1500 B\", queue.fifo = {{ limit = \"1000 pkt\" }}{asks} }}")
    };
    let each = (0..rules.len()).map(|port| class(format!(", match = {{ dst_port = {port} }}")));
    let each: Vec<String> = each.chain([class(String::new())]).collect();
    let policy = of_queue(&format!("drr.classes = [{}]", each.join(", ")));
    let tree = compiled(&policy, &settings(&[Kind::Drr, Kind::Ets], true)).unwrap();
    let each = rules.iter().cloned().zip((0..).map(Choice::Class)).collect();
    let otherwise = Box::new(Choice::Class(rules.len()));
    let choice = Choice::Among { rules: each, otherwise };
    Tree { rate: "1 Gbit/s".parse().unwrap(), choice, ..tree }
}

/// Lets frames of more than a page pass, and nothing that the host would say by itself.
fn only_what_is_sent() {
    run("ip", &format!("link set {DEVICE} mtu 9000")).unwrap();
    std::fs::write(format!("/proc/sys/net/ipv6/conf/{DEVICE}/disable_ipv6"), "1").unwrap();
}

/// What each class is given while frames are sent; none where they cannot be.
fn given_while(bench: &Bench, all: &[Shown], linear: usize) -> Option<Vec<u64>> {
    let all_of = |status: &DeviceStatus| -> Vec<u64> {
        status.classes.iter().map(|class| given(status, &class.name)).collect()
    };
    let frames: Vec<&[u8]> = all.iter().map(|shown| &*shown.frame).collect();
    let before = all_of(&bench.status());
    bench.sends_frames(&frames, linear).then(|| {
        let after = all_of(&bench.status());
        after.iter().zip(before).map(|(after, before)| after - before).collect()
    })
}

/// How many packets are of each of `classes`.
fn counted(classes: usize, each: impl Iterator<Item = usize>) -> Vec<u64> {
    each.fold(vec![0; classes], |mut counts, class| {
        counts[class] += 1;
        counts
    })
}

/// Those of the rules, of the rest, of what finds neighbours, and of what is not told apart.
const CLASSES: usize = RULES + 3;

#[test]
fn packets_in_pieces_wait_in_the_classes_that_the_elements_find() {
    on_a_bench(|bench| {
        only_what_is_sent();
        let mut runner = TestRunner::deterministic();
        for _ in 0..ROUNDS {
            let rules = rules(&mut runner);
            bench.deploy(&tree(&rules));
            for linear in LINEAR {
                let all = shown(&mut runner, &rules);
                let Some(found) = given_while(bench, &all, linear) else { return };
                let of = |shown: &Shown| shown.rule.unwrap_or(RULES);
                let wanted = counted(CLASSES, all.iter().map(of));
                assert_eq!(found, wanted, "{linear} bytes in one piece, {rules:#?}");
            }
        }
    });
}

#[cfg(feature = "ebpf")]
mod marked {
    use shortflow_deploy::link;
    use shortflow_ebpf::Link;
    use shortflow_ebpf::edge::{Direction, EdgeClass, EdgeMeter, EdgePlan, EdgeProgram};
    use shortflow_elements::Color;
    use shortflow_elements::classifier::DscpSet;
    use shortflow_packet::Dscp;
    use shortflow_wire::Layers;

    use super::*;
    use crate::kernel::edge::with_the_program;

    /// Rule 0 gives packets the code point 1, and so on.
    fn code_point(rule: usize) -> Dscp {
        Dscp::new(rule as u8 + 1).unwrap()
    }

    fn marking(rules: &[MultiField]) -> EdgeProgram {
        let class = |rule: usize| EdgeClass {
            meter: EdgeMeter::Fixed(Color::Green),
            code_points: Some([code_point(rule); 3]),
            police: None,
        };
        let classes: Vec<EdgeClass> = (0..rules.len()).map(class).collect();
        let numbered: Vec<_> = rules.iter().cloned().zip(0..).collect();
        let plan = EdgePlan::new(&numbered, &classes).unwrap();
        EdgeProgram::load(&plan, Link::Ethernet).unwrap()
    }

    #[test]
    fn packets_in_pieces_are_marked_as_the_elements_mark_them_and_queues_see_the_mark() {
        with_the_program(|bench| {
            only_what_is_sent();
            let device = link(DEVICE).unwrap().index;
            let mut runner = TestRunner::deterministic();
            let asks = |rule| MultiField {
                dscps: Some(DscpSet::EMPTY.with(code_point(rule))),
                ..MultiField::default()
            };
            bench.deploy(&tree(&(0..RULES).map(asks).collect::<Vec<_>>()));
            for _ in 0..ROUNDS {
                let rules = rules(&mut runner);
                for linear in LINEAR {
                    let program = marking(&rules);
                    program.attach(device, Direction::Egress).unwrap();
                    let all = shown(&mut runner, &rules);
                    let Some(found) = given_while(bench, &all, linear) else { return };
                    let came = |shown: &Shown| {
                        let own = Layers::of_ethernet(&shown.frame).descriptor(None).unwrap().dscp;
                        (0..RULES).find(|rule| code_point(*rule) == own)
                    };
                    let of = |shown: &Shown| shown.rule.or_else(|| came(shown)).unwrap_or(RULES);
                    let wanted = counted(CLASSES, all.iter().map(of));
                    assert_eq!(found, wanted, "{linear} bytes in one piece, {rules:#?}");
                    let marked =
                        program.counters().unwrap().into_iter().map(|colors| colors[0].packets);
                    let of_rules = counted(RULES, all.iter().filter_map(|shown| shown.rule));
                    assert_eq!(
                        marked.collect::<Vec<_>>(),
                        of_rules,
                        "{linear} bytes in one piece, {rules:#?}"
                    );
                }
            }
        });
    }
}
