//! The TCP settings of a scenario as kernel settings.
//!
//! A kernel has one set of settings for all connections of a host, and some that cannot be changed. An unsupported
//! setting is refused, or noted if the kernel does nearly the same.

use std::net::IpAddr;
use std::sync::Arc;

use shortflow_ebpf::AggregateFair;
use shortflow_run::Refusal;
use shortflow_scenario::{IpVersion, NodeId, NodeKind, Scenario, Workload};
use shortflow_tcp::{Algorithm, Config, Era, Recovery, RtoFloor};
use shortflow_testbed::{HostSpec, RouteSpec};
use shortflow_units::Bytes;

use crate::datagrams;
use crate::ip::{self, spoken};
use crate::retries::{self, Retries};

/// Bytes of the IPv4 and TCP headers, and of the timestamps beside them (RFC 7323 §3.2, with padding).
const HEADERS: u16 = 40;
const TIMESTAMPS: u16 = 12;

/// The minimum MTU of IPv6 in bytes (RFC 8200 §5).
const MIN_MTU: u32 = 1280;

/// Bytes of the smallest segment that a socket can be given (`TCP_MIN_MSS` of Linux).
const MIN_SEGMENT: u32 = 88;

/// Bytes of the largest one (`MAX_TCP_WINDOW` of Linux).
const LARGEST_SEGMENT: u32 = 32_767;

/// From here on a receive window is left to the kernel, which lets it grow to about this.
const LARGE_WINDOW: Bytes = Bytes(3 << 20);

/// The congestion controls that kernels have, or are given.
const OF_KERNELS: [Algorithm; 3] = [Algorithm::Reno, Algorithm::Cubic, Algorithm::AggregateFair];

/// What a kernel calls a congestion control.
fn name_in_kernel(algorithm: Algorithm) -> &'static str {
    match algorithm {
        Algorithm::AggregateFair => AggregateFair::name(),
        other => other.name(),
    }
}

/// Hosts of which the last is made within a minute or so.
const MAX_HOSTS: usize = 2000;

/// What one connection is given besides.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct SocketSpec {
    /// The congestion control.
    pub(crate) congestion: &'static str,
    /// The largest segment that the host announces, with its options.
    pub(crate) mss: u32,
    /// The receive window; by default the kernel's own.
    pub(crate) receive_window: Option<u32>,
    /// Whether a short segment waits while data is outstanding.
    pub(crate) nagle: bool,
}

impl SocketSpec {
    /// The sockets of a workload, where the rehearsal asks for this version of IP.
    pub(crate) fn for_workload(workload: &Workload, asked: IpVersion) -> Self {
        SocketSpec::of_config(&base(workload), spoken(asked, workload))
    }

    fn of_config(config: &Config, ip: IpVersion) -> Self {
        let has_timestamps = has_timestamps(config);
        let is_large = config.receive_window >= LARGE_WINDOW;
        SocketSpec {
            congestion: name_in_kernel(config.congestion),
            mss: segment_of(config, ip) + if has_timestamps { u32::from(TIMESTAMPS) } else { 0 },
            receive_window: (!is_large).then_some(config.receive_window.0 as u32),
            nagle: config.nagle,
        }
    }
}

