//! PIE beside the formulas of RFC 8033, stepped by hand.

use shortflow_elements::queue::{EcnMode, Pie, PieParams, PieSettings};
use shortflow_elements::{DropReason, Drops, QueueDiscipline};
use shortflow_packet::Ecn;
use shortflow_units::{Bytes, Duration, Length, Rng};

use crate::bench::{ms, p};

fn settings() -> PieSettings {
    PieSettings {
        limit: Length::Packets(10_000),
        target: Duration::from_millis(15),
        update: Duration::from_millis(15),
        max_burst: Duration::from_millis(150),
        alpha: 0.125,
        beta: 1.25,
        ecn: EcnMode::Mark,
    }
}

fn pie(settings: PieSettings) -> Pie {
    Pie::new(PieParams::new(settings).unwrap(), Rng::stream(1, "pie"))
}

/// A head that came at 0 ms and never leaves is 15, 30, 45, 60 ms old at the first four updates.
#[test]
fn the_probability_moves_as_the_formula_says() {
    let mut queue = pie(settings());
    let mut drops = Drops::default();
    queue.enqueue(ms(0), p(0).packet(), &mut drops);

    // 15 ms: p = 0, so the change is divided by 2048:
    // (0.125 · (0.015 − 0.015) + 1.25 · (0.015 − 0)) / 2048 = 0.01875 / 2048.
    queue.enqueue(ms(15), p(1).packet(), &mut drops);
    let first = 0.018_75 / 2048.0;
    assert!((queue.probability() - first).abs() < 1e-15, "{}", queue.probability());

    // 30 ms: 0.125 · 0.015 + 1.25 · 0.015 = 0.020625; 9.2e-6 is below 0.00001, so over 512.
    queue.enqueue(ms(30), p(2).packet(), &mut drops);
    let second = first + 0.020_625 / 512.0;
    assert!((queue.probability() - second).abs() < 1e-15, "{}", queue.probability());

    // 45 ms: 0.125 · 0.03 + 1.25 · 0.015 = 0.0225; 4.9e-5 is below 0.0001, so over 128.
    // 60 ms: 0.125 · 0.045 + 0.01875 = 0.024375; 2.3e-4 is below 0.001, so over 32.
    queue.enqueue(ms(60), p(3).packet(), &mut drops);
    let fourth = second + 0.022_5 / 128.0 + 0.024_375 / 32.0;
    assert!((queue.probability() - fourth).abs() < 1e-15, "{}", queue.probability());
    assert!(drops.is_empty(), "the first 150 ms are a burst that is spared");
}

#[test]
fn a_probability_of_a_tenth_rises_by_no_more_than_a_fiftieth_in_an_update() {
    let mut queue = pie(settings());
    let mut drops = Drops::default();
    queue.enqueue(ms(0), p(0).packet(), &mut drops);
    let mut before = 0.0;
    let mut after_a_tenth = 0;
    for update in 1..200 {
        queue.enqueue(ms(15 * update), p(update as u32).packet(), &mut drops);
        let probability = queue.probability();
        if before >= 0.1 && probability < 1.0 {
            // The head's age grows without end, so each change would be above 0.02.
            assert!((probability - before - 0.02).abs() < 1e-12, "{before} {probability}");
            after_a_tenth += 1;
        }
        before = probability;
    }
    assert!(after_a_tenth > 10 && before == 1.0, "{after_a_tenth} {before}");
}

/// 20 Mbit/s into 10 Mbit/s without feedback: half of all packets must go, and the delay comes to
/// the target, though the buffer has room for 10,000 packets.
#[test]
fn twice_the_rate_of_the_link_loses_half_and_keeps_the_target() {
    let mut queue = pie(PieSettings { ecn: EcnMode::Drop, ..settings() });
    let mut drops = Drops::default();
    let (mut waited, mut given) = (0.0, 0_u32);
    let mut late_drops = 0;
    for number in 0..200_000_u64 {
        let now = shortflow_units::Instant::START + Duration::from_micros(400 * number);
        queue.enqueue(now, p(number as u32).packet(), &mut drops);
        let is_late = number > 100_000;
        let lost = drops.drain().count();
        late_drops += if is_late { lost } else { 0 };
        if number % 2 == 0
            && let Some(out) = queue.dequeue(now, &mut drops)
            && is_late
        {
            waited += now.since(out.since).as_secs_f64();
            given += 1;
        }
    }
    let share = late_drops as f64 / 100_000.0;
    assert!((share - 0.5).abs() < 0.02, "{share}");
    let mean = waited / f64::from(given);
    // A uniform hand computation: where the controller stands still, the delay is the target.
    assert!((mean - 0.015).abs() < 0.003, "{mean}");
}

#[test]
fn congestion_is_told_by_marks_below_a_tenth_and_by_drops_above() {
    let mut queue = pie(settings());
    let mut drops = Drops::default();
    let mut before = 0.0;
    for millisecond in 0..4_000 {
        let packet = p(millisecond as u32).with(Ecn::Ect0).packet();
        queue.enqueue(ms(millisecond), packet, &mut drops);
        let probability = queue.probability();
        for dropped in drops.drain() {
            assert_eq!(dropped.reason, DropReason::Early);
            assert!(probability >= 0.1, "{probability} is below 10 %, {before} before");
        }
        if probability < 0.1 {
            before = probability;
        }
    }
    assert!(queue.ecn_marks() > 0);
    assert!(queue.backlog().bytes > Bytes::ZERO);
}

#[test]
fn a_short_queue_loses_nothing() {
    // Two packets of 1000 bytes are less than twice the mean packet of 1024 (section 4.1).
    let mut queue = pie(settings());
    let mut drops = Drops::default();
    for round in 0..10_000 {
        queue.enqueue(ms(20 * round), p(round as u32).packet(), &mut drops);
        if round >= 1 {
            assert!(queue.dequeue(ms(20 * round), &mut drops).is_some());
        }
    }
    assert!(drops.is_empty());
}

#[test]
fn what_cannot_be_is_refused_by_name() {
    let refused = |settings| PieParams::new(settings).unwrap_err().to_string();
    let zero = Duration::ZERO;
    assert_eq!(
        refused(PieSettings { target: zero, ..settings() }),
        "target must be above zero; found 0 ns"
    );
    assert_eq!(
        refused(PieSettings { update: zero, ..settings() }),
        "update must be at least 100 us; found 0 ns"
    );
    assert_eq!(
        refused(PieSettings { alpha: -1.0, ..settings() }),
        "alpha must be above 0 and at most 100; found -1"
    );
}
