//! What is read, and what is refused with its place.

use shortflow_plans::{Direction, Plans};
use shortflow_text::Diagnostics;

use crate::support::{COLUMNS, SITES, load, with};

fn rendered(found: &Diagnostics) -> String {
    found.render(false)
}

/// The mistakes that these customers make, as a terminal shows them.
fn refused(customers: &str) -> String {
    rendered(&with(customers).expect_err("it is a mistake"))
}

#[test]
fn customers_of_the_table_and_of_the_file_have_their_plans_and_sites() {
    let inline = "
[[customer]]
name = \"Bakery\"
addresses = [\"192.0.2.64/28\"]
down = \"50 Mbit/s\"
up = \"10 Mbit/s\"
at_least = { down = \"20 Mbit/s\", up = \"5 Mbit/s\" }
site = \"tower\"
";
    let table = "name,addresses,down,up,site\n\"Smith, J\",\"192.0.2.1, 2001:db8:1::/56\",25 Mbit/s,5 Mbit/s,sector\n";
    let plans = load(&format!("{SITES}{inline}"), table).unwrap_or_else(|found| panic!("{found}"));
    assert_eq!(plans.name, "Village");
    let [bakery, smith] = &plans.customers[..] else { panic!("{:?}", plans.customers) };
    assert_eq!((bakery.name.as_str(), smith.name.as_str()), ("Bakery", "Smith, J"));
    let addresses: Vec<String> = smith.addresses.iter().map(ToString::to_string).collect();
    assert_eq!(addresses, ["192.0.2.1", "2001:db8:1::/56"]);
    let path: Vec<&str> =
        plans.path(smith.site).map(|site| plans.sites[site].name.as_str()).collect();
    assert_eq!(path, ["sector", "tower"]);
    assert_eq!(plans.floor(bakery, Direction::Up).bits_per_sec(), 5_000_000);
    assert_eq!(plans.floor(smith, Direction::Up), Plans::MIN_SHARE);
    assert!(plans.warnings.is_empty(), "{}", rendered(&plans.warnings));
    // By hand: 50 + 25 of 1000 Mbit/s, 75 of 400, 25 of 200.
    let loads = plans.describe_loads();
    let lines: Vec<&str> = loads.lines().collect();
    assert!(lines[0].contains("75 Mbit/s of 1 Gbit/s (0.07×)"), "{loads}");
    assert!(lines[1].contains("75 Mbit/s of 400 Mbit/s (0.19×)"), "{loads}");
    assert!(lines[2].contains("25 Mbit/s of 200 Mbit/s (0.12×)"), "{loads}");
}

#[test]
fn an_address_that_is_given_twice_is_refused_with_both_places() {
    let found = refused(
        "A,192.0.2.1,25 Mbit/s,5 Mbit/s,,,sector\nB,192.0.2.2 192.0.2.1,25 Mbit/s,5 Mbit/s,,,\n",
    );
    assert!(found.contains("address 192.0.2.1 is given twice"), "{found}");
    assert!(found.contains("customers.csv:3:3"), "{found}");
    assert!(found.contains("`A` in line 2 of customers.csv has it too"), "{found}");
}

#[test]
fn a_prefix_inside_that_of_another_customer_is_a_warning_and_one_inside_its_own_is_not() {
    let plans = with(
        "A,192.0.2.0/24 192.0.2.9,25 Mbit/s,5 Mbit/s,,,\nB,192.0.2.128/25,25 Mbit/s,5 Mbit/s,,,\n",
    );
    let found = rendered(&plans.unwrap_or_else(|found| panic!("{found}")).warnings);
    assert!(found.contains("192.0.2.128/25 of `B` is inside 192.0.2.0/24 of `A`"), "{found}");
    assert!(!found.contains("192.0.2.9"), "{found}");
}

#[test]
fn of_many_prefixes_inside_one_there_is_one_warning() {
    let row = |at: u32| format!("C{at},192.0.2.{at},25 Mbit/s,5 Mbit/s,,,\n");
    let rows = (1..=9).map(row).collect::<String>() + "All,0.0.0.0/0,25 Mbit/s,5 Mbit/s,,,\n";
    let plans = with(&rows).unwrap_or_else(|found| panic!("{found}"));
    let found = rendered(&plans.warnings);
    let what =
        "9 prefixes of other customers are inside 0.0.0.0/0 of `All`, such as 192.0.2.1 of `C1`";
    assert!(found.contains(what), "{found}");
    assert_eq!(found.matches("inside").count(), 1, "{found}");
}

#[test]
fn a_customer_in_the_file_may_have_its_addresses_as_in_a_table() {
    let customer = "[[customer]]\nname = \"D\"\naddresses = \"192.0.2.1, 2001:db8::/48\"\ndown = \"2 Mbit/s\"\nup = \"1 Mbit/s\"\n";
    let text = format!("{SITES}{customer}");
    let plans = load(&text, COLUMNS).unwrap_or_else(|found| panic!("{found}"));
    let addresses: Vec<String> =
        plans.customers[0].addresses.iter().map(ToString::to_string).collect();
    assert_eq!(addresses, ["192.0.2.1", "2001:db8::/48"]);
    let wrong = load(&text.replace("192.0.2.1,", "192.0.2,"), COLUMNS).unwrap_err().to_string();
    assert!(
        wrong.contains("invalid address `192.0.2`") && wrong.contains("plans.toml:"),
        "{wrong}"
    );
}

#[test]
fn fields_that_cannot_be_read_are_refused_at_their_places() {
    let found = refused(
        "A,192.0.2.1/24,25 Mbit/s,5 Mbit/s,,,\nB,192.0.2.7,fast,5 Mbit/s,,,\nC,,1 Mbit/s,1 Mbit/s,,,\n",
    );
    assert!(
        found.contains("customers.csv:2:3") && found.contains("write `192.0.2.0/24`"),
        "{found}"
    );
    assert!(
        found.contains("invalid rate `fast`") && found.contains("customers.csv:3:13"),
        "{found}"
    );
    assert!(
        found.contains("missing `addresses`") && found.contains("customers.csv:4:1"),
        "{found}"
    );
}

#[test]
fn unknown_sites_and_names_that_are_taken_are_refused() {
    let found =
        refused("A,192.0.2.1,25 Mbit/s,5 Mbit/s,,,sectro\nA,192.0.2.2,25 Mbit/s,5 Mbit/s,,,\n");
    assert!(found.contains("unknown site `sectro`"), "{found}");
    assert!(found.contains("did you mean `sector`?"), "{found}");
    assert!(found.contains("two customers are named `A`"), "{found}");
}

#[test]
fn sites_behind_themselves_and_unknown_parents_are_refused() {
    let looped = SITES.replace("[sites.tower]", "[sites.tower]\nparent = \"sector\"");
    let customers = "name,addresses,down,up\nA,192.0.2.1,25 Mbit/s,5 Mbit/s\n";
    let found = rendered(&load(&looped, customers).unwrap_err());
    assert!(found.contains("site `tower` is behind itself: tower → sector → tower"), "{found}");
    assert!(found.contains("plans.toml:9"), "{found}");
    let unknown = SITES.replace("parent = \"tower\"", "parent = \"tover\"");
    let found = rendered(&load(&unknown, customers).unwrap_err());
    assert!(
        found.contains("unknown site `tover`") && found.contains("did you mean `tower`?"),
        "{found}"
    );
}

#[test]
fn seven_nested_sites_are_one_too_many() {
    let nested = |depth: usize| {
        let site = |number: usize| {
            let parent = match number {
                1 => String::new(),
                _ => format!("parent = \"s{}\"\n", number - 1),
            };
            format!("[sites.s{number}]\n{parent}down = \"1 Gbit/s\"\nup = \"1 Gbit/s\"\n")
        };
        let sites: String = (1..=depth).map(site).collect();
        let line =
            "customers = \"customers.csv\"\n[line]\ndown = \"1 Gbit/s\"\nup = \"1 Gbit/s\"\n";
        load(&format!("{line}{sites}"), "name,addresses,down,up\nA,192.0.2.1,25 Mbit/s,5 Mbit/s\n")
    };
    assert!(nested(6).is_ok());
    let found = rendered(&nested(7).unwrap_err());
    assert!(found.contains("site `s7` is nested 7 deep; the maximum is 6"), "{found}");
}

#[test]
fn guarantees_above_a_plan_or_above_a_sites_rate_are_refused() {
    let found = refused("A,192.0.2.1,25 Mbit/s,5 Mbit/s,26 Mbit/s,,\n");
    assert!(found.contains("gets at least 26 Mbit/s down, above its plan of 25 Mbit/s"), "{found}");
    // 3 × 70 Mbit/s behind a sector of 200; the tower carries 400.
    let three: String = (1..=3)
        .map(|n| format!("C{n},192.0.2.{n},100 Mbit/s,5 Mbit/s,70 Mbit/s,,sector\n"))
        .collect();
    let found = refused(&three);
    assert!(
        found.contains("customers of site `sector` get at least 210 Mbit/s down together, above its rate of 200 Mbit/s"),
        "{found}"
    );
    assert!(!found.contains("site `tower`"), "{found}");
}

#[test]
fn a_plan_above_its_sites_rate_is_a_warning() {
    let plans = with("A,192.0.2.1,500 Mbit/s,5 Mbit/s,,,sector\n");
    let found = rendered(&plans.unwrap_or_else(|found| panic!("{found}")).warnings);
    assert!(
        found.contains("`A` cannot reach 500 Mbit/s down: site `sector` has 200 Mbit/s"),
        "{found}"
    );
}

#[test]
fn vlans_sessions_and_other_queues_are_refused_by_name() {
    let inline = "
[[customer]]
name = \"A\"
addresses = [\"192.0.2.1\"]
down = \"1 Mbit/s\"
up = \"1 Mbit/s\"
vlan = 7
";
    let customers = "name,addresses,down,up,vlan,circut\nB,192.0.2.2,1 Mbit/s,1 Mbit/s,7,1\n";
    let text = format!("queue = \"cake\"\n{SITES}{inline}");
    let found = rendered(&load(&text, customers).unwrap_err());
    assert!(found.contains("plans do not support `vlan`"), "{found}");
    assert!(found.contains("plans do not support the column `vlan`"), "{found}");
    assert!(found.contains("unknown column `circut`"), "{found}");
    assert!(found.contains("plans do not support the queue `cake`"), "{found}");
}

#[test]
fn of_ten_thousand_equal_mistakes_twenty_are_shown() {
    let all: String = (0..10_000)
        .map(|n| format!("C{n},10.0.{}.{},1 Mbit/s,1 Mbit/s,,,nowhere\n", n / 256, n % 256))
        .collect();
    let found = with(&all).unwrap_err();
    assert_eq!(found.0.len(), 20);
    assert!(rendered(&found).contains("9980 more are not shown"));
}
