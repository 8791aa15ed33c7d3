//! Connections of a host's TCP that keep together to a profile. Needs the right to make network namespaces, TUN, and to load
//! eBPF.

mod flows;

use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io::Write;
use std::os::fd::AsFd;
use std::time::Duration;

use shortflow_ebpf::profile::{
    TcpFilter, TcpGrowth, TcpHook, TcpOrder, TcpProfile, TcpSettings, TcpState, TcpWalk,
    tcp_control_name,
};
use shortflow_elements::sharing::{AggregateProfile, Depths, Sharing};
use shortflow_units::{Bytes, Rate};

use self::flows::{Capture, Flows, PORT, Sent};
use crate::hosts::cgroup_root;

const RATE: Rate = Rate::from_bits_per_sec(4_000_000);
const DEPTH: Bytes = Bytes(60_000);
/// Bytes of a full segment.
const SEGMENT: f64 = 1500.0;

fn settings(rate: Rate, sharing: Sharing, order: TcpOrder) -> TcpSettings {
    TcpSettings {
        profile: AggregateProfile::new(rate, DEPTH, Bytes(1500)).unwrap(),
        sharing,
        order,
        growth: TcpGrowth::Reno,
        window_rate: None,
        connections: 256,
        idle_timeout: shortflow_units::Duration::from_secs(60),
    }
}

/// A profile in the kernel that goes with this.
struct Installed<'f>(Option<TcpProfile>, &'f Flows, File);

impl<'f> Installed<'f> {
    fn new(flows: &'f Flows, name: &str, settings: &TcpSettings) -> Installed<'f> {
        let filter = TcpFilter { peer_port: Some(PORT), ..TcpFilter::default() };
        let install = || TcpProfile::install(name, &filter, settings);
        let mut profile = flows.hosts[0].within(&flows.home, install).unwrap().unwrap();
        let root = File::open(cgroup_root().unwrap()).unwrap();
        profile.attach(TcpHook::Sent, root.as_fd()).unwrap();
        Installed(Some(profile), flows, root)
    }

    fn profile(&self) -> &TcpProfile {
        self.0.as_ref().unwrap()
    }

    fn take_over(&self) -> TcpWalk {
        let Flows { home, hosts, .. } = self.1;
        hosts[0].within(home, || self.profile().take_over()).unwrap().unwrap()
    }

    fn give_back(&self) -> TcpWalk {
        let Flows { home, hosts, .. } = self.1;
        hosts[0].within(home, || self.profile().give_back()).unwrap().unwrap()
    }
}

impl Drop for Installed<'_> {
    fn drop(&mut self) {
        let Some(profile) = self.0.take() else { return };
        profile.detach(TcpHook::Sent, self.2.as_fd()).unwrap();
        profile.unregister().unwrap();
    }
}

/// The name of a control that no other test has.
fn name(of: &str) -> String {
    tcp_control_name(u64::from(std::process::id()), of)
}

/// By how many bytes a bucket that is full first would be overdrawn: the law that in every interval no more leaves than B and
/// what the interval earns.
fn overdrawn(sent: &[Sent], rate: Rate) -> f64 {
    overdrawn_from(DEPTH.0 as f64, sent, rate)
}

/// The same of a bucket of another depth.
fn overdrawn_from(depth: f64, sent: &[Sent], rate: Rate) -> f64 {
    let (mut level, mut at, mut least) = (depth, Duration::ZERO, depth);
    for one in sent {
        let earned = rate.bytes_per_sec() * (one.at - at).as_secs_f64();
        level = (level + earned).min(depth) - one.bytes as f64;
        at = one.at;
        least = least.min(level);
    }
    -least
}

/// What was captured of connections, how late the machine ran threads meanwhile, and what the profile counted.
struct Observed {
    sent: Vec<Sent>,
    delay: Duration,
    state: TcpState,
}

impl Observed {
    fn new(capture: &Capture, profile: &TcpProfile) -> Observed {
        let (sent, delay) = (capture.sent(), capture.longest_delay());
        Observed { sent, delay, state: profile.state().unwrap() }
    }

