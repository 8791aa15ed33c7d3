//! Every engine accounts for every key: it uses it, refuses it by name, or declares it without effect.
//!
//! The keys are those of the formats' schemas, so that none can be forgotten; `tests/keys` has a value for each that
//! changes something. What the engines do with it is also what `docs/schemes.md` says of keys.

mod answers;
pub(crate) mod page;
mod table;

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::LazyLock;

use shortflow_policy::WithoutEffect;
use shortflow_policy::explain::schemes;
use shortflow_scenario::{Loaded, Overrides, from_texts};

use answers::Answer;
use table::{Setting, Table, differences};

/// The engines, in the order of [`Accounted::by`].
pub(crate) const ENGINES: [&str; 4] = ["simulate", "predict", "rehearse", "deploy"];

/// What an engine does with a key.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Use {
    Used,
    Refused(String),
    NoEffect(String),
    /// The engine reads no such file.
    Foreign,
}

/// A key, and what each engine does with it, or why that is no answer.
#[derive(Debug)]
pub(crate) struct Accounted {
    pub(crate) scheme: String,
    pub(crate) key: String,
    pub(crate) by: [Result<Use, String>; 4],
}

/// A slow line that everything fills, and that loses packets; the same half full; and one that long flows fill: the last two
/// are what has closed forms.
const NETWORKS: [&str; 3] = ["full.toml", "half.toml", "long.toml"];

/// A file of `tests/keys`.
fn text(name: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/keys").join(name);
    std::fs::read_to_string(path).unwrap_or_else(|why| panic!("{name}: {why}"))
}

/// A line where every mark counts.
const LINE: &str = r#"
[[roles.line.queue.strict-priority.bands]]
match = { dscp = ["AF11", "EF", "CS7", "CS3", "CS2"] }
queue.fifo = { limit = "20 pkt" }
[[roles.line.queue.strict-priority.bands]]
match = { dscp = ["AF12", "CS1", "CS6", "CS5"] }
queue.fifo = { limit = "20 pkt" }
[[roles.line.queue.strict-priority.bands]]
queue.fifo = { limit = "20 pkt" }
"#;

/// The policy of the tables that are no scheme: a class that meters, behind it a line.
const PLAIN: &str = r#"
[[roles.edge.classes]]
name = "all"
marker.token-bucket = { rate = "500 kbit/s", depth = "5 KB" }
"#;

/// Where a table of policies stands that does not say it.
fn place(scheme: &str) -> String {
    let example = example_of(scheme);
    let role = ["servers", "edge", "core"]
        .into_iter()
        .find(|role| example.contains(&format!("roles.{role}")))
        .unwrap_or("edge");
    match scheme.split_once('.') {
        Some(("queue", name)) => format!("roles.{role}.queue.{name}"),
        Some(("marker", name)) => format!("roles.{role}.classes.0.marker.{name}"),
        _ => String::new(),
    }
}

/// The example of a scheme; the plain policy of other tables.
fn example_of(scheme: &str) -> String {
    let found = schemes()
        .into_iter()
        .find(|known| format!("{}.{}", known.kind.name(), known.name) == scheme);
    found.map_or(PLAIN.to_owned(), |scheme| scheme.example.to_owned())
}

/// The policy of a table, and the bindings of its roles: what marks at the hosts that send, queues before the line.
fn policy_of(scheme: &str) -> (String, String) {
    let example = example_of(scheme);
    let bind = |role: &str, at: &str, to: &str| {
        format!("[[bind]]\nrole = \"{role}\"\nat = \"{at}\"\nto = \"{to}\"\n")
    };
    let marks = ["servers", "edge"].into_iter();
    let marks = marks.filter(|role| example.contains(&format!("roles.{role}")));
    let bindings: String = marks.map(|role| bind(role, "servers", "far")).collect();
    match example.contains("roles.core") {
        true => (example, bindings + &bind("core", "far", "near")),
        false => (example + LINE, bindings + &bind("line", "far", "near")),
    }
}

/// What the files of a table come to with these settings.
fn loaded(policy: &str, scenario: &str, set: &[Setting]) -> Result<Loaded, String> {
    let overrides = Overrides { set: set.to_vec(), ..Overrides::default() };
    let texts = [
        ("keys.toml", scenario),
        ("policy.toml", policy),
        ("other.toml", OTHER),
        ("ports.toml", &(PORTS.to_owned() + LINE)),
        ("labels.toml", &(LABELS.to_owned() + LINE)),
        ("addresses.toml", &(ADDRESSES.to_owned() + LINE)),
        ("marked.toml", &(MARKED.to_owned() + LINE)),
        ("ecn.toml", ECN),
        ("deep.toml", DEEP),
        ("limits.toml", LIMITS),
        (
            "one.csv",
            "time_s,client,page,index_bytes,object_bytes\n1.5,0,,9000,40000\n1.6,0,,9000,20000\n",
        ),
        ("two.csv", "time_s,client,page,index_bytes,object_bytes\n2.5,1,,9000,\n"),
        ("rates.csv", "time_s,rate_kbps\n0,2000\n3,300\n"),
        ("fade.csv", "time_s,rate_kbps\n0,2000\n4,200\n"),
    ];
    from_texts(&texts, &overrides).map_err(|mistakes| mistakes.to_string())
}

