//! Repositories as entries of a directory, there and back.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use proptest::prelude::*;
use shortflow_agent::ldap::{self, Action, Entry, Rule};
use shortflow_agent::{Bundle, Fleet};
use shortflow_text::{Diagnostics, Source};

use crate::support::bundle;

const BASE: &str = "ou=shortflow,dc=example,dc=org";

fn read(text: &str) -> Result<Bundle, Diagnostics> {
    let entries = ldap::parse("repository.ldif", text)?;
    let source = Arc::new(Source { name: "repository.ldif".to_owned(), text: text.to_owned() });
    ldap::bundle(&source, &entries)
}

fn there_and_back(bundle: &Bundle) -> Bundle {
    read(&ldap::write(&ldap::entries(bundle, BASE))).unwrap()
}

#[test]
fn every_shipped_policy_comes_back_byte_for_byte() {
    let all = bundle("[machines]\n", &[("ünï, \"x\"=1.toml", " a \r\n\t")]);
    assert_eq!(there_and_back(&all), all);
}

proptest! {
    #[test]
    fn any_repository_comes_back_as_it_was(
        files in prop::collection::btree_map("[^/\\x00.][^/\\x00]{0,20}(/[a-z]{1,5})?", ".{0,300}", 1..5)
    ) {
        let files: BTreeMap<String, String> = files;
        let bundle = Bundle::new(files);
        prop_assert_eq!(there_and_back(&bundle), bundle);
    }

    #[test]
    fn any_rule_comes_back_as_it_was_by_the_policy_that_it_makes(rule in rules()) {
        let text = |rule: &Rule| policy_of(std::slice::from_ref(rule));
        let entry = rule.entry("cn=policies/a.toml,dc=b");
        let read = ldap::parse("a.ldif", &ldap::write(std::slice::from_ref(&entry))).unwrap();
        prop_assert_eq!(&read[0].attributes, &entry.attributes);
        let policy = text(&rule);
        let role = shortflow_policy::from_text("a.toml", &policy, &[]);
        let role = role.unwrap_or_else(|mistakes| panic!("{policy}\n{mistakes}"));
        let class = &role.role("edge").unwrap().classes[0];
        prop_assert_eq!(&class.name, &rule.name);
        prop_assert!(class.marker.is_some());
        prop_assert_eq!(class.police.is_some(), rule.action == Action::Drop || rule.peak.is_some());
    }
}

fn rules() -> impl Strategy<Value = Rule> {
    let peak = prop::option::of(Just(("8 Mbit/s".to_owned(), "1500 B".to_owned())));
    let address = || prop::option::of(prop::sample::select(vec!["10.0.0.0/8", "2001:db8::/32"]));
    let port = || prop::option::of(prop::sample::select(vec!["80", "1024-65535"]));
    let action = prop::sample::select(vec![Action::Mark, Action::Drop]);
    let names = ("[a-zA-Z \"\\\\,=äö]{0,8}[a-z]", any::<i64>(), action, peak);
    let filter = (
        prop::sample::select(vec!["tcp", "udp"]),
        prop::sample::select(vec![true, false]),
        port(),
        port(),
    );
    (names, filter, address()).prop_map(
        |((name, order, action, peak), (protocol, is_six, from, to), source)| {
            let text = |given: Option<&str>| given.map(str::to_owned);
            Rule {
                name: format!("r{name}"),
                order,
                protocol: Some(protocol.to_owned()),
                source: text(source),
                destination: is_six.then(|| source.unwrap_or("192.0.2.0/24").to_owned()),
                source_port: text(from),
                destination_port: text(to),
                mean_rate: "5 Mbit/s".to_owned(),
                depth: "200 KB".to_owned(),
                peak,
                action,
            }
        },
    )
}

