//! What is said about schemes.

use std::path::Path;

use shortflow_policy::explain::{SchemeKind, list, page, schemes};
use shortflow_policy::from_text;

#[test]
fn the_example_of_every_scheme_is_a_policy_that_uses_it() {
    for scheme in schemes() {
        let policy = from_text("example.toml", scheme.example, &[])
            .unwrap_or_else(|mistakes| panic!("{}\n{mistakes}", scheme.name));
        assert!(policy.warnings.is_empty(), "{}\n{}", scheme.name, policy.warnings);
        let role = &policy.roles[0];
        let found = match scheme.kind {
            SchemeKind::Marker => role.classes[0].marker.as_ref().unwrap().scheme(),
            SchemeKind::Queue => role.queue.as_ref().unwrap().scheme(),
        };
        assert_eq!(found, scheme.name);
    }
}

#[test]
fn every_scheme_and_every_key_says_what_it_is() {
    for scheme in schemes() {
        assert!(scheme.description.ends_with('.') && scheme.source.len() > 5, "{}", scheme.name);
        assert!(!scheme.keys.is_empty(), "{}", scheme.name);
        for key in &scheme.keys {
            let name = format!("{}.{}", scheme.name, key.name);
            assert!(!key.description.is_empty() && key.kind != "a value", "{name}: {key:?}");
        }
    }
}

#[test]
fn red_is_explained_with_its_defaults_and_ranges() {
    let text = schemes().into_iter().find(|scheme| scheme.name == "red").unwrap().text();
    for part in [
        "red (queue)",
        "Source: Floyd & Jacobson 1993",
        "weight: a number, above 0, at most 1; default: 0.002",
        "mean_packet: a size, such as `\"64 KB\"`, above zero; default: \"500 B\"",
        "spacing: `\"uniform\"` or `\"wait\"` or `\"unclamped\"` or `\"geometric\"`; default: \"uniform\"",
        "max_probability = 0.1",
    ] {
        assert!(text.contains(part), "{part}\n{text}");
    }
}

#[test]
fn the_list_has_all_schemes() {
    let list = list();
    for scheme in schemes() {
        assert!(list.contains(&format!("\n  {} ", scheme.name)), "{}", scheme.name);
    }
}

/// `BLESS=1 cargo test -p shortflow-policy` rewrites the page.
#[test]
fn the_page_of_elements_is_what_the_schemes_say() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../docs/elements.md");
    if std::env::var_os("BLESS").is_some() {
        std::fs::write(&path, page()).unwrap();
    }
    let written = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(written == page(), "docs/elements.md is stale: BLESS=1 rewrites it");
}

#[test]
fn a_role_lists_the_limit_of_every_scheme_that_has_one() {
    let has_limit = |name: &str| name.rsplit('.').next() == Some("limit");
    let with_limit = schemes().into_iter().filter(|scheme| {
        scheme.kind == SchemeKind::Queue && scheme.keys.iter().any(|key| has_limit(&key.name))
    });
    let mut count = 0;
    for scheme in with_limit {
        let policy = from_text("example.toml", scheme.example, &[]).unwrap();
        let role = &policy.roles[0];
        let table = format!("roles.{}.queue.{}", role.name, scheme.name);
        let found = role.limits.iter().any(|limit| limit.key.starts_with(&table));
        assert!(found, "{}: {:?}", scheme.name, role.limits);
        count += 1;
    }
    assert!(count > 10, "{count} schemes have a limit");
}