/// Another policy with the same roles.
const OTHER: &str = r#"
roles.edge.classes = [{ name = "all", marker.fixed.dscp = "AF12" }]
roles.line.queue.fifo.limit = "9 pkt"
roles.other.queue.fifo.limit = "2 pkt"
"#;

/// Policies that a port, a label, and an address make a difference to.
const PORTS: &str = r#"
roles.edge.classes = [
    { name = "from", match = { src_port = 81 }, marker.fixed.dscp = "EF" },
    { name = "to", match = { dst_port = 81 }, marker.fixed.dscp = "EF" },
]
"#;
const LABELS: &str = r#"
roles.edge.classes = [{ name = "other", match.label = "other", marker.fixed.dscp = "EF" }]
"#;
const ADDRESSES: &str = r#"
roles.edge.classes = [{ name = "customers", match.src = "100.64.0.0/10", marker.fixed.dscp = "EF" }]
"#;
/// One that marks all packets.
const MARKED: &str = r#"
roles.edge.classes = [{ name = "all", marker.fixed.dscp = "EF" }]
"#;

/// A queue that marks, and one that is deep.
const ECN: &str = r#"
roles.edge.classes = [{ name = "all", marker.fixed.dscp = "AF12" }]
roles.line.queue.red = { limit = "40 pkt", min_threshold = "2 pkt", max_threshold = "20 pkt", max_probability = 0.3, weight = 0.1, ecn = true }
"#;
const DEEP: &str = r#"
roles.edge.classes = [{ name = "all", marker.fixed.dscp = "AF12" }]
roles.line.queue.fifo.limit = "500 pkt"
"#;

/// A queue whose limit is a parameter.
const LIMITS: &str = r#"
parameters.limit = "40 pkt"
roles.line.queue.fifo.limit = "$limit"
"#;

/// Keys that are for readers alone, where an engine shows no text of theirs.
const OF_READERS: [(&str, &str, &str); 1] =
    [("policy", "description", "it describes the policy to readers of the file")];

/// What is declared without effect, by engine.
fn declared(engine: usize, scheme: &str, key: &str) -> Option<&'static str> {
    let table = [
        [shortflow_sim::WITHOUT_EFFECT, &[]],
        [shortflow_predict::WITHOUT_EFFECT, shortflow_predict::SCENARIO_KEYS_WITHOUT_EFFECT],
        [shortflow_rehearse::WITHOUT_EFFECT, &[]],
        [&[], &[]],
    ][engine];
    let found = table.into_iter().find_map(|table| WithoutEffect::find(table, scheme, key));
    found.map(|one| one.reason)
}

/// What an engine does with a key that changes its answers from `base` to `changed`, for one or several networks.
fn judged(
    engine: usize,
    [scheme, key]: [&str; 2],
    answers: &[(Answer, Answer)],
) -> Result<Use, String> {
    let has_effect = answers.iter().any(|pair| match pair {
        (Answer::Given { text, .. }, Answer::Given { text: other, .. }) => text != other,
        (Answer::Refused(_), Answer::Given { .. }) => true,
        (_, Answer::Refused(_)) => false,
    });
    if let Some(reason) = declared(engine, scheme, key) {
        return match has_effect {
            true => Err(format!("declared without effect ({reason}), but it has one")),
            false => Ok(Use::NoEffect(reason.to_owned())),
        };
    }
    if has_effect {
        return Ok(Use::Used);
    }
    if let Some((.., why)) = OF_READERS.iter().find(|(of, named, _)| [*of, *named] == [scheme, key])
    {
        return Ok(Use::NoEffect((*why).to_owned()));
    }
    let name = scheme.rsplit('.').next().unwrap_or(scheme);
    let last = key.rsplit('.').next().unwrap_or(key);
    let words = |text: &str| text.to_lowercase().replace(['-', '_'], " ");
    // A refusal of what meters and policers of the role do is one of each key of a marker, and of what else says how the
    // packets of its class are marked. One of a workload is one of its keys, and one of a congestion control is one of its.
    let more = match scheme.split_once('.').unwrap_or((scheme, "")) {
        ("marker", _) => ["a meter", "a policer"],
        ("policy" | "role" | "class" | "police", _) => ["a meter"; 2],
        ("workload", _) => ["for `w`"; 2],
        ("tcp", _) => ["the congestion control"; 2],
        _ => [name; 2],
    };
    let names = |text: &str| {
        [name, last].iter().chain(&more).any(|name| words(text).contains(&words(name)))
    };
    for (base, changed) in answers {
        match (base, changed) {
            // A refusal of the key, or of the scheme whatever its keys.
            (_, Answer::Refused(why)) if names(why) || base != changed => {
                return Ok(Use::Refused(why.clone()));
            }
            (Answer::Given { notes: before, .. }, Answer::Given { notes, .. }) => {
                if let Some(why) = notes.iter().find(|why| !before.contains(why) && names(why)) {
                    return Ok(Use::NoEffect(why.clone()));
                }
                let refused =
                    notes.iter().find(|why| why.starts_with("No closed form") && names(why));
                if let Some(why) = refused {
                    return Ok(Use::Refused(why.clone()));
                }
            }
            _ => {}
        }
    }
    let refused = answers.iter().map(|(_, changed)| match changed {
        Answer::Refused(why) => Some(why),
        Answer::Given { .. } => None,
    });
    // What is refused whatever the key says is no answer about the key, and misleads nobody.
    if let Some(all) = refused.collect::<Option<Vec<_>>>() {
        return Ok(Use::Refused(all[0].clone()));
    }
    let what: Vec<_> = answers.iter().map(|(base, changed)| brief(base, changed)).collect();
    Err(format!("ignored in silence: {}", what.join(" / ")))
}

