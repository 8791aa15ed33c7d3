//! Cautions: conditions that may spoil a deployment although no check refuses them, each with a remedy.

use serde_json::{Value, json};
use shortflow_elements::Aggregate;
use shortflow_elements::classifier::{AnyOf, MultiField};
use shortflow_packet::{Address, Prefix};
use shortflow_policy::{MarkerPlan, Policy, TrafficClass};
use shortflow_units::{Duration, Length, Rate};

use crate::bytecode::Choice;
use crate::compile::{Settings, compile};
use crate::environment::{Environment, Translation};
use crate::kernel::{Kernel, Kind};
use crate::tree::Tree;
use crate::wanted::Wanted;

/// Something that is likely to spoil a deployment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Warning {
    /// What, and what follows from it.
    pub what: String,
    /// What to do.
    pub remedy: String,
}

impl std::fmt::Display for Warning {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}; {}", self.what, self.remedy)
    }
}

/// The largest piece that segmentation offload makes by default (`GSO_LEGACY_MAX_SIZE`), in bytes.
const GSO_MAX_SIZE: u64 = 65_536;
/// How long a piece may take: what comes first waits for one, and a call has some tens of milliseconds.
const MAX_GSO_TIME: Duration = Duration::from_millis(10);

impl Warning {
    /// As a program reads it.
    pub fn json(&self) -> Value {
        json!({ "what": self.what, "remedy": self.remedy })
    }

    /// The cautions for a policy on this device, in this environment.
    pub fn all(
        policy: &Policy,
        wanted: &Wanted,
        device: &str,
        environment: &Environment,
    ) -> Vec<Warning> {
        let pieces = wanted.tree.as_ref().and_then(|tree| of_pieces(tree, device, environment));
        let buffers = wanted.tree.as_ref().and_then(|tree| of_buffers(policy, tree));
        let wrapped = of_wrapping(wanted, device, environment);
        let translated = of_translation(policy, wanted, device, environment);
        let hosts = of_fair_hosts(wanted, device, environment);
        let translated = translated.into_iter().chain(hosts);
        // What it receives it does not give to the provider.
        let marks = wanted.edge.as_ref().filter(|_| !environment.is_received);
        let written = marks.and_then(|_| of_network_control(policy, device));
        pieces.into_iter().chain(buffers).chain(wrapped).chain(translated).chain(written).collect()
    }
}

/// Pieces of many packets, which are sent as one: what comes first waits for one of what comes last.
fn of_pieces(tree: &Tree, device: &str, environment: &Environment) -> Option<Warning> {
    // CAKE takes pieces apart itself.
    let is_split = |kind: Kind| [Kind::Cake, Kind::CakeMq].contains(&kind);
    let has_others = tree.disciplines().into_iter().any(|queue| !is_split(queue.kind));
    let nanos = (GSO_MAX_SIZE * 8).saturating_mul(1_000_000_000) / tree.rate.bits_per_sec().max(1);
    let takes = Duration::from_nanos(nanos);
    let matters = tree.disciplines().len() > 1 && has_others && takes > MAX_GSO_TIME;
    if !matters || environment.offloads == Some(false) {
        return None;
    }
    if environment.is_received {
        return Some(Warning {
            what: format!(
                "segments of up to 64 KB, which {device} combines from received packets (GRO), can \
                    delay packets of higher priority by {} ms at {}",
                nanos / 1_000_000,
                tree.rate
            ),
            remedy: format!("disable it with `ethtool -K {device} gro off`"),
        });
    }
    Some(Warning {
        what: format!(
            "segments of up to 64 KB (segmentation offload) can delay packets of higher priority \
                by {} ms at {}",
            nanos / 1_000_000,
            tree.rate
        ),
        remedy: format!(
            "disable it with `ethtool -K {device} tso off gso off`, and `gro off` on the devices \
                through which packets arrive"
        ),
    })
}