/// The configuration of each node, `None` for routers; and notes.
///
/// # Errors
/// When a kernel cannot do what a workload asks for, or not for two of them at once.
pub(crate) fn hosts(
    scenario: &Scenario,
    asked: IpVersion,
) -> Result<(Vec<Option<HostSpec>>, Vec<String>), Refusal> {
    let count = scenario.nodes.iter().filter(|node| node.kind != NodeKind::Router).count();
    if count > MAX_HOSTS {
        return Err(Refusal(format!(
            "{count} hosts are too many to rehearse: each one is a network namespace\nuse \
                {MAX_HOSTS} or fewer, or simulate it"
        )));
    }
    let tcp = || scenario.workloads.iter().filter(|workload| workload.kind.uses_tcp());
    ip::refuse(scenario, asked)?;
    tcp().try_for_each(|workload| can_do(workload, spoken(asked, workload)))?;
    let mut warnings: Vec<String> = Vec::new();
    for reported in tcp().filter_map(done_otherwise) {
        if !warnings.contains(&reported) {
            warnings.push(reported);
        }
    }
    let packets = scenario.workloads.iter().map(largest_packet);
    let mtu = packets.max().unwrap_or(1500).max(MIN_MTU);
    let host = |node: NodeId| -> Result<Option<HostSpec>, Refusal> {
        if scenario.nodes[node.index()].kind == NodeKind::Router {
            return Ok(None);
        }
        let own = |workload: &&Workload| {
            workload.kind.pairs().iter().any(|&(a, b)| a == node || b == node)
        };
        let mut of_host = tcp().filter(own);
        let first = of_host.next();
        let (settings, route) =
            first.map_or_else(Default::default, |first| host_settings(&base(first)));
        if let Some(first) = first
            && let Some(other) =
                of_host.find(|other| host_settings(&base(other)) != (settings.clone(), route))
        {
            return Err(Refusal(format!(
                "{} has one kernel, whose TCP cannot use the settings of {} and of {} \
                    together\ngive both the same `tcp`, or put them on different hosts",
                scenario.nodes[node.index()].name,
                first.name,
                other.name
            )));
        }
        let addresses = scenario.addresses.of_node(node).map(IpAddr::from).collect();
        let settings = with_all(settings);
        Ok(Some(HostSpec { addresses, mtu, queue: QUEUE, route, settings, ..HostSpec::default() }))
    };
    let nodes = (0..scenario.nodes.len() as u32).map(NodeId);
    Ok((nodes.map(host).collect::<Result<_, _>>()?, warnings))
}

/// What hosts, and the sockets of each workload over TCP, are given, as text.
///
/// # Errors
/// As of [`hosts`].
pub(crate) fn settings(scenario: &Scenario, asked: IpVersion) -> Result<String, Refusal> {
    let (hosts, _) = hosts(scenario, asked)?;
    let tcp = scenario.workloads.iter().filter(|workload| workload.kind.uses_tcp());
    let sockets: Vec<SocketSpec> =
        tcp.map(|workload| SocketSpec::for_workload(workload, asked)).collect();
    Ok(format!("{hosts:?} {sockets:?}"))
}

/// The congestion control of the first TCP workload of a host, or of the scenario's first one if a host has none.
pub(crate) fn congestion_of(scenario: &Scenario, node: NodeId) -> Option<&'static str> {
    let tcp = || scenario.workloads.iter().filter(|workload| workload.kind.uses_tcp());
    let is_own =
        |workload: &&Workload| workload.kind.pairs().iter().any(|&(a, b)| a == node || b == node);
    let workload = tcp().find(is_own).or_else(|| tcp().next());
    workload.map(|workload| name_in_kernel(workload.tcp.congestion))
}

/// Which TCP the workloads of a scenario have: this kernel's; empty where nothing uses TCP.
pub(crate) fn tcp_description(scenario: &Scenario, asked: IpVersion) -> String {
    let tcp = || scenario.workloads.iter().filter(|workload| workload.kind.uses_tcp());
    let mut controls: Vec<&str> = tcp().map(|workload| workload.tcp.congestion.name()).collect();
    controls.sort_unstable();
    controls.dedup();
    if controls.is_empty() {
        return String::new();
    }
    let over = ip::describe(asked, tcp());
    format!("the kernel's own, of Linux {} ({}{over})", release(), controls.join(", "))
}

/// The TCP of a workload as it is over IPv4, from which that over either version follows.
fn base(workload: &Workload) -> Arc<Config> {
    workload.tcp_over(IpVersion::V4)
}

/// Packets between a host's kernel and its device, as Linux has it: the router fetches them at once.
const QUEUE: u32 = 1000;

/// Bytes of data in a full segment, whose packet is as large over either version of IP.
fn segment_of(config: &Config, ip: IpVersion) -> u32 {
    u32::from(config.mss).saturating_sub(ip.more())
}

/// Bytes of a full segment's packet.
fn mtu(config: &Config) -> u32 {
    u32::from(config.mss) + u32::from(headers(config))
}

/// Bytes of the largest packet of a workload, whose host must not cut it. Datagrams alone leave room for what else
/// hosts may say.
fn largest_packet(workload: &Workload) -> u32 {
    datagrams::largest(&workload.kind).map_or_else(|| mtu(&base(workload)), |size| size.max(1500))
}