    /// By how many bytes more than a profile allows may leave in an interval. Two causes are known: segments that leave without
    /// tokens where TCP would close the connection, and the time from TCP's question to the stamp, in which one segment more is
    /// earned (3 ms), or what is earned while the machine does not run what sends.
    fn allowance(&self, rate: Rate) -> f64 {
        let earned = rate.bytes_per_sec() * self.delay.as_secs_f64();
        SEGMENT.max(earned) + self.state.forced.0 as f64
    }

    /// Whether in every interval no more left than the profile allows.
    fn keeps_to_the_profile(&self, rate: Rate) -> bool {
        overdrawn(&self.sent, rate) <= self.allowance(rate)
    }
}

/// The throughput of each connection in the last of these seconds, in bit/s on the network layer.
fn throughput(sent: &[Sent], seconds: u64) -> Vec<f64> {
    let end = sent.last().unwrap().at;
    let mut each: BTreeMap<u16, f64> = BTreeMap::new();
    for one in sent {
        let counted = if one.at + Duration::from_secs(seconds) > end { one.bytes } else { 0 };
        *each.entry(one.port).or_default() += counted as f64 * 8.0 / seconds as f64;
    }
    each.into_values().collect()
}

fn jain(all: &[f64]) -> f64 {
    let (sum, squares): (f64, f64) = (all.iter().sum(), all.iter().map(|one| one * one).sum());
    sum * sum / (all.len() as f64 * squares)
}

/// So many connections under a profile, after `seconds`, over the last `counted` of which throughput is measured.
fn share(number: usize, settings: &TcpSettings, seconds: u64, counted: u64) {
    let Some(flows) = Flows::new() else { return };
    share_over(flows, number, settings, seconds, counted);
}

fn share_over(mut flows: Flows, number: usize, settings: &TcpSettings, seconds: u64, counted: u64) {
    (0..number).for_each(|_| flows.connect("reno"));
    let capture = Capture::begin(&flows.home, &flows.hosts[0]);
    let rate = settings.profile.rate();
    let what = format!("{number} {:?} {:?}", settings.sharing, settings.order);
    let observed = {
        let control = name(&what);
        let installed = Installed::new(&flows, &control, settings);
        assert_eq!(installed.take_over().changed, number);
        let mut writing = flows.writers();
        std::thread::sleep(Duration::from_secs(seconds));
        let observed = Observed::new(&capture, installed.profile());
        writing.stop();
        installed.give_back();
        observed
    };
    let Observed { sent, state, delay } = &observed;
    let each = throughput(sent, counted);
    let (total, fairness) = (each.iter().sum::<f64>(), jain(&each));
    let figures = format!(
        "{what}: total {:.3} Mbit/s, Jain {fairness:.4}, overdrawn {:.0} B, threads ran {delay:?} late, {state:?}",
        total / 1e6,
        overdrawn(sent, rate)
    );
    eprintln!("{figures}");
    assert_eq!(each.len(), number, "{figures}");
    assert!(observed.keeps_to_the_profile(rate), "{figures}");
    // The bucket may add its depth in the time that is measured.
    let most = rate.bits_per_sec() as f64 + DEPTH.0 as f64 * 8.0 / counted as f64;
    assert!(total > 0.9 * rate.bits_per_sec() as f64 && total <= most, "{figures}");
    assert!(fairness > 0.97, "{figures}");
    // Each connection always has segments that wait, but while its first bursts and acknowledgements are on their way.
    let waiting = state.waited.as_secs_f64() / (number as f64 * seconds as f64);
    assert!(state.bursts > 0 && (0.6..=1.1).contains(&waiting), "{waiting:.2}, {figures}");
}

#[test]
fn each_sharing_gives_three_connections_equal_parts_of_the_profile_whatever_their_round_trips() {
    for sharing in Sharing::ALL {
        share(3, &settings(RATE, sharing, TcpOrder::FirstCome), 6, 3);
    }
    share(3, &settings(RATE, Sharing::Common, TcpOrder::LeastRecentlyServed), 6, 3);
}

#[test]
fn thirty_connections_have_equal_parts_of_the_profile() {
    for sharing in
        [Sharing::Partitioned(Depths::Equal), Sharing::Common, Sharing::Logical(Depths::ByRtt)]
    {
        share(30, &settings(RATE, sharing, TcpOrder::FirstCome), 8, 4);
    }
}