/// The text of the policy that rules come to.
fn policy_of(rules: &[Rule]) -> String {
    let dn = format!("cn=policies/site.toml,{BASE}");
    let attribute = |name: &str, value: &str| (name.to_owned(), value.as_bytes().to_vec());
    let attributes =
        vec![attribute("objectClass", "shortflowPolicy"), attribute("cn", "policies/site.toml")];
    let policy = Entry::new(dn.clone(), attributes);
    let entries: Vec<Entry> =
        std::iter::once(policy).chain(rules.iter().map(|rule| rule.entry(&dn))).collect();
    read(&ldap::write(&entries)).unwrap().text("policies/site.toml").unwrap().to_owned()
}

#[test]
fn rules_make_the_classes_of_a_policy_in_their_order_with_wildcards_for_what_is_any() {
    let shop = Rule {
        name: "shop".to_owned(),
        order: 2,
        protocol: Some("tcp".to_owned()),
        source: Some("192.0.2.0/24".to_owned()),
        destination: None,
        source_port: Some("80".to_owned()),
        destination_port: None,
        mean_rate: "5 Mbit/s".to_owned(),
        depth: "200 KB".to_owned(),
        peak: Some(("8 Mbit/s".to_owned(), "1500 B".to_owned())),
        action: Action::Mark,
    };
    let rest = Rule {
        name: "mail".to_owned(),
        order: 1,
        source_port: None,
        destination_port: Some("25-26".to_owned()),
        source: None,
        peak: None,
        action: Action::Drop,
        ..shop.clone()
    };
    let entry = String::from_utf8(
        shop.entry("cn=p")
            .attributes
            .iter()
            .flat_map(|(name, value)| [name.as_bytes(), b"=", value, b"\n"].concat())
            .collect(),
    );
    assert!(entry.unwrap().contains("shortflowDestination=*\n"));
    assert_eq!(
        policy_of(&[shop, rest]),
        r#"name = "policies/site.toml"

[code_points]
yellow = "BE"

[[roles.edge.classes]]
name = "mail"
match = { protocol = "tcp", dst_port = "25-26" }
marker.token-bucket = { rate = "5 Mbit/s", depth = "200 KB" }
police = { yellow = "drop" }

[[roles.edge.classes]]
name = "shop"
match = { protocol = "tcp", src = "192.0.2.0/24", src_port = 80 }
marker.trtcm = { cir = "5 Mbit/s", cbs = "200 KB", pir = "8 Mbit/s", pbs = "1500 B" }
police.red = { remark = "BE" }
"#
    );
}

#[test]
fn every_mistake_in_entries_has_the_message_beside_it() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/bad/ldif");
    let mut differ = Vec::new();
    let mut seen = 0;
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_none_or(|end| end != "ldif") {
            continue;
        }
        seen += 1;
        let name = path.file_name().unwrap().to_str().unwrap();
        let text = std::fs::read_to_string(&path).unwrap();
        let read = read(&text).and_then(|bundle| Fleet::check(&bundle).map(|_| ()));
        let found = format!("{}\n", read.err().unwrap_or_else(|| panic!("{name} is not bad")));
        let golden = path.with_extension("txt");
        if std::env::var_os("BLESS").is_some() {
            std::fs::write(&golden, &found).unwrap();
        }
        let expected = std::fs::read_to_string(&golden).unwrap_or_default();
        if found != expected {
            differ.push(format!("{name}\nexpected:\n{expected}\nfound:\n{found}"));
        }
    }
    assert!(seen > 0 && differ.is_empty(), "{}\nBLESS=1 rewrites them", differ.join("\n"));
}

#[test]
fn more_entries_than_a_repository_has_are_refused_before_they_are_held_against_each_other() {
    let text = |count: usize| -> String {
        let entry =
            |number| format!("dn: cn={number}\nobjectClass: shortflowPolicy\ncn: {number}\n\n");
        (1..=count).map(entry).collect()
    };
    assert_eq!(ldap::read("a", text(5000)).unwrap().files().count(), 5000);
    let refused = ldap::read("a", text(5001)).unwrap_err().to_string();
    assert!(
        refused.contains("cn=5001: too many entries: this is entry 5001, and the maximum is 5000"),
        "{refused}"
    );
}
