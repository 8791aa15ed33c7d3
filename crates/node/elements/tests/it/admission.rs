//! Measurement-based admission control: streams that come, stay, fall silent and go.

use shortflow_elements::marker::{AdmissionControl, AdmissionParams, LoadWindow};
use shortflow_elements::{Aggregate, Color, Marker, Per};
use shortflow_packet::Dscp;
use shortflow_units::{Bytes, Duration, Instant, Rate};

use crate::bench::{mbit, ms, p, rng};

/// 1 Mbit/s for streams that declare 250 kbit/s: a packet of 1000 bytes every 32 ms, five
/// to a sample of 160 ms. Ten samples to a window; a stream is forgotten after 2 s of silence.
fn params(depth: Option<Bytes>) -> AdmissionParams {
    let window = LoadWindow::new(Duration::from_millis(160), 10).unwrap();
    let streams = Per::new(Aggregate::Flow, 1000, Duration::from_secs(2)).unwrap();
    let peak = Rate::from_bits_per_sec(250_000);
    let code_points = [Dscp::EF, Dscp::BEST_EFFORT];
    AdmissionParams::new(mbit(1), peak, depth, window, streams, code_points).unwrap()
}

/// A stream of packets of 1000 bytes, one every `gap` milliseconds from `from` until `to`.
#[derive(Clone, Copy)]
struct Sends {
    stream: u16,
    gap: u64,
    from: u64,
    to: u64,
}

/// Offers all packets in the order of their times; the colour of each stream's first and last
/// packet.
fn offer(control: &mut AdmissionControl, streams: &[Sends]) -> Vec<(Color, Color)> {
    let mut packets: Vec<(u64, usize)> = Vec::new();
    for (index, sends) in streams.iter().enumerate() {
        packets.extend((sends.from..sends.to).step_by(sends.gap as usize).map(|at| (at, index)));
    }
    packets.sort_unstable();
    let mut found: Vec<Option<(Color, Color)>> = vec![None; streams.len()];
    for (at, index) in packets {
        let mut packet = p(0).of_flow(streams[index].stream).packet();
        let color = control.mark(ms(at), &mut packet, None);
        let expected = if color == Color::Green { Dscp::EF } else { Dscp::BEST_EFFORT };
        assert_eq!(packet.dscp, expected);
        let (first, _) = found[index].unwrap_or((color, color));
        found[index] = Some((first, color));
    }
    found.into_iter().flatten().collect()
}

fn at_peak(stream: u16, from: u64, to: u64) -> Sends {
    Sends { stream, gap: 32, from, to }
}

const ADMITTED: (Color, Color) = (Color::Green, Color::Green);
const REFUSED: (Color, Color) = (Color::Red, Color::Red);

#[test]
fn streams_are_admitted_until_their_declared_peaks_fill_the_share() {
    let mut control = AdmissionControl::new(params(None), rng());
    let streams: Vec<Sends> = (0..6).map(|n| at_peak(n, u64::from(n), 1000)).collect();
    let found = offer(&mut control, &streams);
    assert_eq!(found, [ADMITTED, ADMITTED, ADMITTED, ADMITTED, REFUSED, REFUSED]);
    assert_eq!((control.stats().admitted, control.stats().refused), (4, 2));
}

#[test]
fn streams_that_send_less_than_they_declare_leave_room_for_more() {
    // Each declares 250 kbit/s and sends 50: a packet per sample. One comes every 3 s, when a whole
    // window has measured those before.
    let mut control = AdmissionControl::new(params(None), rng());
    let streams: Vec<Sends> = (0..20)
        .map(|n| Sends { stream: n, gap: 160, from: 3_000 * u64::from(n), to: 60_000 })
        .collect();
    let found = offer(&mut control, &streams);
    // Of declared peaks there is room for 4; of measured ones while n·50 + 250 is at most 1000.
    assert_eq!(found[..16], [ADMITTED; 16]);
    assert_eq!(found[16..], [REFUSED; 4]);
}