/// The deepest of the buffers that packets fill before any is dropped, if it holds them for long, as in scenarios.
fn of_buffers(policy: &Policy, tree: &Tree) -> Option<Warning> {
    let filled = policy.role(&tree.role)?.limits.iter().filter(|limit| limit.is_tail_drop);
    let deep = filled.filter_map(|limit| Some((limit.limit.long_drain(tree.rate)?, limit)));
    let (time, deepest) = deep.max_by_key(|(time, _)| *time)?;
    let of_full = match deepest.limit {
        Length::Packets(_) => format!(" of {} B", Length::FULL_PACKET.0),
        Length::Bytes(_) => String::new(),
    };
    Some(Warning {
        what: format!(
            "`{}` = {} holds packets{of_full} for up to {:.0} s at {}",
            deepest.key,
            deepest.limit,
            time.as_secs_f64(),
            tree.rate
        ),
        remedy: "set a smaller limit: while it is full, each packet waits that long".to_owned(),
    })
}

/// Frames whose packets are inside another header than that of Ethernet or a VLAN.
fn of_wrapping(wanted: &Wanted, device: &str, environment: &Environment) -> Vec<Warning> {
    let tells_apart = |tree: &Tree| matches!(tree.choice, Choice::Among { .. });
    if wanted.edge.is_none() && !wanted.tree.as_ref().is_some_and(tells_apart) {
        return Vec::new();
    }
    let way = if environment.is_received { "arrive at" } else { "leave" };
    let what = |kind: &str| {
        format!(
            "packets {way} {device} encapsulated in {kind}, which hides code points, ports and \
                addresses: all of them go to the last class"
        )
    };
    let pppoe = environment.carries_pppoe.then(|| Warning {
        what: what("PPPoE"),
        remedy: "deploy on the device of the session, such as ppp0 (`ip link show type ppp` lists \
            them)"
            .to_owned(),
    });
    let mpls = environment.carries_mpls.then(|| Warning {
        what: what("MPLS"),
        remedy: "deploy where packets carry no MPLS label".to_owned(),
    });
    pppoe.into_iter().chain(mpls).collect()
}

/// Hosts behind this machine that have one address by the time that their packets come to the device.
fn of_translation(
    policy: &Policy,
    wanted: &Wanted,
    device: &str,
    environment: &Environment,
) -> Vec<Warning> {
    let roles =
        [wanted.edge.as_ref().map(|edge| &edge.role), wanted.tree.as_ref().map(|tree| &tree.role)];
    let roles: Vec<_> = roles.into_iter().flatten().filter_map(|name| policy.role(name)).collect();
    let classes = || roles.iter().flat_map(|role| &role.classes);
    if environment.is_received {
        let of_classes = classes().filter_map(|class| class.rule.dst.as_ref());
        let mut rules: Vec<Prefix> = of_classes.flat_map(|any| any.iter()).copied().collect();
        if let Some(tree) = &wanted.tree {
            prefixes(&tree.choice, &|rule| rule.dst.as_ref(), &mut rules);
        }
        return of_private_destination(rules, device, environment.translation)
            .into_iter()
            .collect();
    }
    let by_host = classes().find(|class| is_by_source(class)).map(|class| &class.name);
    let of_classes = classes().filter_map(|class| class.rule.src.as_ref());
    let mut rules: Vec<Prefix> = of_classes.flat_map(|any| any.iter()).copied().collect();
    if let Some(tree) = &wanted.tree {
        prefixes(&tree.choice, &|rule| rule.src.as_ref(), &mut rules);
    }
    let private = rules.into_iter().find(|prefix| is_private(*prefix));
    let word = match environment.translation {
        Translation::Seen => "are translated",
        // A rule that asks for the address of a LAN is likely at fault; one bucket for each is not.
        Translation::Unknown if private.is_some() => "may be translated",
        Translation::Unknown | Translation::None => return Vec::new(),
    };
    let remedy = "mark at the hosts or at a router before the translation, classify by ports or \
        code points, or use `host-fair` with `ecn = true`, whose CAKE sees the addresses behind \
        the NAT";
    let of_host = by_host.filter(|_| environment.translation == Translation::Seen).map(|name| Warning {
        what: format!(
            "source addresses {word} (NAT) before packets reach {device}: class `{name}` has one \
                meter for all hosts behind the NAT"
        ),
        remedy: remedy.to_owned(),
    });
    let of_rule = private.map(|prefix| Warning {
        what: format!(
            "source addresses {word} (NAT) before packets reach {device}: `match.src = \"{}/{}\"` \
                then matches none of the hosts behind the NAT",
            prefix.network(),
            prefix.length()
        ),
        remedy: remedy.to_owned(),
    });
    of_host.into_iter().chain(of_rule).collect()
}

