//! Quantities as their users meet them: read, computed with, printed.

use shortflow_units::{Bytes, Duration, Instant, Length, LinkLayer, Probability, Rate, Rng};
use shortflow_units::{Size, Transmission};

#[test]
fn quantities_print_as_they_are_written() {
    for text in ["0 bit/s", "1.5 kbit/s", "95 Mbit/s", "10 Gbit/s"] {
        assert_eq!(text.parse::<Rate>().unwrap().to_string(), text);
    }
    for text in ["1 ns", "250 us", "20 ms", "1.5 s", "90 s"] {
        assert_eq!(text.parse::<Duration>().unwrap().to_string(), text);
    }
    for text in ["40 B", "64 KB", "1.5 MB"] {
        assert_eq!(text.parse::<Bytes>().unwrap().to_string(), text);
    }
    for text in ["200 pkt", "64 KB"] {
        assert_eq!(text.parse::<Length>().unwrap().to_string(), text);
    }
}

#[test]
fn units_of_bytes_per_second_and_of_powers_of_two_are_understood() {
    assert_eq!("1 MB/s".parse(), Ok(Rate::from_bits_per_sec(8_000_000)));
    assert_eq!("1 KiB".parse(), Ok(Bytes(1024)));
    assert_eq!("1 min".parse(), Ok(Duration::from_secs(60)));
    assert_eq!("10 seg".parse::<Size>().unwrap().bytes(1460), Bytes(14_600));
}

#[test]
fn what_is_no_quantity_is_refused_with_what_is_allowed() {
    for (text, allowed) in [("10", "Mbit/s"), ("-5 Mbit/s", "Mbit/s"), ("10 Mb", "Mbit/s")] {
        let message = text.parse::<Rate>().unwrap_err().to_string();
        assert!(message.contains(allowed), "{text}: {message}");
    }
    let message = "5 pkt".parse::<Duration>().unwrap_err().to_string();
    assert!(message.contains("ms"), "{message}");
}

/// A packet of 1500 bytes takes 1,333,333.3 ns at 9 Mbit/s. Each time is a whole number; the sum is exact.
#[test]
fn the_times_of_a_train_of_packets_add_up_without_a_rounding_error() {
    let mut line = Transmission::at("9 Mbit/s".parse().unwrap());
    let packets = 9_000_000;
    let all = (0..packets).map(|_| line.time(1500).nanos()).sum::<u64>();
    assert_eq!(Duration::from_nanos(all), Duration::from_secs(packets * 1500 * 8 / 9_000_000));
    assert_eq!(Rate::from_bits_per_sec(9_000_000).volume(Duration::from_secs(1)), Bytes(1_125_000));
}

#[test]
fn an_instant_before_another_is_no_time_after_it() {
    let (early, late) = (Instant::START, Instant::START + Duration::from_millis(3));
    assert_eq!(late.since(early), Duration::from_millis(3));
    assert_eq!(early.since(early), Duration::ZERO);
    assert!(late < Instant::NEVER);
}

/// An ATM cell carries 48 of 53 bytes: RFC 2684 adds 40 bytes to a packet in PPPoE, and the last cell is padded.
#[test]
fn the_size_on_a_line_follows_its_framing() {
    let on = |layer: &str, bytes| layer.parse::<LinkLayer>().unwrap().wire_size(Bytes(bytes)).0;
    assert_eq!([on("pppoe-llcsnap", 40), on("pppoe-llcsnap", 1500)], [2 * 53, 33 * 53]);
    assert_eq!([on("docsis", 40), on("docsis", 1500)], [64, 1518]);
    assert_eq!([on("ethernet", 40), on("ethernet", 1500)], [84, 1538]);
}

#[test]
fn a_named_stream_depends_on_the_seed_and_its_name_alone() {
    let draws = |seed, name| {
        let mut rng = Rng::stream(seed, name);
        (0..8).map(|_| rng.below(1_000_000)).collect::<Vec<_>>()
    };
    assert_eq!(draws(1, "web"), draws(1, "web"));
    assert_ne!(draws(1, "web"), draws(2, "web"));
    assert_ne!(draws(1, "web"), draws(1, "calls"));
}

/// Means of 200,000 draws, within five standard errors.
#[test]
fn draws_have_the_means_of_their_distributions() {
    const DRAWS: usize = 200_000;
    let mean = |draw: &mut dyn FnMut(&mut Rng) -> f64| {
        let mut rng = Rng::stream(7, "means");
        (0..DRAWS).map(|_| draw(&mut rng)).sum::<f64>() / DRAWS as f64
    };
    let error = |deviation: f64| 5.0 * deviation / (DRAWS as f64).sqrt();
    assert!((mean(&mut Rng::uniform) - 0.5).abs() < error((1.0_f64 / 12.0).sqrt()));
    assert!((mean(&mut |rng| rng.exponential(3.0)) - 3.0).abs() < error(3.0));
    // A Pareto variable of shape 4 and scale 3 has a mean of 4 and a variance of 2.
    assert!((mean(&mut |rng| rng.pareto(3.0, 4.0)) - 4.0).abs() < error(2.0_f64.sqrt()));
    let chance = Probability::new(0.2).unwrap();
    let hits = mean(&mut |rng| f64::from(u8::from(rng.chance(chance))));
    assert!((hits - 0.2).abs() < error(0.4));
}