fn headers(config: &Config) -> u16 {
    HEADERS + if has_timestamps(config) { TIMESTAMPS } else { 0 }
}

fn has_timestamps(config: &Config) -> bool {
    config.header >= HEADERS + TIMESTAMPS
}

/// Whether the tail of a flight is probed, which only RACK-TLP does.
fn has_probes(config: &Config) -> bool {
    config.recovery == Recovery::Rack && config.tail_loss_probe
}

/// The first Linux without the pipe of RFC 6675: with selective acknowledgements, losses are always detected by time.
const WITHOUT_PIPE: (u32, u32) = (6, 17);

/// Whether the kernel of a release, such as 6.18.2-rc1, has it no more.
fn lacks_pipe(release: &str) -> bool {
    let mut numbers = release.split(['.', '-']).map_while(|number| number.parse().ok());
    numbers.next().zip(numbers.next()).is_none_or(|version| version >= WITHOUT_PIPE)
}

fn release() -> String {
    std::fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default().trim().to_owned()
}

type Settings = Vec<(&'static str, String)>;

/// The settings of a host whose connections are like this.
fn host_settings(config: &Config) -> (Settings, RouteSpec) {
    let switch = |on: bool| u8::from(on).to_string();
    let mut settings = vec![
        ("ipv4/tcp_sack", switch(config.recovery.has_sack())),
        ("ipv4/tcp_dsack", switch(config.duplicate_sack)),
        ("ipv4/tcp_timestamps", switch(has_timestamps(config))),
        ("ipv4/tcp_ecn", switch(config.ecn)),
        ("ipv4/tcp_slow_start_after_idle", switch(config.restart_after_idle)),
        ("ipv4/tcp_reordering", config.duplicate_ack_threshold.to_string()),
        ("ipv4/tcp_recovery", switch(config.recovery == Recovery::Rack)),
        ("ipv4/tcp_early_retrans", if has_probes(config) { "3" } else { "0" }.to_owned()),
    ];
    settings.extend(retries::from_config(config).iter().flat_map(Retries::settings));
    let route = RouteSpec {
        initial_window: Some(config.initial_window),
        initial_receive_window: None,
        rto_min: Some((config.rto_min.nanos() / 1_000_000) as u32),
        quick_acks: config.delayed_ack.is_none(),
    };
    (settings, route)
}

/// The settings that every host has besides: nothing is remembered from one connection to the next, and no
/// address is made up.
fn with_all(mut settings: Settings) -> Settings {
    settings.push(("ipv4/tcp_no_metrics_save", "1".to_owned()));
    settings.push(("ipv6/conf/default/addr_gen_mode", "1".to_owned()));
    // Whoever runs programs in a host may have them wait at any port, and ping.
    settings.push(("ipv4/ip_unprivileged_port_start", "0".to_owned()));
    let map = std::fs::read_to_string("/proc/self/gid_map").unwrap_or_default();
    settings.push(("ipv4/ping_group_range", groups_of(&map)));
    settings
}

/// The first and the last group that a kernel takes for a setting, by the map of groups of a process: in a user
/// namespace not all.
fn groups_of(map: &str) -> String {
    const LAST: u64 = 2_147_483_647;
    let mut numbers = map.split_ascii_whitespace().map_while(|number| number.parse::<u64>().ok());
    let (first, _, count) = (numbers.next(), numbers.next(), numbers.next());
    let (first, count) = (first.unwrap_or(0), count.unwrap_or(LAST + 1).max(1));
    format!("{first} {}", (first + count - 1).min(LAST))
}

/// Whether a kernel can do what a workload asks for.
fn can_do(workload: &Workload, ip: IpVersion) -> Result<(), Refusal> {
    let config = &base(workload);
    let refuse = |what: String| Err(Refusal(format!("{}: {what}", workload.name)));
    if !OF_KERNELS.contains(&config.congestion) {
        let names = OF_KERNELS.map(Algorithm::name).join(", ");
        let name = config.congestion.name();
        return refuse(format!(
            "no kernel has the congestion control {name}\nset `tcp.congestion` to one of {names}, \
                or simulate it"
        ));
    }
    let (found, more) = (SocketSpec::of_config(config, ip).mss, ip.more());
    let options = found - segment_of(config, ip);
    if found < MIN_SEGMENT {
        let min = MIN_SEGMENT + more - options;
        let over =
            if more > 0 { format!(", of which IPv6 takes {more} bytes") } else { String::new() };
        return refuse(format!(
            "segments of {} bytes are below the kernel's minimum\nset `tcp.mss` to {min} bytes \
                or more{over}",
            config.mss
        ));
    }
    if found > LARGEST_SEGMENT {
        return refuse(format!(
            "segments of {} bytes exceed the kernel's maximum\nset `tcp.mss` to {} bytes or less, \
                or simulate it",
            config.mss,
            LARGEST_SEGMENT + more - options
        ));
    }
    if config.window_rate.is_some() {
        return refuse(
            "no kernel limits its window by a rate (`tcp.window_rate`)\nsimulate it".to_owned(),
        );
    }
    Ok(())
}

/// What the kernel does otherwise than the TCP of a workload, which was set up for something else.
fn done_otherwise(workload: &Workload) -> Option<String> {
    let config = &base(workload);
    let of_retries = retries::from_config(config);
    let retries = of_retries.iter().filter(|one| one.differs()).map(|one| one.name);
    let kernel = Era::LinuxToday.config();
    let others = differing(config, &kernel).into_iter();
    let others = others.chain(of_receiver(config, &kernel)).chain(retries);
    let others: Vec<&str> = others.collect();
    (!others.is_empty()).then(|| {
        format!(
            "{}: the kernel's TCP has its own behaviour for {}; all other settings apply.",
            workload.name,
            others.join(", ")
        )
    })
}

/// The settings in which a kernel is another than `config`, but for those of receivers and of retries.
fn differing(config: &Config, kernel: &Config) -> Vec<&'static str> {
    let Config {
        // What a host, a route and a socket are given, or what is refused.
        era: _,
        mss: _,
        initial_window: _,
        receive_window: _,
        tail_loss_probe: _,
        duplicate_ack_threshold: _,
        congestion,
        window_rate: _,
        duplicate_sack: _,
        nagle: _,
        ecn,
        restart_after_idle: _,
        // Read by congestion controls alone that are refused.
        reference_rtt: _,
        increase: _,
        delayed_ack: _, // This and what follows is in `of_receiver` and `retries`.
        adaptive_ack: _,
        quick_acks: _,
        right_sizing: _,
        rto_max: _,
        linear_syn_timeouts: _,
        syn_retries: _,
        data_retries: _,
        header,
        ip_header: _, // It follows from the version of IP.
        slow_start_limit,
        recovery,
        cubic,
        hystart,
        limited_transmit,
        byte_counting,
        whole_segments,
        lone_fin,
        pacing,
        rto_initial,
        rto_min,
        rto_floor,
        clock_granularity,
        timer_tick,
        ecn_capable,
        lost_syns_forgiven,
        time_wait,
    } = config;
    let is_cubic = *congestion == Algorithm::Cubic;
    let rows = [
        (*header != headers(config), "header"),
        (*recovery == Recovery::Reno, "recovery (NewReno)"),
        (*recovery == Recovery::Sack && lacks_pipe(&release()), "recovery (RACK)"),
        (is_cubic && *cubic != kernel.cubic, "cubic"),
        (is_cubic && !(*hystart && *recovery == Recovery::Rack), "hystart"),
        (*slow_start_limit != kernel.slow_start_limit, "slow_start_limit"),
        (!limited_transmit, "limited_transmit"),
        (*congestion == Algorithm::Reno && !byte_counting, "byte_counting"),
        (!whole_segments, "whole_segments"),
        (!lone_fin, "lone_fin"),
        (*pacing, "pacing"),
        (*rto_initial != kernel.rto_initial, "rto_initial"),
        (!rto_min.nanos().is_multiple_of(1_000_000), "rto_min (whole milliseconds)"),
        (*rto_floor != RtoFloor::Variation, "rto_floor"),
        (*clock_granularity != kernel.clock_granularity, "clock_granularity"),
        (*timer_tick != kernel.timer_tick, "timer_tick"),
        (*lost_syns_forgiven != kernel.lost_syns_forgiven, "lost_syns_forgiven"),
        (*ecn && *ecn_capable != kernel.ecn_capable, "ecn_capable"),
        (*time_wait != kernel.time_wait, "time_wait"),
    ];
    rows.into_iter().filter_map(|(differs, name)| differs.then_some(name)).collect()
}

