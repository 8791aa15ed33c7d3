//! Plans of customers: `check`, `plans import`, `plans predict` and `plans scenario`.

use std::path::Path;

use crate::support::run;

/// A line with a site, and a table of customers beside it.
pub(crate) const PLANS: &str = "\
name = \"Village\"
customers = \"customers.csv\"
[line]
down = \"100 Mbit/s\"
up = \"100 Mbit/s\"
[sites.tower]
down = \"40 Mbit/s\"
up = \"10 Mbit/s\"
";

const CUSTOMERS: &str = "\
name,addresses,down,up,site
A,192.0.2.1,25 Mbit/s,5 Mbit/s,tower
B,192.0.2.2 2001:db8:2::/48,50 Mbit/s,5 Mbit/s,tower
";

/// A folder with the plans, and their path.
fn village() -> (tempfile::TempDir, String) {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("plans.toml"), PLANS).unwrap();
    std::fs::write(folder.path().join("customers.csv"), CUSTOMERS).unwrap();
    let plans = folder.path().join("plans.toml").to_str().unwrap().to_owned();
    (folder, plans)
}

#[test]
fn plans_are_recognised_and_checked_with_the_oversubscription_of_each_site() {
    let (_folder, plans) = village();
    let ended = run(&["check", &plans]);
    assert_eq!(ended.code, Some(0), "{}", ended.err);
    let what = "ok — plans \"Village\": 2 customers with 3 addresses and prefixes, 1 site\n";
    assert!(ended.out.contains(what), "{}", ended.out);
    // 25 + 50 Mbit/s behind 40.
    assert!(ended.out.contains("down 75 Mbit/s of 40 Mbit/s (1.88×)"), "{}", ended.out);
    assert!(ended.err.contains("`B` cannot reach 50 Mbit/s down"), "{}", ended.err);
    let ended = run(&["check", "--json", &plans]);
    let found: serde_json::Value = serde_json::from_str(&ended.out).unwrap();
    let file = &found["files"][0];
    assert_eq!(file["kind"], "plans");
    assert_eq!(file["sites"][1]["site"], "tower");
    assert_eq!(file["sites"][1]["down"]["plans_bit_per_s"], 75_000_000);
    assert_eq!(file["sites"][1]["down"]["oversubscription"], 1.875);
    assert_eq!(file["warnings"][0]["line"], 3, "{file}");
}

#[test]
fn what_busy_customers_get_of_their_plans_is_predicted() {
    let (folder, plans) = village();
    let ended = run(&["plans", "predict", &plans, "--busy", "50%", "--busy", "1", "--json"]);
    assert_eq!(ended.code, Some(0), "{}", ended.err);
    let found: serde_json::Value = serde_json::from_str(&ended.out).unwrap();
    let of = |busy: f64, site: Option<&str>| {
        let all = found["expected"].as_array().unwrap();
        let one = all.iter().find(|one| one["busy"] == busy && one["site"].as_str() == site);
        one.unwrap()["down"]["mean"].as_f64().unwrap()
    };
    // Both of 25 and 50 Mbit/s have the same part of 40.
    assert!((of(1.0, Some("tower")) - 40.0 / 75.0).abs() < 1e-3, "{found:#}");
    // One of them gets 25 of 25, or 40 of 50.
    assert!((of(0.5, None) - 0.9).abs() < 0.02, "{found:#}");
    let ended = run(&["plans", "predict", &plans]);
    assert!(ended.out.contains("line    10 %"), "{}", ended.out);
    assert!(ended.err.contains("`B` cannot reach 50 Mbit/s down"), "{}", ended.err);
    let refused = run(&["plans", "predict", &plans, "--busy", "0"]);
    assert_eq!(refused.code, Some(2));
    assert!(refused.err.contains("write a part above 0 % and up to 100 %"), "{}", refused.err);
    let policy = folder.path().join("policy.toml");
    std::fs::write(&policy, "[roles.core]\nqueue.fifo = { limit = \"10 pkt\" }\n").unwrap();
    let refused = run(&["plans", "predict", policy.to_str().unwrap()]);
    assert_eq!(refused.code, Some(2));
    assert!(refused.err.contains("is a policy, not plans of customers"), "{}", refused.err);
}