#[test]
fn what_a_stream_leaves_is_given_away_when_a_window_has_passed() {
    let mut control = AdmissionControl::new(params(None), rng());
    let mut streams: Vec<Sends> = (0..4).map(|n| at_peak(n, u64::from(n), 6_000)).collect();
    streams[0].to = 2_000;
    // Windows end at 1.6, 3.2 and 4.8 s; that of the middle has still seen four.
    streams.push(at_peak(10, 4_700, 5_000));
    streams.push(at_peak(11, 4_850, 6_000));
    let found = offer(&mut control, &streams);
    assert_eq!(found[4..], [REFUSED, ADMITTED]);
}

#[test]
fn a_stream_keeps_its_answer_until_it_has_been_silent() {
    let mut control = AdmissionControl::new(params(None), rng());
    let mut streams: Vec<Sends> = (0..5).map(|n| at_peak(n, u64::from(n), 3_000)).collect();
    // The refused one goes on when the others have ended: still refused. After 2 s of silence it
    // asks anew.
    streams[4].to = 8_000;
    let found = offer(&mut control, &streams);
    assert_eq!(found[4], REFUSED);
    let last = 7_972;
    let found = offer(&mut control, &[at_peak(4, last + 2_000, last + 2_100)]);
    assert_eq!(found, [REFUSED], "2 s are not too long");
    let found = offer(&mut control, &[at_peak(4, last + 5_000, last + 6_000)]);
    assert_eq!(found, [ADMITTED]);
    assert_eq!((control.stats().admitted, control.stats().refused), (5, 1));
}

#[test]
fn a_stream_beyond_its_declared_peak_is_cut_down_to_it_and_stays_admitted() {
    let mut control = AdmissionControl::new(params(Some(Bytes(2_000))), rng());
    let mut colors = Vec::new();
    // A packet every 16 ms is twice the peak.
    for n in 0..500 {
        let mut packet = p(0).of_flow(1).packet();
        colors.push(control.mark(ms(16 * n), &mut packet, None));
    }
    let green = colors.iter().filter(|&&color| color == Color::Green).count();
    // 250 kbit/s over 7.984 s are 249.5 packets, and two are in the bucket.
    assert_eq!(green, 251);
    assert!(!colors.contains(&Color::Red));
    assert_eq!(control.stats().beyond_peak, 249);
    let mut shown = Vec::new();
    control.counters(&mut |name, count| shown.push((name, count)));
    assert_eq!(
        shown,
        [
            ("streams admitted", 1),
            ("streams refused", 0),
            ("packets beyond their peak", 249),
            ("streams evicted", 0),
        ]
    );
}

#[test]
fn the_load_of_admitted_streams_keeps_to_the_share_whatever_the_refused_send() {
    let mut control = AdmissionControl::new(params(Some(Bytes(1_000))), rng());
    let mut green = 0_u64;
    // Forty streams start over 4 s and send at twice their peak: 20 Mbit/s in all.
    for step in 0..10_000_u64 {
        let now = Instant::START + Duration::from_millis(step);
        for stream in (0..40).filter(|n| step >= 100 * n && (step - 100 * n) % 16 == 0) {
            let mut packet = p(0).of_flow(stream as u16).packet();
            green += u64::from(control.mark(now, &mut packet, None) == Color::Green);
        }
    }
    // Four at 250 kbit/s for 10 s, and a bucket of each.
    assert!(green * 8_000 <= 10_000_000 + 4 * 8_000, "{green} packets");
    assert!(green * 8_000 > 9_000_000, "{green} packets");
}

#[test]
fn a_peak_that_never_fits_is_refused_by_name() {
    let window = LoadWindow::new(Duration::from_secs(1), 10).unwrap();
    let streams = Per::new(Aggregate::Flow, 10, Duration::from_secs(1)).unwrap();
    let code_points = [Dscp::EF, Dscp::BEST_EFFORT];
    let refused =
        AdmissionParams::new(mbit(1), mbit(2), None, window, streams, code_points).unwrap_err();
    assert_eq!(
        (refused.parameter(), refused.to_string().as_str()),
        (
            "peak",
            "peak must be at most the rate of the share, 1 Mbit/s; found 2 Mbit/s, with which no \
             stream would be admitted"
        )
    );
}
