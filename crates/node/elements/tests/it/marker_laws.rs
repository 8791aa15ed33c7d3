//! What holds for every marker: it writes the code point and nothing else, the code points are its
//! own, and the same stream of packets gives the same marks.

use proptest::prelude::*;
use shortflow_elements::marker::{
    Adaptation, AdaptationSettings, AdmissionControl, AdmissionParams, ColorMarker, Counted,
    Crossing, DstfMarker, DstfParams, FixedMarker, LoadWindow, RecoverySegments, SimaMarker,
    SizeLevels, SrptMarker, SrptParams, TcpStateMarker, TcpStateParams,
};
use shortflow_elements::meter::{TokenBucket, TokenBucketParams};
use shortflow_elements::sharing::{Depths, Sharing};
use shortflow_elements::{Aggregate, Color, Marker, Per, PerAggregate};
use shortflow_packet::{Dscp, Packet, Phase, SenderView};
use shortflow_units::{Bytes, Duration, Instant, Rate, Rng};

use crate::bench::{mbit, p, rng};
use crate::sima_marker::sima;

fn per(aggregate: Aggregate) -> Per {
    Per::new(aggregate, 7, Duration::from_secs(9)).unwrap()
}

/// One of each, with the code points that it may write.
fn markers() -> Vec<(Box<dyn Marker>, Vec<Dscp>)> {
    let af = vec![Dscp::AF11, Dscp::AF12, Dscp::AF13];
    let colors = [Dscp::AF11, Dscp::AF12, Dscp::AF13];
    let eight = SizeLevels::default_code_points(8);
    let levels = SizeLevels::new(&SizeLevels::HARP, eight.clone()).unwrap();
    let bucket = TokenBucket::new(TokenBucketParams::new(mbit(1), Bytes(3_000)).unwrap());
    let users = PerAggregate::new(per(Aggregate::Source), bucket, rng()).unwrap();
    let dstf = |decay| {
        DstfParams::new(levels.clone(), per(Aggregate::Flow), Counted::Packet, decay).unwrap()
    };
    let window = LoadWindow::new(Duration::from_millis(10), 10).unwrap();
    let streams = per(Aggregate::Flow);
    let edge = [Dscp::EF, Dscp::BEST_EFFORT];
    let admission =
        AdmissionParams::new(mbit(2), mbit(1), Some(Bytes(2_000)), window, streams, edge).unwrap();
    let state = |crossing| {
        let params = TcpStateParams::new(4, 8, crossing, RecoverySegments::All).unwrap();
        TcpStateMarker::new(params, colors, Rng::stream(1, "marker"))
    };
    let adapting = || {
        let settings = AdaptationSettings {
            budget: mbit(1),
            slow: Duration::from_millis(20),
            size: Bytes(9_000),
            every: Duration::from_millis(100),
            highest: 30,
        };
        let params =
            TcpStateParams::new(4, 8, Crossing::Randomized, RecoverySegments::All).unwrap();
        let params = params.adapting(Adaptation::new(settings).unwrap()).unwrap();
        TcpStateMarker::new(params, colors, Rng::stream(1, "marker"))
    };
    let sima = |per| {
        let params = sima(200_000, per);
        let code_points = params.code_points().to_vec();
        (Box::new(SimaMarker::new(params, rng())) as Box<dyn Marker>, code_points)
    };
    vec![
        (Box::new(FixedMarker::new(Dscp::EF, Color::Green)), vec![Dscp::EF]),
        (Box::new(ColorMarker::new(Box::new(users), colors)), af.clone()),
        (Box::new(DstfMarker::new(dstf(mbit(200)), rng())), eight.clone()),
        (Box::new(DstfMarker::new(dstf(Rate::ZERO), rng())), eight.clone()),
        (Box::new(SrptMarker::new(SrptParams::new(levels, None).unwrap())), eight),
        (Box::new(state(Crossing::Sharp)), af.clone()),
        (Box::new(state(Crossing::Randomized)), af.clone()),
        (Box::new(adapting()), af),
        sima(None),
        sima(Some(per(Aggregate::Flow))),
        (aggregate(Sharing::Common), vec![Dscp::AF11, Dscp::AF12]),
        (aggregate(Sharing::Logical(Depths::ByRtt)), vec![Dscp::AF11, Dscp::AF12]),
        (Box::new(AdmissionControl::new(admission, rng())), edge.to_vec()),
    ]
}

fn aggregate(sharing: Sharing) -> Box<dyn Marker> {
    Box::new(crate::aggregate_marker::marker(mbit(1), 4_000, sharing, 7))
}

/// The time since the packet before, flow, size, and what the sender tells, if anything does.
type Arrival = (u64, u16, u32, Option<(u32, u64, bool)>);

fn arrivals() -> impl Strategy<Value = Vec<Arrival>> {
    let sender = prop::option::of((0..40u32, 0..2_000_000u64, any::<bool>()));
    prop::collection::vec((0..30_000_000u64, 0..12u16, 40..1500u32, sender), 1..150)
}

fn marks(marker: &mut dyn Marker, arrivals: &[Arrival]) -> Vec<(Dscp, Color)> {
    let mut now = Instant::START;
    let mark = |&(gap, flow, size, sender): &Arrival| {
        now += Duration::from_nanos(gap);
        let sender = sender.map(|(window_segments, remaining, is_recovering)| SenderView {
            window_segments: Some(window_segments),
            remaining: Some(Bytes(remaining)),
            smoothed_rtt: Some(Duration::from_millis(u64::from(window_segments))),
            phase: Some(if is_recovering { Phase::FastRecovery } else { Phase::SlowStart }),
            ..SenderView::default()
        });
        let mut packet = p(7).of_flow(flow).sized(size).packet();
        let color = marker.mark(now, &mut packet, sender.as_ref());
        let dscp = packet.dscp;
        let unmarked = Packet { dscp: Dscp::BEST_EFFORT, ..packet };
        assert_eq!(unmarked, p(7).of_flow(flow).sized(size).packet());
        (dscp, color)
    };
    arrivals.iter().map(mark).collect()
}

proptest! {
    #[test]
    fn a_marker_writes_a_code_point_of_its_own_and_nothing_else(arrivals in arrivals()) {
        for (mut marker, code_points) in markers() {
            for (dscp, _) in marks(marker.as_mut(), &arrivals) {
                prop_assert!(code_points.contains(&dscp), "{dscp} of {code_points:?}");
            }
        }
    }

    #[test]
    fn the_same_packets_have_the_same_marks(arrivals in arrivals()) {
        for ((mut one, _), (mut other, _)) in markers().into_iter().zip(markers()) {
            prop_assert_eq!(marks(one.as_mut(), &arrivals), marks(other.as_mut(), &arrivals));
        }
    }
}