#[test]
fn plans_are_no_scenario_and_as_a_policy_they_have_the_roles_down_and_up() {
    let (folder, plans) = village();
    let ended = run(&["simulate", &plans]);
    assert_eq!(ended.code, Some(2));
    assert!(ended.err.contains("is a file of plans, not a scenario"), "{}", ended.err);
    assert!(ended.err.contains("shortflow check"), "{}", ended.err);
    let small =
        std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/small.toml"));
    let scenario = folder.path().join("small.toml");
    let with_plans: String = small
        .unwrap()
        .lines()
        .map(|line| match line.starts_with("policy =") {
            true => "policy = \"plans.toml\"\n".to_owned(),
            false => format!("{line}\n"),
        })
        .collect();
    std::fs::write(&scenario, with_plans).unwrap();
    // Plans are a policy with two roles.
    for command in ["check", "simulate", "predict"] {
        let ended = run(&[command, scenario.to_str().unwrap()]);
        assert_eq!(ended.code, Some(2));
        assert!(ended.err.contains("small.toml:"), "{}", ended.err);
        assert!(ended.err.contains("plans.toml: `down`, `up`;"), "{}", ended.err);
    }
    // Their mistakes are shown where they are.
    std::fs::write(&plans, PLANS.replace("down = \"40", "down = \"0")).unwrap();
    let ended = run(&["check", scenario.to_str().unwrap()]);
    assert!(ended.err.contains("plans.toml:6:"), "{}", ended.err);
}

#[test]
fn tables_are_imported_into_a_folder_and_nothing_is_overwritten_unasked() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let devices = "Circuit ID,Circuit Name,Parent Node,IPv4,Download Max Mbps,Upload Max Mbps\n\
                   1,A,AP,192.0.2.1,25,5\n";
    std::fs::write(path("devices.csv"), devices).unwrap();
    let network = "{\"AP\": {\"downloadBandwidthMbps\": 40, \"uploadBandwidthMbps\": 10}}";
    std::fs::write(path("network.json"), network).unwrap();
    let into = path("plans");
    let (devices, network) = (path("devices.csv"), path("network.json"));
    let import = ["plans", "import", "--devices", &devices, "--network", &network, "--into", &into];
    let ended = run(&import);
    assert_eq!(ended.code, Some(0), "{}", ended.err);
    assert!(ended.err.contains("the line gets the sum of its sites"), "{}", ended.err);
    let checked = run(&["check", &path("plans/plans.toml")]);
    assert_eq!(checked.code, Some(0), "{}", checked.err);
    assert!(checked.out.contains("1 customer with 1 address or prefix, 1 site"), "{}", checked.out);
    let again = run(&import);
    assert_eq!(again.code, Some(2));
    assert!(again.err.contains("plans.toml already exists"), "{}", again.err);
    let forced = run(&[&import[..], &["--force"]].concat());
    assert_eq!(forced.code, Some(0), "{}", forced.err);
}

#[cfg(unix)]
#[test]
fn an_import_does_not_write_through_a_link() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    std::fs::write(path("devices.csv"), "name,ip,down,up\nA,192.0.2.1,25 Mbit/s,5 Mbit/s\n")
        .unwrap();
    std::fs::create_dir(path("plans")).unwrap();
    std::fs::write(path("precious"), "kept").unwrap();
    std::os::unix::fs::symlink(path("precious"), path("plans/customers.csv")).unwrap();
    let (devices, into) = (path("devices.csv"), path("plans"));
    let ended = run(&[
        "plans",
        "import",
        "--devices",
        &devices,
        "--into",
        &into,
        "--line-down",
        "1 Gbit/s",
        "--line-up",
        "1 Gbit/s",
        "--force",
    ]);
    assert_eq!(ended.code, Some(2));
    assert!(ended.err.contains("customers.csv is a symbolic link"), "{}", ended.err);
    assert_eq!(std::fs::read_to_string(path("precious")).unwrap(), "kept");
    assert!(!Path::new(&path("plans/plans.toml")).exists(), "nothing is written");
}

/// A command that ends well, and its JSON.
fn json(arguments: &[&str]) -> serde_json::Value {
    let ended = run(arguments);
    assert_eq!(ended.code, Some(0), "{}", ended.err);
    serde_json::from_str(&ended.out).unwrap()
}

