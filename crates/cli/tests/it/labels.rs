//! Labels of connections by groups of processes, which end with a service and are made anew when it begins again.

use std::fs;
use std::path::PathBuf;

use serde_json::{Value, json};

use crate::deploy::{LABELLED, with_a_cable};
use crate::support::run;

/// A group of processes of the test's own, as that of a service.
struct Group(PathBuf);

impl Group {
    /// None, and a word on what is lacking, where there can be none; on CI there must.
    fn new() -> Option<Group> {
        let mounts = fs::read_to_string("/proc/self/mounts").unwrap();
        let mut mounts = mounts.lines().map(|line| line.split(' ').collect::<Vec<_>>());
        let root = mounts.find(|fields| fields.get(2) == Some(&"cgroup2")).map(|fields| fields[1]);
        let name = format!("shortflow-labels-{}.service", std::process::id());
        let made = root.ok_or("no cgroup2 is mounted".to_owned()).and_then(|root| {
            let group = Group(PathBuf::from(root).join(name));
            fs::create_dir(&group.0).map(|()| group).map_err(|error| error.to_string())
        });
        match made {
            Ok(group) => Some(group),
            Err(why) if std::env::var_os("CI").is_none() => {
                eprintln!("skipped: needs groups of processes: {why}");
                None
            }
            Err(why) => panic!("nothing may be skipped in CI: {why}"),
        }
    }

    fn name(&self) -> &str {
        self.0.file_name().and_then(|name| name.to_str()).expect("it is one of ours")
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        let _ = fs::remove_dir(&self.0);
    }
}

/// The exit code of `status`, and what it says to programs and to people.
fn status() -> (Option<i32>, Value, String) {
    let message = run(&["status", "--dev", "sf0", "--json"]);
    let json: Value = serde_json::from_str(&message.out).unwrap();
    (message.code, json["devices"][0].clone(), run(&["status", "--dev", "sf0"]).out)
}

#[test]
fn status_tells_of_a_group_that_is_gone_or_made_anew_and_reload_finds_the_new_one() {
    with_a_cable(|| {
        let Some(group) = Group::new() else { return };
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("thresholds.toml");
        fs::write(&file, LABELLED).unwrap();
        let shell = format!("shell=cgroup:{}", group.name());
        let with = |word| {
            let policy = file.to_str().unwrap();
            run(&[word, policy, "--dev", "sf0", "--label", &shell, "--label", "backup=mark:0x10"])
        };
        let ended = with("deploy");
        if ended.code == Some(3) && std::env::var_os("CI").is_none() {
            return eprintln!("skipped: needs eBPF: {}", ended.err);
        }
        assert_eq!(ended.code, Some(0), "{}", ended.err);
        let labels = |group_state: &str| {
            json!([
                { "label": "shell", "of": format!("cgroup:{}", group.name()), "group": group_state },
                { "label": "backup", "of": "mark:16", "group": null },
            ])
        };
        let is_well = || {
            let (code, json, text) = status();
            assert_eq!((code, &json["wrong"]), (Some(0), &json!([])), "{text}");
            assert_eq!(json["edge"]["labels"], labels("there"), "{json:#}");
            assert!(!text.contains("WRONG") && text.contains(" mark:16"), "{text}");
        };
        is_well();

        let command = format!(
            "shortflow reload POLICY --dev sf0 --role host --label {shell} --label backup=mark:0x10"
        );
        let is_wrong = |state: &str, message: &str| {
            let (code, json, text) = status();
            assert_eq!(code, Some(1), "{text}");
            assert_eq!(json["edge"]["labels"], labels(state), "{json:#}");
            assert_eq!(json["wrong"][0]["command"], command, "{json:#}");
            assert!(text.contains("WRONG: no connection has the label `shell`"), "{text}");
            assert!(text.contains(message) && text.contains(&command), "{text}");
        };
        fs::remove_dir(&group.0).unwrap();
        is_wrong("gone", "does not exist, for example because a service has stopped");
        let ended = with("reload");
        assert_eq!(ended.code, Some(2), "there is nothing to know its connections by");
        fs::create_dir(&group.0).unwrap();
        is_wrong("recreated", "was recreated, for example because a service restarted");
        let policy = file.to_str().unwrap();
        let verify = ["verify", policy, "--dev", "sf0", "--peer", "127.0.0.1", "--label", &shell];
        let ended = run(&[&verify[..], &["--label", "backup=mark:16"]].concat());
        assert_eq!(ended.code, Some(1), "{}", ended.err);
        assert!(ended.out.contains("WRONG: no connection has the label `shell`"), "{}", ended.out);

        let ended = with("reload");
        assert_eq!(ended.code, Some(0), "{}", ended.err);
        is_well();
    });
}
