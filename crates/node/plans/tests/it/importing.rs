//! Tables of other tools, as plans.

use shortflow_plans::import::{Imported, Tables, import};
use shortflow_plans::{Plans, Rates};
use shortflow_text::{Diagnostics, Source};

use crate::support::load;

/// A network of two sites, of which one is virtual, and an access point behind it.
const NETWORK: &str = r#"{
  "Site 1": {
    "downloadBandwidthMbps": 400, "uploadBandwidthMbps": 100.5, "type": "Site",
    "children": {
      "Region": {
        "virtual": true,
        "children": {
          "AP/1": { "downloadBandwidthMbps": 200, "uploadBandwidthMbps": 50, "colour": "red" }
        }
      }
    }
  }
}"#;

/// The columns of `ShapedDevices.csv`.
const COLUMNS: &str = "Circuit ID,Circuit Name,Device ID,Device Name,Parent Node,MAC,IPv4,IPv6,Download Min Mbps,\
    Upload Min Mbps,Download Max Mbps,Upload Max Mbps,Comment,sqm\n";

fn imported(
    devices: &str,
    network: Option<&str>,
    line: Option<Rates>,
) -> Result<Imported, Diagnostics> {
    let source = |name: &str, text: &str| Source { name: name.to_owned(), text: text.to_owned() };
    import(Tables {
        devices: source("devices.csv", devices),
        network: network.map(|text| source("network.json", text)),
        line,
    })
}

/// With the network, and what the result is when it is read.
fn both(rows: &str) -> (Imported, Plans) {
    let imported = imported(&format!("# a comment\n{COLUMNS}{rows}"), Some(NETWORK), None);
    let imported = imported.unwrap_or_else(|found| panic!("{found}"));
    let plans =
        load(&imported.plans, &imported.customers).unwrap_or_else(|found| panic!("{found}"));
    (imported, plans)
}

fn warnings(imported: &Imported) -> String {
    imported.warnings.render(false)
}

#[test]
fn devices_of_a_circuit_become_one_customer_with_all_their_addresses() {
    let (imported, plans) = both(
        "7,\"6 Drive, Town\",1,Router,AP/1,aa:bb,\"100.64.0.1, 100.64.0.14\",fd00:1::/56,1,0.5,105.5,18,note,\n\
         7,\"6 Drive, Town\",2,Phone,AP/1,,100.64.0.2,,1,0.5,105.5,18,,\n\
         8,,3,Other,Region,,100.64.0.3,,1,1,50,10,,\n",
    );
    let [town, other] = &plans.customers[..] else { panic!("{:?}", plans.customers) };
    assert_eq!((town.name.as_str(), other.name.as_str()), ("6 Drive, Town", "8"));
    let addresses: Vec<String> = town.addresses.iter().map(ToString::to_string).collect();
    assert_eq!(addresses, ["100.64.0.1", "100.64.0.14", "fd00:1::/56", "100.64.0.2"]);
    assert_eq!(town.plan.down.bits_per_sec(), 105_500_000);
    assert_eq!(town.at_least.unwrap().up.bits_per_sec(), 500_000);
    let site =
        |customer: &shortflow_plans::Customer| plans.sites[customer.site.unwrap()].name.clone();
    // Customers of a virtual site are behind the site in front of it.
    assert_eq!((site(town), site(other)), ("AP-1".to_owned(), "Site-1".to_owned()));
    let access_point = plans.sites.iter().find(|site| site.name == "AP-1").unwrap();
    assert_eq!(plans.sites[access_point.parent.unwrap()].name, "Site-1");
    assert_eq!(plans.line.up.bits_per_sec(), 100_500_000);
    let warned = warnings(&imported);
    for what in ["virtual site `Region`", "`colour` of site `AP/1`", "sum of its sites"] {
        assert!(warned.contains(what), "{what}: {warned}");
    }
}

#[test]
fn what_is_not_taken_over_is_named() {
    let (imported, plans) = both(
        "1,A,1,,Nowhere,,100.64.0.1/24,,1,1,50,10,,cake\n2,B,2,,,,100.64.1.1,,1,1,50,10,,\n\
         2,B,3,,,,100.64.1.2,,1,1,60,10,,\n3,C,4,,,,100.64.1.1,,60,1,50,10,,\n4,D,5,,,,,,1,1,50,10,,\n\
         3,C,6,,,,100.64.1.3,,60,1,50,10,,\n",
    );
    let warned = warnings(&imported);
    for what in [
        "unknown site `Nowhere` of `A`",
        "`100.64.0.1/24` of `A` becomes 100.64.0.0/24",
        "the queue `cake` of `A`",
        "this device of `B` has another plan or site",
        "address 100.64.1.1 of `C` is given twice",
        "guaranteed rate of `C` is above its plan",
        "`D` has no address",
    ] {
        assert!(warned.contains(what), "{what}: {warned}");
    }
    assert_eq!(plans.customers.len(), 3);
    assert_eq!(plans.customers[2].at_least.unwrap().down.bits_per_sec(), 50_000_000);
}

#[test]
fn guaranteed_rates_that_a_site_cannot_carry_are_left_out_with_a_warning() {
    let row = |n: usize| format!("{n},C{n},{n},,AP/1,,100.64.0.{n},,60,1,100,10,,\n");
    let rows: String = (1..=4).map(row).collect();
    let (imported, plans) = both(&(rows + "9,Z,9,,Site 1,,100.64.9.1,,5,1,100,10,,\n"));
    // 4 × 60 Mbit/s do not fit into 200; with the other 5 they fit into 400.
    assert!(
        warnings(&imported).contains("rates of 4 customers of `AP/1` are above its rate together")
    );
    let guaranteed: Vec<bool> = plans.customers.iter().map(|one| one.at_least.is_some()).collect();
    assert_eq!(guaranteed, [false, false, false, false, true]);
}

#[test]
fn a_plain_table_needs_units_or_columns_that_name_them() {
    let line = Some(Rates { down: "1 Gbit/s".parse().unwrap(), up: "1 Gbit/s".parse().unwrap() });
    let table = "Customer,IP,Download,Upload (Mbps),Balance\nA,192.0.2.1,25 Mbit/s,5,12.50\n";
    let found = imported(table, None, line).unwrap_or_else(|found| panic!("{found}"));
    assert_eq!(
        found.customers,
        "name,addresses,down,up,at_least_down,at_least_up,site\nA,192.0.2.1,25 Mbit/s,5 Mbit/s,,,\n"
    );
    assert!(warnings(&found).contains("column `Balance` is not taken over"));
    let refused =
        imported(&table.replace("25 Mbit/s", "25"), None, line).unwrap_err().render(false);
    assert!(
        refused.contains("invalid rate `25`") && refused.contains("devices.csv:2:13"),
        "{refused}"
    );
    let refused = imported(table, None, None).unwrap_err().render(false);
    assert!(refused.contains("--line-down"), "{refused}");
}

#[test]
fn tables_that_are_something_else_are_refused_with_the_columns_that_are_missing() {
    let refused = imported("time,value\n1,2\n", None, None).unwrap_err().render(false);
    for what in ["no column of addresses", "no column of rates down", "no column of names"] {
        assert!(refused.contains(what), "{refused}");
    }
    let broken = NETWORK.replace("\"type\": \"Site\",", "\"type\": \"Site\"");
    let refused = imported(COLUMNS, Some(&broken), None).unwrap_err().render(false);
    assert!(refused.contains("invalid JSON") && refused.contains("network.json:4"), "{refused}");
}