#[test]
fn connections_over_ipv6_share_the_profile() {
    let Some(flows) = Flows::to("fd00::2".parse().unwrap()) else { return };
    share_over(
        flows,
        3,
        &settings(RATE, Sharing::Logical(Depths::Equal), TcpOrder::FirstCome),
        6,
        3,
    );
}

/// What this many connections have sent in so many seconds, of which each begins in this way.
fn begin_together<T>(
    number: usize,
    settings: &TcpSettings,
    seconds: u64,
    begin: impl FnOnce(&Flows) -> T,
) -> Option<Observed> {
    let mut flows = Flows::new()?;
    (0..number).for_each(|_| flows.connect("cubic"));
    let capture = Capture::begin(&flows.home, &flows.hosts[0]);
    let installed =
        Installed::new(&flows, &name(&format!("begin {number} {settings:?}")), settings);
    assert_eq!(installed.take_over().changed, number);
    let begun = begin(&flows);
    std::thread::sleep(Duration::from_secs(seconds));
    let observed = Observed::new(&capture, installed.profile());
    drop(begun);
    let (overdrawn, state) = (overdrawn(&observed.sent, settings.profile.rate()), &observed.state);
    eprintln!("{number} {:?}: overdrawn {overdrawn:.0} B, {state:?}", settings.sharing);
    Some(observed)
}

#[test]
fn short_transfers_keep_to_the_profile_together() {
    for sharing in [Sharing::Logical(Depths::ByRtt), Sharing::Common] {
        // 1.9 MB at 0.5 MB/s, in the first ten segments, which the kernel does not pace.
        let settings = settings(RATE, sharing, TcpOrder::FirstCome);
        let write = |flows: &Flows| {
            flows.senders.iter().for_each(|mut one| one.write_all(&[7; 12_000]).unwrap());
        };
        let Some(observed) = begin_together(150, &settings, 6, write) else { return };
        let Observed { sent, state, .. } = &observed;
        assert!(observed.keeps_to_the_profile(RATE), "{sharing:?} {state:?}");
        assert!(state.stopped > 0, "timers have tried: {sharing:?} {state:?}");
        let all = sent.iter().map(|one| one.bytes).sum::<usize>();
        assert!(all > 1_500_000, "the profile is used: {sharing:?} {all} B");
    }
}

#[test]
fn connections_beyond_the_number_of_shares_have_one_more_share_together() {
    let plain = settings(RATE, Sharing::Partitioned(Depths::Equal), TcpOrder::FirstCome);
    let few = TcpSettings { connections: 2, ..plain };
    let Some(observed) = begin_together(6, &few, 14, Flows::writers) else { return };
    let Observed { sent, state, .. } = &observed;
    assert_eq!(state.connections, 2);
    assert!(observed.keeps_to_the_profile(RATE), "{state:?}");
    let mut each = throughput(sent, 8);
    assert_eq!(each.len(), 6, "each sends something: {state:?}");
    each.sort_by(f64::total_cmp);
    let third = RATE.bits_per_sec() as f64 / 3.0;
    let is_a_third = |part: f64| (0.8..1.2).contains(&(part / third));
    assert!(is_a_third(each[..4].iter().sum()), "the others: {each:?} {state:?}");
    assert!(is_a_third(each[4]) && is_a_third(each[5]), "two shares: {each:?} {state:?}");
    assert!(each[0] > third / 40.0, "nobody is starved: {each:?} {state:?}");
}