fn brief(base: &Answer, changed: &Answer) -> String {
    let one = |answer: &Answer| match answer {
        Answer::Given { .. } => "given".to_owned(),
        Answer::Refused(why) => format!("refused, {}", why.lines().next().unwrap_or_default()),
    };
    format!("{} then {}", one(base), one(changed))
}

/// The keys of policies, and what each engine does with them.
pub(crate) static OF_POLICIES: LazyLock<Vec<Accounted>> = LazyLock::new(of_policies);

/// The keys of scenarios likewise; no scenario is deployed.
pub(crate) static OF_SCENARIOS: LazyLock<Vec<Accounted>> = LazyLock::new(of_scenarios);

fn of_policies() -> Vec<Accounted> {
    let tables = Table::read_all(&text("policy.txt"), place);
    let all = shortflow_policy::format_keys().all();
    assert_eq!(differences(&all, &tables), (Vec::new(), Vec::new()), "missing, unknown");
    side_by_side(&tables, |table| {
        let (policy, bindings) = policy_of(&table.scheme);
        let networks = NETWORKS.map(|network| format!("{}\n{bindings}", text(network)));
        account(table, &policy, &networks, "policy.")
    })
}

fn of_scenarios() -> Vec<Accounted> {
    let tables = Table::read_all(&text("scenario.txt"), |_| String::new());
    let all = shortflow_scenario::format_keys().all();
    assert_eq!(differences(&all, &tables), (Vec::new(), Vec::new()), "missing, unknown");
    let (_, bindings) = policy_of("match");
    let policy = MARKED.to_owned() + LINE;
    side_by_side(&tables, |table| {
        let networks = NETWORKS.map(|network| format!("{}\n{bindings}", text(network)));
        account(table, &policy, &networks, "")
    })
}

/// The tables, two at a time.
fn side_by_side(
    tables: &[Table],
    each: impl Fn(&Table) -> Vec<Accounted> + Sync,
) -> Vec<Accounted> {
    let next = std::sync::atomic::AtomicUsize::new(0);
    let work = || {
        let mut found = BTreeMap::new();
        loop {
            let at = next.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
            let Some(table) = tables.get(at) else { return found };
            found.insert(at, each(table));
        }
    };
    let found: BTreeMap<usize, Vec<Accounted>> = std::thread::scope(|scope| {
        let others: Vec<_> = (0..2).map(|_| scope.spawn(work)).collect();
        others.into_iter().flat_map(|other| other.join().expect("a table is judged")).collect()
    });
    found.into_values().flatten().collect()
}

