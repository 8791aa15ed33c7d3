//! Warnings about a machine on the console: those of `shortflow agent status`, one line each.

use serde_json::Value;

/// The warning about a device, if any.
pub(super) fn of_device(device: &Value) -> Option<String> {
    let changed = &device["changed"];
    if device["done"] != true && device["why"].is_string() {
        return first(&device["why"]).map(|why| format!("not deployed: {why}"));
    }
    if changed["again_and_again"] == true {
        let times = changed["times"].as_u64().unwrap_or_default();
        return Some(format!(
            "another process has changed the device {times} times, last at {}: does a second agent \
                run here?",
            changed["at"].as_str().unwrap_or("?")
        ));
    }
    (device["done"] != true).then(|| "not deployed yet".to_owned())
}

/// Warnings about the source of a machine, the most important first.
pub(super) fn of_source(status: &Value) -> Vec<String> {
    let source = &status["source"];
    let name = source["name"].as_str().unwrap_or("the source");
    let refused = source["refused"]
        .as_str()
        .map(|mistakes| format!("the current text of {name} is refused: {}", with_place(mistakes)));
    let worse = &status["waiting"]["worse"];
    let halted = worse["by"].as_str().map(|by| {
        let why = first(&worse["why"]).unwrap_or_default();
        format!("the source's current version is held back: {by} finds it worse: {why}")
    });
    let all = [
        first(&source["unreadable"]).map(|why| format!("cannot read {name}: {why}")),
        refused,
        first(&status["not_kept"]["why"]).map(|why| {
            format!("cannot store the source's current version, so it is not applied: {why}")
        }),
        (status["held_any"] == true).then(|| {
            "held.json, the list of rolled-back versions, is damaged: the agent takes no version \
                from the source"
                .to_owned()
        }),
        first(&status["worse"]).map(|why| {
            format!("the source's current version was found worse and is not applied again: {why}")
        }),
        halted,
    ];
    all.into_iter().flatten().collect()
}

fn first(text: &Value) -> Option<String> {
    text.as_str().map(|text| text.lines().next().unwrap_or_default().to_owned())
}

/// The first of some mistakes, and where it is.
fn with_place(mistakes: &str) -> String {
    let mut lines = mistakes.lines();
    let what = lines.next().unwrap_or_default();
    match lines.find_map(|line| line.trim_start().strip_prefix("--> ")) {
        Some(place) => format!("{what} ({place})"),
        None => what.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_device_is_as_it_is_to_be_only_where_nobody_else_changes_it_again_and_again() {
        let changed = |often: bool| json!({ "times": 12, "at": "2026-11-27T01:00:00Z", "again_and_again": often });
        assert_eq!(of_device(&json!({ "done": true, "changed": changed(false) })), None);
        assert_eq!(
            of_device(&json!({ "done": true, "changed": changed(true) })).as_deref(),
            Some(
                "another process has changed the device 12 times, last at 2026-11-27T01:00:00Z: \
                    does a second agent run here?"
            )
        );
        let failed = json!({ "done": false, "why": "there is no device\nmore", "changed": null });
        assert_eq!(of_device(&failed).as_deref(), Some("not deployed: there is no device"));
        assert_eq!(of_device(&json!({ "done": false })).as_deref(), Some("not deployed yet"));
    }

    #[test]
    fn each_reason_for_which_nothing_of_the_source_is_taken_is_told_in_a_line() {
        let status = json!({
            "source": {
                "name": "folder /srv/fleet",
                "unreadable": "it is gone",
                "refused": "error: no colon\n --> fleet.toml:4:10\n  |\n",
            },
            "not_kept": { "why": "No space left on device" },
            "held_any": true,
            "worse": "eth0: packets wait",
            "waiting": { "worse": { "by": "gw2", "why": "eth1: packets wait" } },
        });
        assert_eq!(
            of_source(&status),
            [
                "cannot read folder /srv/fleet: it is gone",
                "the current text of folder /srv/fleet is refused: error: no colon (fleet.toml:4:10)",
                "cannot store the source's current version, so it is not applied: No space left on device",
                "held.json, the list of rolled-back versions, is damaged: the agent takes no \
                    version from the source",
                "the source's current version was found worse and is not applied again: eth0: packets wait",
                "the source's current version is held back: gw2 finds it worse: eth1: packets wait",
            ]
        );
        let none = json!({ "source": { "name": "a", "unreadable": null, "refused": null } });
        assert!(of_source(&none).is_empty());
    }
}