/// Hosts that are to share the line fairly, but have one address at the device. CAKE sees behind it.
fn of_fair_hosts(wanted: &Wanted, device: &str, environment: &Environment) -> Option<Warning> {
    let plan = wanted.tree.as_ref()?.program.as_ref()?;
    let [by_senders, by_receivers] = plan.tells_hosts_apart();
    let (is_fair, what) = match environment.is_received {
        false => (by_senders, "source addresses are translated (NAT) before packets reach"),
        true => (by_receivers, "destination addresses are translated (NAT) after packets come to"),
    };
    (is_fair && environment.translation == Translation::Seen).then(|| Warning {
        what: format!(
            "{what} {device}: to `host-fair` in a BPF qdisc all hosts behind the NAT are one"
        ),
        remedy:
            "set `ecn = true`, whose CAKE sees the addresses behind the NAT, or deploy on what \
            the device towards these hosts sends"
                .to_owned(),
    })
}

/// A rule on addresses of the LAN, which packets that arrive do not have yet.
fn of_private_destination(
    rules: Vec<Prefix>,
    device: &str,
    translation: Translation,
) -> Option<Warning> {
    let prefix = rules.into_iter().find(|prefix| is_private(*prefix))?;
    let word = match translation {
        Translation::Seen => "is translated",
        Translation::Unknown => "may be translated",
        Translation::None => return None,
    };
    Some(Warning {
        what: format!(
            "the destination of packets that arrive at {device} {word} (NAT) later: `match.dst = \
                \"{}/{}\"` then matches none of them",
            prefix.network(),
            prefix.length()
        ),
        remedy:
            "deploy on what the device towards these hosts sends, or classify by ports or code \
            points"
                .to_owned(),
    })
}

/// Whether a class has a meter for each source, or pair of hosts.
fn is_by_source(class: &TrafficClass) -> bool {
    matches!(aggregate(class), Some(Aggregate::Source | Aggregate::HostPair))
}

/// Whether a policy asks for the hosts to which packets go. Their addresses may be translated only after packets arrive.
pub fn tells_receivers(policy: &Policy) -> bool {
    let by_host = |class: &TrafficClass| {
        matches!(aggregate(class), Some(Aggregate::Destination | Aggregate::HostPair))
    };
    let of_class = |class: &TrafficClass| class.rule.dst.is_some() || by_host(class);
    policy.roles.iter().any(|role| {
        let asks = |tree: Tree| {
            let mut found = Vec::new();
            prefixes(&tree.choice, &|rule| rule.dst.as_ref(), &mut found);
            !found.is_empty()
        };
        let settings = Settings {
            rate: Some(Rate::from_bits_per_sec(10_000_000)),
            link_layer: None,
            link_header: 14,
            kernel: Kernel::default(),
            nearest: true,
        };
        let queues = || role.queues() && compile(policy, role, &settings).is_ok_and(asks);
        role.classes.iter().any(of_class) || queues()
    })
}