fn account(table: &Table, policy: &str, networks: &[String], prefix: &str) -> Vec<Accounted> {
    let is_policy = !prefix.is_empty();
    let mut bases: BTreeMap<String, Vec<Result<Answers, String>>> = BTreeMap::new();
    let given = |set: &[Setting]| -> Vec<Result<Answers, String>> {
        let named = |key: &str| match key.strip_prefix('/') {
            Some(of_scenario) => of_scenario.to_owned(),
            None => format!("{prefix}{key}"),
        };
        let set: Vec<Setting> =
            set.iter().map(|(key, value)| (named(key), value.clone())).collect();
        let each = networks.iter().enumerate();
        each.map(|(at, network)| {
            loaded(policy, network, &set).map(|loaded| Answers::new(&loaded, at == 0))
        })
        .collect()
    };
    let row = |row: &table::Row| {
        let base_set = [&table.base[..], &row.with].concat();
        let key = format!("{base_set:?}");
        let base = bases.entry(key).or_insert_with(|| given(&base_set)).clone();
        let mut set = base_set;
        set.push(match row.value.strip_prefix("whole ") {
            Some(whole) => (table.at.clone(), whole.to_owned()),
            None => (table.path(&row.key), row.value.clone()),
        });
        let changed = given(&set);
        let name = [table.scheme.as_str(), row.key.as_str()];
        Accounted {
            scheme: table.scheme.clone(),
            key: row.key.clone(),
            by: compared(name, &base, &changed, is_policy),
        }
    };
    table.rows.iter().map(row).collect()
}

/// What the engines say of one network.
#[derive(Debug, Clone)]
struct Answers {
    simulated: Option<Answer>,
    predicted: Answer,
    rehearsed: Answer,
    deployed: Answer,
    /// The bound roles and the links as they were read.
    plan: String,
}

impl Answers {
    fn new(loaded: &Loaded, is_simulated: bool) -> Answers {
        let scenario = &loaded.points()[0].scenario;
        let policy = scenario.policy.as_ref().expect("a policy is bound");
        Answers {
            simulated: is_simulated.then(|| answers::simulated(loaded)),
            predicted: answers::predicted(loaded),
            rehearsed: answers::rehearsed(loaded),
            deployed: answers::deployed(policy),
            plan: format!("{:?} {:?}", policy.roles, scenario.links),
        }
    }
}

fn compared(
    name: [&str; 2],
    base: &[Result<Answers, String>],
    changed: &[Result<Answers, String>],
    is_policy: bool,
) -> [Result<Use, String>; 4] {
    let both: Result<Vec<(&Answers, &Answers)>, String> = base
        .iter()
        .zip(changed)
        .map(|(base, changed)| match (base, changed) {
            (Ok(base), Ok(changed)) => Ok((base, changed)),
            (Err(why), _) => Err(format!("the base is wrong: {why}")),
            (_, Err(why)) => Err(format!("the value is wrong: {why}")),
        })
        .collect();
    let both = match both {
        Ok(both) => both,
        Err(why) => return [(); 4].map(|()| Err(why.clone())),
    };
    let pairs = |of: &dyn Fn(&Answers) -> Answer| -> Vec<(Answer, Answer)> {
        both.iter().map(|(base, changed)| (of(base), of(changed))).collect()
    };
    let (first, then) = both[0];
    let simulated = [(first.simulated.clone().unwrap(), then.simulated.clone().unwrap())];
    let simulated = judged(0, name, &simulated);
    let predicted = judged(1, name, &pairs(&|answers| answers.predicted.clone()));
    let rehearsed = rehearsed(name, &both, &simulated);
    let deployed = match is_policy {
        true => judged(3, name, &pairs(&|answers| answers.deployed.clone())[..1]),
        false => Ok(Use::Foreign),
    };
    [simulated, predicted, rehearsed, deployed]
}

/// A rehearsal has the simulator's own routers and arrivals over the kernel's TCP.
fn rehearsed(
    name: [&str; 2],
    both: &[(&Answers, &Answers)],
    simulated: &Result<Use, String>,
) -> Result<Use, String> {
    let (base, changed) = both[0];
    let pair = [(base.rehearsed.clone(), changed.rehearsed.clone())];
    let of_tcp = judged(2, name, &pair);
    let is_refused = matches!(pair[0].1, Answer::Refused(_));
    if name[0] == "tcp" || is_refused || declared(2, name[0], name[1]).is_some() {
        return of_tcp;
    }
    match simulated {
        Ok(Use::NoEffect(_)) if base.plan != changed.plan => Ok(Use::Used),
        Ok(Use::NoEffect(_)) | Err(_) => of_tcp,
        other => other.clone(),
    }
}

/// Every key has an effect on each engine, is refused by it, or is declared without effect.
#[test]
fn every_engine_accounts_for_every_key() {
    let pending = text("predict-pending.txt");
    let is_pending = |engine: &str, scheme: &str, key: &str| {
        engine == "predict" && pending.lines().any(|line| line == format!("[{scheme}] {key}"))
    };
    let mut wrong = String::new();
    for Accounted { scheme, key, by } in OF_POLICIES.iter().chain(&*OF_SCENARIOS) {
        for (engine, found) in ENGINES.into_iter().zip(by) {
            if let Err(why) = found
                && !is_pending(engine, scheme, key)
            {
                wrong += &format!("{engine} [{scheme}] {key}: {why}\n");
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong}");
}
