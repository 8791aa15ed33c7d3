//! Generates `docs/schemes.md`: which engine supports which scheme, by running the engines.
//!
//! Each scheme's example runs in a small network: at the sending server, at the next router, or before the slow line,
//! depending on the example's role. The page has the results of the engines.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::path::Path;

use shortflow_deploy::{Kernel, Kind, Owners, Refusal, Settings, compile, compile_edge};
use shortflow_inline::Plan;
use shortflow_policy::explain::{SchemeKind, schemes};
use shortflow_policy::{Policy, from_text};
use shortflow_predict::Prediction;
use shortflow_rehearse::Rehearsal;
use shortflow_run::{Engine, Task, run_tasks};
use shortflow_scenario::{Overrides, Scenario, load};
use shortflow_sim::Simulator;
use shortflow_units::{LinkLayer, Rate};

use crate::keys;

/// Pages and a call over a line of 10 Mbit/s, half of which they need.
const NETWORK: &str = r#"
name = "Schemes"
policy = "policy.toml"
duration = "20 s"
[hosts]
client = {}
servers = {}
[routers]
near = {}
far = {}
[links]
client = { between = ["client", "near"], rate = "1 Gbit/s", delay = "1 ms" }
line = { between = ["far", "near"], rate = "10 Mbit/s", delay = "10 ms" }
servers = { between = ["servers", "far"], rate = "1 Gbit/s", delay = "1 ms" }
[workloads.web.transfers]
client = "client"
server = "servers"
request.constant = "200 B"
reply.constant = "20 KB"
rate = "20 /s"
[workloads.calls.cbr]
from = "servers"
to = "client"
rate = "80 kbit/s"
packet = "200 B"
dscp = "EF"
"#;

/// A queue for which marks matter.
const LINE: &str = r#"
[[roles.line.queue.strict-priority.bands]]
match = { dscp = ["AF11", "EF"] }
queue.fifo = { limit = "50 pkt" }
[[roles.line.queue.strict-priority.bands]]
queue.fifo = { limit = "50 pkt" }
"#;

/// What an engine says of a scheme: nothing where it carries it.
pub(crate) type Answer = Result<(), String>;

/// A policy with one role, a marker or a queue, and the network under it. `name` is for mistakes.
pub(crate) fn placed(name: &str, example: &str, is_marker: bool) -> (Policy, Scenario) {
    let role = ["servers", "edge", "core"]
        .into_iter()
        .find(|role| example.contains(&format!("roles.{role}")))
        .unwrap_or_else(|| panic!("{name}: an example is at a server, an edge or a line"));
    let policy = if is_marker { example.to_owned() + LINE } else { example.to_owned() };
    let place = match role {
        "servers" => "at = \"servers\"\nto = \"far\"",
        "edge" => "at = \"far\"\nfrom = \"servers\"",
        _ => "at = \"far\"\nto = \"near\"",
    };
    let mut network = format!("{NETWORK}\n[[bind]]\nrole = \"{role}\"\n{place}\n");
    if is_marker {
        network += "[[bind]]\nrole = \"line\"\nat = \"far\"\nto = \"near\"\n";
    }
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("policy.toml"), &policy).unwrap();
    let file = folder.path().join("network.toml");
    std::fs::write(&file, network).unwrap();
    let loaded =
        load(&file, &Overrides::default()).unwrap_or_else(|mistakes| panic!("{name}\n{mistakes}"));
    let policy = from_text("policy.toml", &policy, &[]).unwrap();
    (policy, loaded.points()[0].scenario.clone())
}

fn by_engine(engine: &dyn Engine, scenario: &Scenario) -> Answer {
    engine.check(scenario).map_err(|refusal| refusal.0)
}

/// What has a closed form for one workload at least is carried. One that waits for another's is no reason.
fn predicted(scenario: &Scenario) -> Answer {
    Prediction.answers(scenario).map_err(|refusal| {
        let reasons = refusal.0.lines().filter_map(|line| line.strip_prefix("no closed form for "));
        let reasons = reasons.filter_map(|line| line.split_once(": ").map(|(_, why)| why));
        own_reasons(reasons)
    })
}

/// Why a workload has no closed form, where another one has.
fn missing_in_part(scenario: &Scenario) -> Option<String> {
    let task = Task { scenario, replica: 0 };
    let outcome = run_tasks(&Prediction, &[task], 1, &false.into(), &()).remove(0);
    let outcome = outcome.expect("a prediction ends");
    let lacks = outcome.warnings.iter().filter_map(|warning| {
        let (_, why) = warning.message.strip_prefix("No closed form for ")?.split_once(": ")?;
        Some(why.trim_end_matches('.'))
    });
    Some(own_reasons(lacks)).filter(|reasons| !reasons.is_empty())
}

