//! Parameters of the policy with other values at some ports.

use shortflow_policy::QueuePlan;
use shortflow_scenario::{Loaded, Overrides, from_texts};

const POLICY: &str =
    "parameters.limit = \"200 pkt\"\n[roles.core]\nqueue.fifo = { limit = \"$limit\" }\n";

/// A line between two routers, with a queue at either end.
fn scenario(bindings: &str) -> String {
    format!(
        "policy = \"p.toml\"\nduration = \"1 s\"\nhosts = {{ a = {{}}, b = {{}} }}\nrouters = {{ r = {{}}, s = {{}} }}\n\
         links.a = {{ between = [\"a\", \"r\"], rate = \"1 Gbit/s\", delay = \"1 ms\" }}\n\
         links.line = {{ between = [\"r\", \"s\"], rate = {{ forward = \"2 Mbit/s\", back = \"100 Mbit/s\" }}, delay = \"8 ms\" }}\n\
         links.b = {{ between = [\"s\", \"b\"], rate = \"1 Gbit/s\", delay = \"1 ms\" }}\n\
         workloads.up.bulk = {{ from = \"a\", to = \"b\" }}\n{bindings}"
    )
}

/// That line with the policy, and with these keys set.
fn line(bindings: &str, set: &[(&str, &str)]) -> Result<Loaded, String> {
    let text = scenario(bindings);
    let set = set.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect();
    let overrides = Overrides { set, ..Overrides::default() };
    from_texts(&[("line.toml", &text), ("p.toml", POLICY)], &overrides).map_err(|e| e.to_string())
}

/// The limit of the queue at each bound port.
fn limits(loaded: &Loaded) -> Vec<String> {
    let scenario = &loaded.points()[0].scenario;
    let policy = scenario.policy.as_ref().unwrap();
    let limit = |role: &str| match policy.role(role).unwrap().queue.as_ref().unwrap() {
        QueuePlan::Fifo(fifo) => fifo.limit().to_string(),
        other => panic!("{other:?}"),
    };
    scenario.bindings.iter().map(|binding| limit(&binding.role)).collect()
}

const BOTH: &str = "bind = [\n\
    { role = \"core\", at = \"r\", to = \"s\", parameters = { limit = \"30 pkt\" } },\n\
    { role = \"core\", at = \"s\", to = \"r\" },\n]\n";

#[test]
fn a_binding_with_parameters_has_them_at_its_ports_alone() {
    let loaded = line(BOTH, &[]).unwrap();
    assert_eq!(limits(&loaded), ["30 pkt", "200 pkt"]);
    assert_eq!(loaded.warnings.0.len(), 0, "{}", loaded.warnings);
    let roles = loaded.points()[0].scenario.bindings.iter().map(|binding| &*binding.role);
    assert!(roles.eq(["core (limit = 30 pkt)", "core"]));
}

#[test]
fn it_overrides_a_parameter_that_is_set_for_the_whole_policy() {
    let set = [("policy.parameters.limit", "90 pkt"), ("bind.1.parameters.limit", "40 pkt")];
    assert_eq!(limits(&line(BOTH, &set[..1]).unwrap()), ["30 pkt", "90 pkt"]);
    assert_eq!(limits(&line(BOTH, &set).unwrap()), ["30 pkt", "40 pkt"]);
}

#[test]
fn a_role_whose_bindings_all_have_parameters_counts_as_bound() {
    let bindings = BOTH.replace("to = \"r\" }", "to = \"r\", parameters.limit = \"50 pkt\" }");
    let loaded = line(&bindings, &[]).unwrap();
    assert_eq!(limits(&loaded), ["30 pkt", "50 pkt"]);
    assert_eq!(loaded.warnings.0.len(), 0, "{}", loaded.warnings);
}

#[test]
fn a_parameter_that_the_policy_lacks_and_an_invalid_value_are_refused() {
    let other = BOTH.replace("limit = \"30 pkt\"", "limits = \"30 pkt\"");
    let message = line(&other, &[]).unwrap_err();
    assert!(message.contains("limits") && message.contains("[[bind]]"), "{message}");
    let invalid = BOTH.replace("30 pkt", "30 ms");
    let message = line(&invalid, &[]).unwrap_err();
    assert!(message.contains("30 ms") && message.contains("[[bind]]"), "{message}");
}

#[test]
fn a_parameter_that_a_policy_of_the_command_line_lacks_is_dropped_with_a_warning() {
    let without =
        POLICY.replace("parameters.limit", "parameters.packets").replace("$limit", "$packets");
    let overrides = Overrides { policy: Some("other.toml".into()), ..Overrides::default() };
    let texts = [("line.toml", &*scenario(BOTH)), ("p.toml", POLICY), ("other.toml", &without)];
    let loaded = from_texts(&texts, &overrides).unwrap();
    assert_eq!(limits(&loaded), ["200 pkt", "200 pkt"]);
    let warnings = loaded.warnings.to_string();
    assert!(warnings.contains("\"other\" has no parameter `limit`"), "{warnings}");
    assert!(warnings.contains("line.toml:10:"), "{warnings}");
}
