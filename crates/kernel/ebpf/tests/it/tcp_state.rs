//! Marks by the state of a host's TCP, of real transfers: the program that tells that state sees each packet right after
//! the one that marks by it. Needs the right to make network namespaces and to load eBPF.

use std::error::Error;
use std::os::fd::AsFd;

use libbpf_rs::{Object, ObjectBuilder, TC_EGRESS, TcHook};
use shortflow_ebpf::edge::{Direction, EdgeClass, EdgeMeter, EdgePlan, EdgeProgram};
use shortflow_ebpf::{ConnectionState, Link, Record, Recovery};
use shortflow_elements::Marker;
use shortflow_elements::classifier::MultiField;
use shortflow_elements::marker::{Crossing, RecoverySegments, TcpStateMarker, TcpStateParams};
use shortflow_packet::{Dscp, Phase, SenderView};
use shortflow_testbed::{Device, Home, Host, PortKind};
use shortflow_units::{Instant, Rng};
use shortflow_wire::{Layers, Transport};

use crate::hosts::two_hosts;
use crate::sender::{send, while_carrying};

const COLORS: [Dscp; 3] = [Dscp::AF11, Dscp::AF12, Dscp::AF13];

/// The window of a connection that is not open yet.
const INITIAL_WINDOW: u32 = 10;

/// One of so many segments with data is lost.
const LOSS: usize = 60;

pub(crate) fn attach_behind(home: &Home, host: &Host) -> Result<Object, Box<dyn Error>> {
    let built = include_bytes!(concat!(env!("OUT_DIR"), "/sender.bpf.o"));
    let object = ObjectBuilder::default().open_memory(built)?.load()?;
    let program = object.progs().find(|program| program.name() == "sender").expect("it is there");
    let mut hook = TcHook::new(program.as_fd());
    hook.ifindex(host.device.cast_signed()).attach_point(TC_EGRESS).handle(1).priority(0x6000);
    host.within(home, || hook.create().and_then(|_| hook.attach()))??;
    Ok(object)
}

/// Two hosts, of which the first marks by these rules; what its device must keep while it is there.
fn hosts(params: &TcpStateParams) -> Option<(Home, [Host; 2], [Device; 2], impl Sized + use<>)> {
    two_hosts(PortKind::Tun, Record::LENGTH as u32, |home, [first, _]| {
        let meter = EdgeMeter::TcpState { params: params.clone(), initial_window: INITIAL_WINDOW };
        let class = EdgeClass { meter, code_points: Some(COLORS), police: None };
        let plan = EdgePlan::new(&[(MultiField::default(), 0)], &[class])?;
        let program = EdgeProgram::load(&plan, Link::None)?;
        first.within(home, || program.attach(first.device, Direction::Egress))??;
        Ok((program, attach_behind(home, first)?))
    })
}

fn phase(state: &ConnectionState) -> Phase {
    match state.recovery {
        _ if state.is_opening => Phase::Handshake,
        Recovery::Fast => Phase::FastRecovery,
        Recovery::Loss => Phase::LossRecovery,
        _ => Phase::CongestionAvoidance,
    }
}

/// What the element is told of the sender of a packet.
fn view(record: &Record, is_again: bool) -> SenderView {
    let (window, phase) = match record {
        Record::Nothing => return SenderView::default(),
        Record::Request => (INITIAL_WINDOW, Phase::Handshake),
        Record::Connection(state) => (state.window_segments(), phase(state)),
    };
    SenderView {
        window_segments: Some(window),
        phase: Some(phase),
        is_retransmission: Some(is_again),
        ..SenderView::default()
    }
}

#[test]
fn every_segment_of_a_transfer_has_the_mark_of_what_its_kernel_knew_when_it_was_sent() {
    for recovery in [RecoverySegments::All, RecoverySegments::Retransmissions] {
        let params = TcpStateParams::new(6, 20, Crossing::Sharp, recovery).unwrap();
        let Some((home, hosts, mut devices, _attached)) = hosts(&params) else { return };
        let to = |at: &str| send(&home, &hosts, at.parse().unwrap(), 900_000);
        let carried = while_carrying(&mut devices, LOSS, || {
            ["10.0.0.2", "fd00::2", "10.0.0.2", "fd00::2"].into_iter().for_each(to);
        });
        let mut marker =
            TcpStateMarker::new(params.clone(), COLORS, Rng::stream(1, "none are drawn"));
        let (mut furthest, mut seen, mut again) = (None, [0; 3], 0);
        for (record, bytes) in &carried {
            let layers = Layers::of_ip(bytes);
            let mut packet = layers.descriptor(None).unwrap();
            let found = packet.dscp;
            let Transport::Tcp(header) = layers.transport else { continue };
            let end = (packet.key, header.sequence.wrapping_add(u32::from(packet.payload)));
            let is_again = packet.payload > 0
                && furthest.is_some_and(|(key, number)| {
                    key == packet.key && (header.sequence.wrapping_sub(number)).cast_signed() < 0
                });
            if !is_again && packet.payload > 0 {
                furthest = Some(end);
            }
            again += u32::from(is_again);
            let color = marker.mark(Instant::START, &mut packet, Some(&view(record, is_again)));
            assert_eq!(found, COLORS[color as usize], "{record:?} {is_again} {header:?}");
            seen[color as usize] += 1;
        }
        assert!(again > 10 && seen.iter().all(|count| *count > 20), "{seen:?}, {again} again");
    }
}

#[test]
fn at_random_about_a_threshold_s_worth_of_segments_keeps_its_mark() {
    let random = TcpStateParams::new(60, 120, Crossing::Randomized, RecoverySegments::All).unwrap();
    let Some((home, hosts, mut devices, _attached)) = hosts(&random) else { return };
    let carried = while_carrying(&mut devices, usize::MAX, || {
        (0..80).for_each(|_| send(&home, &hosts, "10.0.0.2".parse().unwrap(), 700_000));
    });
    let (mut expected, mut variance, mut found) = ([0.0; 2], [0.0; 2], [0.0; 2]);
    // Segments that a device cut from one packet have one mark: those that tell the same may be such.
    for run in carried.chunk_by(|one, next| one.0 == next.0) {
        let Record::Connection(state) = &run[0].0 else { continue };
        if phase(state) != Phase::CongestionAvoidance || state.window_segments() <= 60 {
            continue;
        }
        let (window, count) = (f64::from(state.window_segments()), run.len() as f64);
        let green = 60.0 / window;
        let yellow = (1.0 - green) * f64::min(120.0 / window, 1.0);
        for (at, share) in [green, yellow].into_iter().enumerate() {
            expected[at] += count * share;
            variance[at] += count * count * share * (1.0 - share);
            let of_color = run.iter().filter(|(_, bytes)| bytes[1] >> 2 == COLORS[at].value());
            found[at] += of_color.count() as f64;
        }
    }
    for at in [0, 1] {
        let off = f64::abs(found[at] - expected[at]);
        let allowed = 5.0 * variance[at].sqrt();
        assert!(
            off < allowed && allowed < 0.4 * expected[at],
            "{found:?} for {expected:?}, {variance:?}"
        );
    }
}