#[test]
fn a_scenario_of_busy_customers_gives_them_what_is_predicted() {
    let (folder, plans) = village();
    let path = |name: &str| folder.path().join("evening").join(name).to_str().unwrap().to_owned();
    let into = folder.path().join("evening").to_str().unwrap().to_owned();
    let ended = run(&["plans", "scenario", &plans, "--busy", "100%", "--into", &into]);
    assert_eq!(ended.code, Some(0), "{}", ended.err);
    assert!(ended.out.contains("2 of 2 customers are busy"), "{}", ended.out);
    assert_eq!(run(&["check", &path("scenario.toml")]).code, Some(0));
    assert_eq!(run(&["check", &path("policy.toml"), &path("without-plans.toml")]).code, Some(0));
    let goodput = |policy: &str| {
        let (scenario, out) = (path("scenario.toml"), path("out"));
        let found = json(&[
            "simulate",
            &scenario,
            "--policy",
            policy,
            "--replicas",
            "1",
            "--json",
            "--out",
            &out,
            "--force",
        ]);
        let summary = &found["runs"][0]["points"][0]["summary"];
        let of = |name: &str| {
            let all = summary["workloads"].as_array().unwrap();
            let one = all.iter().find(|one| one["name"] == name);
            one.unwrap()["goodput"]["mean"].as_f64().unwrap() / 1e6
        };
        (of("downloads-at-tower"), of("uploads-at-tower"))
    };
    // Of 40 Mbit/s down, without headers, pages and calls; and 5 up for each customer.
    let (down, up) = goodput(&path("policy.toml"));
    assert!((34.0..39.0).contains(&down) && (8.5..9.8).contains(&up), "{down} {up}");
    // Plans are a policy themselves, and give the same bits.
    assert_eq!(goodput(&plans), (down, up));
    // Nothing is overwritten.
    let again = run(&["plans", "scenario", &plans, "--busy", "100%", "--into", &into]);
    assert_eq!(again.code, Some(2));
    assert!(again.err.contains("scenario.toml already exists"), "{}", again.err);
}

#[test]
fn a_scenario_has_a_usable_address_for_each_customer_whatever_its_prefixes() {
    let folder = tempfile::tempdir().unwrap();
    let table = "name,addresses,down,up,site\n\
                 all,0.0.0.0/0,25 Mbit/s,5 Mbit/s,\n\
                 all6,::/0,25 Mbit/s,5 Mbit/s,\n\
                 other,192.0.2.1,25 Mbit/s,5 Mbit/s,\n\
                 first,1.0.0.0/25,25 Mbit/s,5 Mbit/s,tower\n\
                 six,2001:db8:5::/64,25 Mbit/s,5 Mbit/s,tower\n\
                 odd,198.51.100.7,25 Mbit/s,5 Mbit/s,CUSTOMERS\n\
                 both,198.51.100.8,25 Mbit/s,5 Mbit/s,tower-ipv6\n\
                 seen,198.51.100.9,25 Mbit/s,5 Mbit/s,line\n";
    // Names that a writer of texts could mix up with its own.
    let rates = "down = \"40 Mbit/s\"\nup = \"10 Mbit/s\"\n";
    let sites = ["CUSTOMERS", "tower-ipv6", "line"].map(|name| format!("[sites.{name}]\n{rates}"));
    std::fs::write(folder.path().join("plans.toml"), PLANS.to_owned() + &sites.concat()).unwrap();
    std::fs::write(folder.path().join("customers.csv"), table).unwrap();
    let path = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let ended =
        run(&["plans", "scenario", &path("plans.toml"), "--busy", "1", "--into", &path("out")]);
    assert!(ended.out.contains("8 of 8 customers are busy"), "{}", ended.err);
    let ended = run(&["check", &path("out/scenario.toml")]);
    assert_eq!(ended.code, Some(0), "{}", ended.err);
    let text = std::fs::read_to_string(path("out/scenario.toml")).unwrap();
    let addresses = ["c1 = { address = \"1.0.0.128\" }", "c5 = { address = \"2001:db8:5::1\" }"];
    assert!(addresses.iter().all(|one| text.contains(one)), "{text}");
}

#[test]
fn a_scenario_of_too_many_customers_is_refused_with_the_part_that_is_possible() {
    let folder = tempfile::tempdir().unwrap();
    let rows =
        (0..1100).map(|n| format!("c{n},10.{}.{}.1,25 Mbit/s,5 Mbit/s,tower\n", n / 250, n % 250));
    let table: String =
        std::iter::once("name,addresses,down,up,site\n".to_owned()).chain(rows).collect();
    std::fs::write(folder.path().join("plans.toml"), PLANS).unwrap();
    std::fs::write(folder.path().join("customers.csv"), table).unwrap();
    let path = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let scenario = |part: &str| {
        run(&["plans", "scenario", &path("plans.toml"), "--busy", part, "--into", &path("out")])
    };
    let refused = scenario("99%");
    assert_eq!(refused.code, Some(2));
    assert!(refused.err.contains("at most 90.91% are possible"), "{}", refused.err);
    assert_eq!(scenario("90.9%").code, Some(0));
    assert_eq!(run(&["check", &path("out/scenario.toml")]).code, Some(0));
}