#[test]
fn a_full_bucket_is_spent_at_the_peak_rate() {
    let peak = Rate::from_bits_per_sec(2 * RATE.bits_per_sec());
    for sharing in
        [Sharing::Partitioned(Depths::Equal), Sharing::Common, Sharing::Logical(Depths::ByRtt)]
    {
        let plain = settings(RATE, sharing, TcpOrder::FirstCome);
        let profile = plain.profile.clone().with_peak(peak).unwrap();
        let few = TcpSettings { profile, ..plain };
        let Some(observed) = begin_together(3, &few, 8, Flows::writers) else { return };
        let Observed { sent, state, .. } = &observed;
        assert!(observed.keeps_to_the_profile(RATE), "{sharing:?} {state:?}");
        // A connection that nothing else wakes owes less than a packet; beside that only what is earned between TCP's question
        // and the stamp.
        let over = overdrawn_from(SEGMENT, sent, peak);
        let most =
            SEGMENT + peak.bytes_per_sec() * observed.delay.as_secs_f64() + state.forced.0 as f64;
        let each = throughput(sent, 2);
        eprintln!("{sharing:?}: {over:.0} of {most:.0} B above the peak rate, {each:.0?} bit/s");
        assert!(over <= most, "{sharing:?}: {over:.0} of {most:.0} B, {state:?}");
        let total: f64 = each.iter().sum();
        assert!(total > 0.9 * RATE.bits_per_sec() as f64, "{sharing:?}: {each:.0?} bit/s");
        // What timers send would be a connection that slept although the profile had tokens.
        assert_eq!(state.stopped, 0, "{sharing:?}: {state:?}");
    }
}

#[test]
fn each_window_is_limited_to_a_rate_whatever_the_round_trip() {
    let limit = Rate::from_bits_per_sec(1_000_000);
    let fast = Rate::from_bits_per_sec(40_000_000);
    let plain = settings(fast, Sharing::Logical(Depths::Equal), TcpOrder::FirstCome);
    let limited = TcpSettings { window_rate: Some(limit), ..plain };
    let Some(observed) = begin_together(3, &limited, 7, Flows::writers) else { return };
    let Observed { sent, state, .. } = &observed;
    let each = throughput(sent, 3);
    assert_eq!(each.len(), 3, "{state:?}");
    for rate in &each {
        // A window is a whole number of segments: four of 4.2 at 50 ms.
        let share = rate / limit.bits_per_sec() as f64;
        assert!((0.75..1.1).contains(&share), "{each:?} {state:?}");
    }
}

/// By how many segments a second each connection sends more every second, once it has lost a segment and its window grows as
/// this rule says: from the shortest round-trip time to the longest.
fn gains(growth: TcpGrowth) -> Option<Vec<f64>> {
    let mut flows = Flows::losing(60)?;
    (0..3).for_each(|_| flows.connect("reno"));
    let capture = Capture::begin(&flows.home, &flows.hosts[0]);
    let fast = Rate::from_bits_per_sec(200_000_000);
    let plain = settings(fast, Sharing::Logical(Depths::Equal), TcpOrder::FirstCome);
    let control = name(&format!("{growth:?}"));
    let installed = Installed::new(&flows, &control, &TcpSettings { growth, ..plain });
    assert_eq!(installed.take_over().changed, 3);
    let mut writing = flows.writers();
    std::thread::sleep(Duration::from_millis(8_200));
    let sent = capture.sent();
    writing.stop();
    let ports: BTreeSet<u16> = sent.iter().map(|one| one.port).collect();
    let pace = |port: u16, from: f64| {
        let within = |at: Duration| (from..from + 2.0).contains(&at.as_secs_f64());
        let counted = sent.iter().filter(|one| one.port == port && within(one.at));
        // A burst is one packet of several segments here.
        counted.map(|one| one.bytes as f64 / SEGMENT).sum::<f64>() / 2.0
    };
    Some(ports.into_iter().map(|port| (pace(port, 6.0) - pace(port, 2.5)) / 3.5).collect())
}

/// Whether connections gain as is expected, from near ones to far ones; else why not.
fn gain_as(growth: TcpGrowth, found: &[f64], expected: [f64; 3]) -> Result<(), String> {
    // A busy machine does not always fill the windows, and what is not used does not grow.
    let is_near = |(found, expected): (&f64, f64)| (0.3..1.6).contains(&(found / expected));
    if !found.iter().zip(expected).all(is_near) {
        return Err(format!("{growth:?}: {found:.1?} of {expected:.1?}"));
    }
    let advantage = found[0] / found[2];
    let is_as_wanted = match growth {
        // 36 times.
        TcpGrowth::Reno => advantage > 8.0,
        TcpGrowth::AggregateFair | TcpGrowth::ConstantRate { .. } => {
            (0.3..3.0).contains(&advantage)
        }
        // 9 times.
        TcpGrowth::IncreaseByK { .. } => advantage < 20.0,
    };
    is_as_wanted.then_some(()).ok_or_else(|| format!("{growth:?}: {advantage:.1} times"))
}