/// By what a class has meters of their own.
fn aggregate(class: &TrafficClass) -> Option<Aggregate> {
    let per = match &class.marker {
        Some(MarkerPlan::TokenBucket(plan)) => plan.per(),
        Some(MarkerPlan::TwoBuckets(plan)) => plan.per(),
        Some(MarkerPlan::Srtcm(plan)) => plan.per(),
        Some(MarkerPlan::Trtcm(plan)) => plan.per(),
        Some(MarkerPlan::Dstf(plan)) => Some(plan.per()),
        Some(MarkerPlan::Sima(plan)) => plan.per(),
        _ => None,
    };
    per.map(|per| per.aggregate())
}

/// The prefixes of one kind for which rules ask.
fn prefixes<T>(
    choice: &Choice<T>,
    of_rule: &impl Fn(&MultiField) -> Option<&AnyOf<Prefix>>,
    found: &mut Vec<Prefix>,
) {
    let Choice::Among { rules, otherwise } = choice else { return };
    for (rule, of) in rules {
        found.extend(of_rule(rule).into_iter().flat_map(|any| any.iter()));
        prefixes(of, of_rule, found);
    }
    prefixes(otherwise, of_rule, found);
}

/// Whether these are addresses of a LAN (RFC 1918, RFC 6598, RFC 4193).
fn is_private(prefix: Prefix) -> bool {
    let of = |a: u32, b: u32, length| Prefix::new(Address::v4(a << 24 | b << 16), length);
    let all = [of(10, 0, 8), of(172, 16, 12), of(192, 168, 16), of(100, 64, 10)];
    let unique = Prefix::new(Address::v6(0xfc << 120), 7);
    let mut all = all.into_iter().chain([unique]).map(|prefix| prefix.expect("it is one"));
    all.any(|private| private.contains(prefix.network()) && private.length() <= prefix.length())
}

/// CS6 and CS7.
const NETWORK_CONTROL: [u8; 2] = [48, 56];

/// Code points that are those of routers among each other.
fn of_network_control(policy: &Policy, device: &str) -> Option<Warning> {
    let written = policy.written_code_points();
    let control: Vec<String> = written
        .into_iter()
        .filter(|dscp| NETWORK_CONTROL.contains(&dscp.value()))
        .map(|dscp| dscp.to_string())
        .collect();
    (!control.is_empty()).then(|| Warning {
        what: format!(
            "packets leave {device} with {}, the code points of network control (RFC 4594 §3.1): a \
                provider may drop or re-mark them, or prefer them to its own",
            control.join(" and ")
        ),
        remedy: "if the line belongs to a provider, set other `code_points`, such as AF classes, \
            or ask the provider"
            .to_owned(),
    })
}

#[cfg(test)]
mod tests {
    use shortflow_policy::from_text;

    use super::*;
    use crate::Site;

    const KNOWN: Environment = Environment {
        is_received: false,
        offloads: Some(false),
        carries_pppoe: false,
        carries_mpls: false,
        translation: Translation::None,
    };

    fn warnings(text: &str, roles: &[&str], rate: &str, environment: Environment) -> Vec<Warning> {
        let policy = from_text("policy.toml", text, &[]).unwrap();
        let site = Site {
            rate: Some(rate.parse().unwrap()),
            speed: None,
            link_layer: None,
            link_header: 14,
            kernel: Kernel::new([(Kind::BpfQdisc, true)]),
            nearest: false,
        };
        let roles: Vec<String> = roles.iter().map(|role| (*role).to_owned()).collect();
        let wanted = Wanted::from_policy(&policy, &roles, &site).unwrap();
        Warning::all(&policy, &wanted, "wan", &environment)
    }

    const BANDS: &str = r#"name = "Bands"
[[roles.core.queue.strict-priority.bands]]
match = { src = "192.168.9.2/32" }
queue.fifo = { limit = "50 pkt" }
[[roles.core.queue.strict-priority.bands]]
queue.fifo = { limit = "200 pkt" }
"#;

    fn warnings_text(found: &[Warning]) -> String {
        found.iter().map(|warning| format!("{warning}\n")).collect()
    }