/// Reasons, but those of workloads that wait for another's closed form.
fn own_reasons<'r>(reasons: impl Iterator<Item = &'r str>) -> String {
    let own = reasons.filter(|why| !why.ends_with("which has no closed form itself"));
    own.collect::<BTreeSet<_>>().into_iter().collect::<Vec<_>>().join("; ")
}

/// On a kernel that has everything.
fn deployed(policy: &Policy) -> Answer {
    let message = |refusals: Vec<Refusal>| {
        let each = refusals.into_iter().map(|refusal| match refusal.nearest {
            Some((nearest, true)) => format!("{}; `--nearest` takes {nearest}", refusal.what),
            Some((hint, false)) => format!("{}; {hint}", refusal.what),
            None => refusal.what,
        });
        each.collect::<Vec<_>>().join("; ")
    };
    let role = &policy.roles[0];
    let settings = Settings {
        rate: Some(Rate::from_bits_per_sec(10_000_000)),
        link_layer: None,
        link_header: 14,
        kernel: Kernel::new([(Kind::BpfQdisc, true)]),
        nearest: false,
    };
    match role.queues() {
        true => compile(policy, role, &settings).map(|_| ()).map_err(message),
        false => compile_edge(policy, role, &Owners::new()).map(|_| ()).map_err(message),
    }
}

/// Between two devices.
fn inline(policy: &Policy) -> Answer {
    let rates = [Rate::from_bits_per_sec(10_000_000); 2];
    let plan = Plan::new(vec![&policy.roles[0]], rates, LinkLayer::default(), 1);
    plan.map(|_| ()).map_err(|refused| {
        let text = refused.to_string();
        text.split_once('\n').map_or(text.clone(), |(what, _)| what.to_owned())
    })
}

/// What each engine says of a policy of one role.
pub(crate) fn answers(policy: &Policy, scenario: &Scenario) -> [(&'static str, Answer); 5] {
    [
        ("simulate", by_engine(&Simulator, scenario)),
        ("predict", predicted(scenario)),
        ("rehearse", by_engine(&Rehearsal::OVER_IPV4, scenario)),
        ("deploy", deployed(policy)),
        ("inline", inline(policy)),
    ]
}

fn page() -> String {
    let mut table = String::new();
    let mut reasons = String::new();
    for scheme in schemes() {
        let is_marker = scheme.kind == SchemeKind::Marker;
        let (policy, scenario) = placed(&scheme.name, scheme.example, is_marker);
        let (name, kind) = (&scheme.name, scheme.kind.name());
        let _ = write!(table, "| `{name}` | {kind} |");
        for (engine, answer) in &answers(&policy, &scenario) {
            let part = match (*engine, answer) {
                ("predict", Ok(())) => missing_in_part(&scenario),
                _ => None,
            };
            let said = match (answer, &part) {
                (Err(_), _) => "no",
                (Ok(()), Some(_)) => "partly",
                (Ok(()), None) => "yes",
            };
            let _ = write!(table, " {said} |");
            if let Some(why) = answer.as_ref().err().or(part.as_ref()) {
                let _ = writeln!(
                    reasons,
                    "- `{name}` ({kind}), {engine}: {}.",
                    why.replace('\n', "; ")
                );
            }
        }
        table.push('\n');
    }
    format!(
        "# Which engine supports which scheme\n\n\
         This page is generated. Each engine was asked to run the example of each scheme ([descriptions](elements.md)) in a \
         small network, at the place of the example's role. `BLESS=1 cargo test -p shortflow-cli --features ebpf schemes` \
         updates it.\n\n\
         `predict` says yes if pages of 20 KB and a call have closed forms at half load, and partly if one of them has. `deploy` says yes if a kernel with \
         every queue of Linux, with [BPF qdiscs](deploy-in-the-kernel.md#queues-in-a-program) and with eBPF does the same as the simulator's element; `shortflow doctor POLICY` shows what \
         your kernel supports. [`inline`](inline.md) runs the simulator's elements between two devices of any kernel, with every \
         key that `simulate` uses; it says no if only the sending host knows what a scheme asks.\n\n\
         | scheme | kind | simulate | predict | rehearse | deploy | inline |\n|---|---|---|---|---|---|---|\n{table}\n\
         ## Why not\n\n{reasons}\n{}",
        keys::page::page()
    )
}

#[test]
fn the_page_of_schemes_is_what_the_engines_say() {
    if !cfg!(feature = "ebpf") {
        eprintln!("skipped: needs a build with the feature ebpf");
        return;
    }
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/schemes.md");
    let page = page();
    if std::env::var_os("BLESS").is_some() {
        std::fs::write(&path, &page).unwrap();
    }
    let written = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(written == page, "docs/schemes.md is stale: BLESS=1 rewrites it");
}