#[test]
fn windows_grow_by_the_rule_of_the_profile() {
    let millis = shortflow_units::Duration::from_millis;
    // A window of w segments sends w/rtt a second and grows by g in a round trip: by g/rtt² every second.
    let (near, middle, far) = (0.05_f64, 0.15_f64, 0.3_f64);
    let mean = (near + middle + far) / 3.0;
    let by = |growth: f64, rtt: f64| growth / (rtt * rtt);
    for (growth, expected) in [
        (TcpGrowth::Reno, [by(1.0, near), by(1.0, middle), by(1.0, far)]),
        (TcpGrowth::AggregateFair, [by(1.0, mean); 3]),
        (TcpGrowth::ConstantRate { reference: millis(100) }, [by(1.0, 0.1); 3]),
        (
            TcpGrowth::IncreaseByK { segments: 4, above: millis(100) },
            [by(1.0, near), by(4.0, middle), by(4.0, far)],
        ),
    ] {
        // On a busy machine a device may lose more packets, and windows begin again.
        let mut why = String::new();
        let has_grown = (0..3).any(|_| {
            let Some(found) = gains(growth) else { return true };
            eprintln!("{growth:?}: {found:.1?} of {expected:.1?} segments/s²");
            gain_as(growth, &found, expected).map_err(|other| why = other).is_ok()
        });
        assert!(has_grown, "{why}");
    }
}

#[test]
fn live_connections_are_taken_over_and_get_back_the_control_that_they_had() {
    let Some(mut flows) = Flows::new() else { return };
    for control in ["reno", "cubic", "reno"] {
        flows.connect(control);
    }
    let had = flows.controls();
    let control = name("taken over");
    let installed =
        Installed::new(&flows, &control, &settings(RATE, Sharing::Common, TcpOrder::FirstCome));
    assert_eq!(flows.controls(), had, "nobody has it yet");
    assert_eq!(installed.take_over(), TcpWalk { changed: 3, ..TcpWalk::default() });
    assert_eq!(flows.controls(), [control.as_str(); 3]);
    assert_eq!(installed.profile().state().unwrap().connections, 3);
    assert_eq!(installed.take_over().changed, 0, "all have it already");
    assert_eq!(installed.give_back(), TcpWalk { changed: 3, ..TcpWalk::default() });
    assert_eq!(flows.controls(), had);
    assert_eq!(installed.profile().state().unwrap().connections, 0);
}

#[test]
fn a_profile_is_found_again_by_its_parts_and_changes_while_connections_send() {
    let Some(mut flows) = Flows::new() else { return };
    (0..3).for_each(|_| flows.connect("reno"));
    let control = name("found again");
    let sharing = Sharing::Logical(Depths::Equal);
    let slow = settings(RATE, sharing, TcpOrder::FirstCome);
    let installed = Installed::new(&flows, &control, &slow);
    installed.take_over();
    let mut writing = flows.writers();
    std::thread::sleep(Duration::from_secs(3));
    let parts = installed.profile().parts().unwrap();
    let filter = TcpFilter { peer_port: Some(PORT), ..TcpFilter::default() };
    let found = TcpProfile::find(&control, &filter, &parts).unwrap().expect("it is in the kernel");
    let double = Rate::from_bits_per_sec(2 * RATE.bits_per_sec());
    found.change(&settings(double, sharing, TcpOrder::FirstCome)).unwrap();
    std::thread::sleep(Duration::from_secs(2));
    let before = found.state().unwrap().sent;
    std::thread::sleep(Duration::from_secs(3));
    let rate = (found.state().unwrap().sent.0 - before.0) as f64 * 8.0 / 3.0;
    writing.stop();
    assert_eq!(flows.controls(), [control.as_str(); 3], "no connection was lost or left");
    assert!(rate > 1.5 * RATE.bits_per_sec() as f64, "{rate} bit/s after the change");
    assert!(TcpProfile::left_over(&control).is_some());
    drop(installed);
    assert!(TcpProfile::left_over(&control).is_none(), "nobody can choose it any more");
}