    #[test]
    fn pieces_are_told_where_one_takes_long_unless_they_are_switched_off() {
        let of = |rate, offloads| {
            warnings_text(&warnings(BANDS, &[], rate, Environment { offloads, ..KNOWN }))
        };
        for offloads in [Some(true), None] {
            let text = of("1 Mbit/s", offloads);
            assert!(text.contains("by 524 ms at 1 Mbit/s"), "{text}");
            assert!(text.contains("`ethtool -K wan tso off gso off`"), "{text}");
            assert_eq!(of("100 Mbit/s", offloads), "");
        }
        assert_eq!(of("1 Mbit/s", Some(false)), "");
    }

    #[test]
    fn a_buffer_that_holds_packets_for_long_is_told_with_its_key_and_the_time() {
        let of = |limit: &str| {
            let text = format!("[roles.core]\nqueue.fifo.limit = \"{limit}\"\n");
            warnings_text(&warnings(&text, &[], "10 Mbit/s", KNOWN))
        };
        let what = "`roles.core.queue.fifo.limit` = 20000 pkt holds packets of 1500 B for up to 24 s at 10 Mbit/s";
        assert!(of("20000 pkt").contains(what), "{}", of("20000 pkt"));
        assert!(of("32 MB").contains("= 32 MB holds packets for up to 26 s"), "{}", of("32 MB"));
        assert_eq!(of("1000 pkt"), "");
    }

    #[test]
    fn headers_around_packets_are_told_with_what_is_not_seen_inside() {
        let text = warnings_text(&warnings(
            BANDS,
            &[],
            "10 Mbit/s",
            Environment { carries_pppoe: true, carries_mpls: true, ..KNOWN },
        ));
        assert!(
            text.contains("packets leave wan encapsulated in PPPoE, which hides code points"),
            "{text}"
        );
        assert!(text.contains("`ip link show type ppp`"), "{text}");
        assert!(
            text.contains("packets leave wan encapsulated in MPLS, which hides code points"),
            "{text}"
        );
    }

    #[test]
    fn hosts_behind_a_translation_are_told_as_one() {
        let of = |text: &str, roles: &[&str], translation| {
            warnings_text(&warnings(text, roles, "10 Mbit/s", Environment { translation, ..KNOWN }))
        };
        let rule = "`match.src = \"192.168.9.2/32\"` then matches none of the hosts behind the NAT";
        assert!(of(BANDS, &[], Translation::Seen).contains(rule));
        assert!(of(BANDS, &[], Translation::Unknown).contains("addresses may be translated (NAT)"));
        assert_eq!(of(BANDS, &[], Translation::None), "");
        let users = r#"[[roles.edge.classes]]
name = "users"
marker.token-bucket = { rate = "250 kbit/s", depth = "6 KB", per = "source" }
"#;
        let all =
            format!("{}{users}", BANDS.replace("src = \"192.168.9.2/32\"", "dscp = \"AF11\""));
        let text = of(&all, &["edge", "core"], Translation::Seen);
        assert!(
            text.contains("class `users` has one meter for all hosts behind the NAT"),
            "{text}"
        );
        assert_eq!(of(&all, &["edge", "core"], Translation::Unknown), "");
        let flows = all.replace("\"source\"", "\"flow\"");
        assert_eq!(of(&flows, &["edge", "core"], Translation::Seen), "");
    }

    #[test]
    fn hosts_that_a_bpf_qdisc_cannot_tell_apart_behind_a_translation_are_told() {
        let of = |by: &str, ecn: bool, translation| {
            let text = format!("roles.core.queue.host-fair = {{ by = \"{by}\", ecn = {ecn} }}");
            let environment = Environment { translation, ..KNOWN };
            warnings_text(&warnings(&text, &[], "100 Mbit/s", environment))
        };
        let text = of("source", false, Translation::Seen);
        assert!(text.contains("to `host-fair` in a BPF qdisc all hosts behind the NAT are one"));
        assert!(text.contains("set `ecn = true`, whose CAKE sees"), "{text}");
        // Hosts that receive have addresses of their own, and CAKE looks behind the translation.
        assert_eq!(of("destination", false, Translation::Seen), "");
        assert_eq!(of("source", true, Translation::Seen), "");
        assert_eq!(of("source", false, Translation::None), "");
    }