/// The settings in which a kernel's receiver is another than `config`.
fn of_receiver(config: &Config, kernel: &Config) -> Vec<&'static str> {
    let Some(delayed) = config.delayed_ack else { return Vec::new() };
    let rows = [
        (Some(delayed) != kernel.delayed_ack, "delayed_ack"),
        (!config.adaptive_ack, "adaptive_ack"),
        (config.quick_acks != kernel.quick_acks, "quick_acks"),
        (!config.right_sizing, "right_sizing"),
    ];
    rows.into_iter().filter_map(|(differs, name)| differs.then_some(name)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn linux_6_17_is_the_first_without_the_pipe_and_unknown_ones_count_as_new() {
        for old in ["5.15.0-91-generic", "6.1.0", "6.16.12"] {
            assert!(!lacks_pipe(old), "{old}");
        }
        for new in ["6.17.0", "6.18.44-fc", "7.0-rc1", "else"] {
            assert!(lacks_pipe(new), "{new}");
        }
    }

    #[test]
    fn all_groups_may_ping_that_a_user_namespace_knows() {
        assert_eq!(groups_of("         0          0 4294967295\n"), "0 2147483647");
        assert_eq!(groups_of("         0       1000          1\n"), "0 0");
        assert_eq!(groups_of("1000 1000 1\n0 100000 65536\n"), "1000 1000");
        assert_eq!(groups_of(""), "0 2147483647");
    }

    #[test]
    fn a_host_tells_losses_by_time_and_probes_only_if_its_tcp_does() {
        let base = Era::LinuxToday.config();
        let found = |recovery, tail_loss_probe| {
            let (settings, _) =
                host_settings(&Config { recovery, tail_loss_probe, ..base.clone() });
            let of = |name: &str| settings.iter().find(|(key, _)| *key == name).unwrap().1.clone();
            ["ipv4/tcp_sack", "ipv4/tcp_recovery", "ipv4/tcp_early_retrans"].map(of)
        };
        assert_eq!(found(Recovery::Rack, true), ["1", "1", "3"]);
        assert_eq!(found(Recovery::Rack, false), ["1", "1", "0"]);
        assert_eq!(found(Recovery::Sack, true), ["1", "0", "0"]);
        assert_eq!(found(Recovery::NewReno, false), ["0", "0", "0"]);
    }

    #[test]
    fn a_host_gives_up_when_its_tcp_does_and_what_no_kernel_takes_is_told() {
        let base = Era::LinuxToday.config();
        let config = Config {
            syn_retries: Some(3),
            data_retries: Some(8),
            linear_syn_timeouts: 0,
            ..base.clone()
        };
        let (settings, _) = host_settings(&config);
        for (file, value) in [
            ("ipv4/tcp_syn_retries", "3"),
            ("ipv4/tcp_synack_retries", "3"),
            ("ipv4/tcp_retries2", "8"),
        ] {
            assert!(settings.contains(&(file, value.to_owned())), "{file}");
        }
        let of_files = |config: &Config| -> Vec<(&str, String)> {
            let mut settings = host_settings(config).0;
            settings.retain(|(file, _)| file.contains("retries"));
            settings
        };
        let six = ["ipv4/tcp_syn_retries", "ipv4/tcp_synack_retries"];
        assert_eq!(of_files(&base), six.map(|file| (file, "6".to_owned())), "5 SYN-ACKs by itself");
        let for_ever = Config { syn_retries: None, data_retries: Some(300), ..base };
        assert_eq!(of_files(&for_ever), []);
        let differing = retries::from_config(&for_ever);
        let names: Vec<&str> =
            differing.iter().filter(|one| one.differs()).map(|one| one.name).collect();
        assert_eq!(names, ["syn_retries", "data_retries"]);
    }

    #[test]
    fn a_host_reports_duplicates_only_if_its_tcp_does() {
        for (duplicate_sack, expected) in [(true, "1"), (false, "0")] {
            let (settings, _) =
                host_settings(&Config { duplicate_sack, ..Era::LinuxToday.config() });
            assert!(settings.contains(&("ipv4/tcp_dsack", expected.to_owned())));
        }
    }
}