    #[test]
    fn received_packets_have_one_destination_before_a_translation() {
        let of = |by: &str| {
            let text = format!("roles.core.queue.host-fair = {{ by = \"{by}\", ecn = false }}");
            let translation = Translation::Seen;
            let environment = Environment { is_received: true, translation, ..KNOWN };
            warnings_text(&warnings(&text, &[], "100 Mbit/s", environment))
        };
        assert!(of("both").contains("after packets come to wan: to `host-fair`"), "{}", of("both"));
        assert_eq!(of("source"), "");
    }

    #[test]
    fn a_policy_tells_receivers_by_their_addresses_or_by_meters_for_each() {
        let of = |text: &str| tells_receivers(&from_text("policy.toml", text, &[]).unwrap());
        assert!(!of(BANDS) && of(&BANDS.replace("src = ", "dst = ")));
        let edge = |per: &str| {
            format!(
                "[[roles.edge.classes]]\nname = \"users\"\nmarker.token-bucket = {{ rate = \"250 kbit/s\", \
                 depth = \"6 KB\", per = \"{per}\" }}\n"
            )
        };
        let found = ["source", "flow", "destination", "host-pair"].map(|per| of(&edge(per)));
        assert_eq!(found, [false, false, true, true]);
    }

    #[test]
    fn what_a_device_receives_has_other_causes_and_remedies() {
        let received = Environment { is_received: true, ..KNOWN };
        let of =
            |text: &str, environment| warnings_text(&warnings(text, &[], "1 Mbit/s", environment));
        let text = of(BANDS, Environment { offloads: Some(true), ..received });
        assert!(text.contains("(GRO)") && text.contains("`ethtool -K wan gro off`"), "{text}");
        assert!(!text.contains("tso"), "{text}");
        let text = of(BANDS, Environment { carries_pppoe: true, ..received });
        assert!(text.contains("packets arrive at wan encapsulated in PPPoE"), "{text}");
        let translated = Environment { translation: Translation::Seen, ..received };
        assert_eq!(of(BANDS, translated), "", "sources are as their senders have them");
        let text = of(&BANDS.replace("src = ", "dst = "), translated);
        assert!(text.contains("`match.dst = \"192.168.9.2/32\"` then matches none"), "{text}");
    }

    #[test]
    fn code_points_of_network_control_on_the_line_are_told() {
        let text = r#"[[roles.edge.classes]]
name = "all"
marker.dstf = {}
"#;
        let all = format!("{}{text}", BANDS.replace("src = \"192.168.9.2/32\"", "dscp = \"CS7\""));
        let text = warnings_text(&warnings(&all, &["edge", "core"], "10 Mbit/s", KNOWN));
        assert!(
            text.contains("packets leave wan with CS6 and CS7, the code points of network"),
            "{text}"
        );
        assert!(text.contains("set other `code_points`"), "{text}");
    }

    #[test]
    fn cake_sees_behind_a_translation() {
        let text = "[roles.core.queue.host-fair]\nby = \"source\"\necn = true\n";
        let policy = from_text("policy.toml", text, &[]).unwrap();
        let site = Site {
            rate: Some("10 Mbit/s".parse().unwrap()),
            speed: None,
            link_layer: None,
            link_header: 14,
            kernel: Kernel::default(),
            nearest: true,
        };
        let settings = |translation| {
            let wanted = Wanted::from_policy(&policy, &[], &site).unwrap().behind(translation);
            wanted.tree.unwrap().leaves[0].queue.settings.clone()
        };
        assert!(settings(Translation::Seen).ends_with(" nat"));
        assert!(!settings(Translation::None).contains("nat"));
    }
}
