//! Formats the status of an agent.

use std::path::Path;

use serde_json::Value;
use shortflow_agent::command;

/// Whether the agent has no problem.
pub(crate) fn is_fine(status: &Value) -> bool {
    let mut devices = status["devices"].as_array().into_iter().flatten();
    let source = &status["source"];
    let is_well = |it: &Value| it["done"] == true && it["changed"]["again_and_again"] != true;
    let is_written = status["not_kept"].is_null() && status["not_written"].is_null();
    let is_read = source["unreadable"].is_null() && source["refused"].is_null();
    let is_taken = is_read && is_written && status["held_any"] != true;
    let is_usable = status["unusable"].as_array().is_none_or(Vec::is_empty);
    is_taken && is_usable && status["in_fleet"] != false && devices.all(is_well)
}

/// The status as lines of text, with commands that ask the agent at `socket`.
pub(crate) fn status_text(status: &Value, socket: &Path) -> String {
    let text = |value: &Value| value.as_str().unwrap_or("?").to_owned();
    let (machine, source) = (text(&status["machine"]), &status["source"]);
    let version = &status["version"];
    let mut out = match version["number"].as_u64() {
        Some(number) => format!(
            "{machine}: fleet {:?}, version {number} ({}), applied {} from {}, written by {}\n",
            text(&status["fleet"]),
            text(&version["digest"]),
            text(&version["at"]),
            text(&version["from"]),
            text(&version["who"]),
        ),
        None => format!("{machine}: no active version, source {}\n", text(&source["name"])),
    };
    out += &unusable_text(status, socket);
    if status["in_fleet"] == false {
        out += &format!(
            "  the fleet has no machine `{machine}`, so nothing is assigned; set the name where the agent is started: \
             shortflow agent run … --machine NAME\n"
        );
    }
    for device in status["devices"].as_array().into_iter().flatten() {
        let (name, wanted) = (text(&device["device"]), device["wanted"].as_str());
        let state = match (device["done"] == true, device["why"].as_str()) {
            (true, _) => "done".to_owned(),
            (false, Some(why)) => format!("failed: {why}"),
            (false, None) => "pending".to_owned(),
        };
        out += &match wanted {
            None if version.is_null() => {
                format!("  {name}: keeps its policy until the agent has a version\n")
            }
            None => format!("  {name}: no policy any more: {state}\n"),
            Some(wanted) => format!("  {name}: {wanted}: {state}\n"),
        };
        out += &changed_text(&name, &device["changed"]);
        for warning in device["warnings"].as_array().into_iter().flatten() {
            let (what, remedy) = (text(&warning["what"]), text(&warning["remedy"]));
            out += &format!("    warning: {what}; {remedy}\n");
        }
    }
    out += &trial_text(&status["trial"], socket);
    out += &not_taken_text(status, socket);
    out += &not_kept_text(&status["not_kept"]);
    let not_written = &status["not_written"];
    if let Some(why) = not_written["why"].as_str() {
        out += &format!(
            "  the result of the trial cannot be written, so the version on trial stays for now: {why}\n  the agent \
             tries again every 10 s; check the disk: df -h {}\n",
            text(&not_written["at"])
        );
    }
    if let Some(why) = source["unreadable"].as_str() {
        out += &format!("  cannot read {}: {why}\n", text(&source["name"]));
    }
    if let Some(mistakes) = source["refused"].as_str() {
        let has = if source["unreadable"].is_null() { "as it is now" } else { "as last read" };
        out += &format!(
            "  the repository in {} ({has}) is refused:\n{mistakes}\n",
            text(&source["name"])
        );
    }
    out
}

/// The stored versions of an agent without an active one: why it uses none of them, and what to type.
fn unusable_text(status: &Value, socket: &Path) -> String {
    let versions = status["unusable"].as_array().map_or(&[][..], Vec::as_slice);
    let line = |version: &Value| {
        let number = version["number"].as_u64().unwrap_or_default();
        let why = version["why"].as_str().unwrap_or("?");
        match version["state"].as_str() {
            Some("rolled back") => {
                let may = if status["held_any"] == true { "may have been" } else { "was" };
                let apply = command(&format!("rollback --to {number}"), socket);
                format!(
                    "  version {number} is sound, but {may} rolled back; to apply it: {apply}\n"
                )
            }
            Some("refused") => format!("  version {number} is refused by this program:\n{why}\n"),
            _ => format!("  version {number} is damaged: {why}\n"),
        }
    };
    let lines: String = versions.iter().map(line).collect();
    if lines.is_empty() {
        return lines;
    }
    let reload = command("reload", socket);
    format!("{lines}  the agent waits for a version from its source; to read it now: {reload}\n")
}

/// That another process changed a device, and what to check if that happens repeatedly.
fn changed_text(device: &str, changed: &Value) -> String {
    let Some(times) = changed["times"].as_u64() else { return String::new() };
    let at = changed["at"].as_str().unwrap_or("?");
    if changed["again_and_again"] == true {
        // No device has a parenthesis in its name.
        let which =
            if device.contains('(') { "--tcp".to_owned() } else { format!("--dev {device}") };
        return format!(
            "    another process changes it repeatedly, {times} times by {at}: is another agent running here?\n    \
             its current state: shortflow status {which}\n"
        );
    }
    let times = if times == 1 { "once".to_owned() } else { format!("{times} times") };
    format!(
        "    another process changed it {times}, or the device was removed and added, last at {at}; repaired\n"
    )
}

/// Why a valid version of the source is not applied, and the command that applies it. Of several reasons, only the
/// strongest is named.
fn not_taken_text(status: &Value, socket: &Path) -> String {
    let waiting = waiting_text(&status["waiting"]);
    let why = match (&status["worse"], &status["held"]) {
        (Value::String(why), _) => format!(
            "  the source's current version was found worse and is not applied again: {why}\n"
        ),
        _ if status["held_any"] == true => {
            "  held.json was damaged, so the rolled-back version is unknown: nothing is applied from the source\n"
                .to_owned()
        }
        (_, Value::String(digest)) => format!(
            "  the source's current version ({digest}) was rolled back and is not applied until the source changes\n"
        ),
        _ if waiting.is_empty() => return waiting,
        _ => waiting,
    };
    format!("{why}  to apply it anyway: {}\n", command("resume", socket))
}

/// What cannot be written to the disk, why, and what to look at.
fn not_kept_text(not_kept: &Value) -> String {
    let text = |key: &str| not_kept[key].as_str().unwrap_or("?").to_owned();
    if not_kept.is_null() {
        return String::new();
    }
    format!(
        "  the source's current version ({}) cannot be stored and is not applied: {}\n  the agent tries again every \
         10 s; check the disk: df -h {}\n",
        text("digest"),
        text("why"),
        text("at"),
    )
}

/// What a machine waits for that is not first.
fn waiting_text(waiting: &Value) -> String {
    let Some(until) = waiting["until"].as_str() else { return String::new() };
    let mut out = match waiting["is_due"] == true {
        false => {
            format!("  the source's current version waits until {until}: other machines go first\n")
        }
        true => format!(
            "  the source's current version has waited until {until}: other machines go first\n"
        ),
    };
    if let Some(needed) = waiting["needed"].as_u64() {
        let good = waiting["good"].as_array().into_iter().flatten().filter_map(Value::as_str);
        let good: Vec<&str> = good.collect();
        let listed = if good.is_empty() { "none".to_owned() } else { good.join(", ") };
        out += &format!("  {needed} of them must find it no worse; so far {listed}\n");
    }
    if let Some(by) = waiting["worse"]["by"].as_str() {
        let why = waiting["worse"]["why"].as_str().unwrap_or("?");
        out += &format!("  held back: {by} finds it worse: {why}\n");
    }
    out
}

/// The version on trial; and what to do if the trial is inconclusive.
fn trial_text(trial: &Value, socket: &Path) -> String {
    let Some(against) = trial["against"].as_u64() else { return String::new() };
    let mut out = format!(
        "  on trial against version {against}, which the agent restores if this one is worse\n"
    );
    if let Some(why) = trial["inconclusive"].as_str() {
        out += &format!("  no verdict yet: {why}; the agent measures again\n");
        if trial["others_wait"] == true {
            out += &format!(
                "  other machines wait; to release them: {}, or `verdicts = false` in fleet.toml\n",
                command("resume", socket)
            );
        }
    }
    out
}

/// What happens to the rolled-back version, by the answer of the agent at `socket`.
pub(crate) fn rolled_back_text(answer: &Value, socket: &Path) -> String {
    let (version, before) = (&answer["version"], &answer["before"]);
    let now = if version == before { "already" } else { "now" };
    let held = match (&answer["reading"], &answer["waiting"], &answer["held"]) {
        (Value::Bool(true), ..) => {
            "the agent is reading its source: a version newer than the one rolled back is applied\n"
                .to_owned()
        }
        (_, Value::String(_), _) => {
            "the source's current version is newer and waits for its turn\n".to_owned()
        }
        (.., Value::String(_)) => format!(
            "the source's current version is not applied until it changes, or by `{}`\n",
            command("resume", socket)
        ),
        _ => String::new(),
    };
    format!("version {version} is {now} active\n{held}")
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use shortflow_agent::DEFAULT_SOCKET;

    use super::*;

    /// The text for a user who names no socket.
    fn text_of(status: &Value) -> String {
        status_text(status, Path::new(DEFAULT_SOCKET))
    }

    /// An agent with nothing to complain of, but for this.
    fn with(key: &str, value: Value) -> Value {
        let mut status = json!({
            "machine": "gw1", "fleet": "Office",
            "in_fleet": true, "version": { "number": 2, "digest": "51ac27cbd00c", "at": "now", "from": "a test", "who": "alice" },
            "held": null, "held_any": false, "waiting": null, "trial": null, "worse": null, "not_kept": null, "not_written": null,
            "source": { "name": "a test", "unreadable": null, "refused": null }, "devices": [],
        });
        status[key] = value;
        status
    }

    #[test]
    fn a_version_that_cannot_be_told_to_be_worse_says_why_others_wait_and_what_to_do() {
        let mut trial =
            json!({ "against": 1, "window_s": 24.0, "inconclusive": null, "others_wait": true });
        assert!(!text_of(&with("trial", trial.clone())).contains("no verdict yet"));
        trial["inconclusive"] = json!("too little traffic: 3 packets before");
        let status = with("trial", trial);
        let message = text_of(&status);
        assert!(
            message.contains(
                "  no verdict yet: too little traffic: 3 packets before; the agent measures again\n"
            ),
            "{message}"
        );
        assert!(
            message.contains(
                "to release them: shortflow agent resume, or `verdicts = false` in fleet.toml\n"
            ),
            "{message}"
        );
        assert!(is_fine(&status), "nothing is wrong, and somebody has to decide");
    }

    #[test]
    fn a_machine_that_the_fleet_does_not_name_is_not_fine() {
        let status = with("in_fleet", json!(false));
        let message = text_of(&status);
        assert!(
            message.contains("  the fleet has no machine `gw1`, so nothing is assigned; "),
            "{message}"
        );
        assert!(!is_fine(&status) && is_fine(&with("in_fleet", Value::Null)));
    }

    #[test]
    fn what_was_found_and_cannot_be_written_is_told_with_where_to_look() {
        let status = with("not_written", json!({ "why": "no room", "at": "/state" }));
        let message = text_of(&status);
        assert!(
            message.contains("stays for now: no room\n") && message.ends_with("df -h /state\n"),
            "{message}"
        );
        assert!(!is_fine(&status));
    }

    #[test]
    fn who_goes_back_is_told_what_becomes_of_what_the_source_has() {
        let message = |before: u64, reading: bool, waiting: Value, held: Value| {
            let answer = json!({
                "version": 1, "before": before, "reading": reading, "waiting": waiting, "held": held,
            });
            rolled_back_text(&answer, Path::new(DEFAULT_SOCKET))
        };
        let (none, digest) = (Value::Null, json!("51ac27cbd00c"));
        assert_eq!(message(1, false, none.clone(), none.clone()), "version 1 is already active\n");
        let held = message(2, false, none.clone(), digest.clone());
        assert!(
            held.ends_with("is not applied until it changes, or by `shortflow agent resume`\n"),
            "{held}"
        );
        let waits = message(2, false, digest.clone(), digest.clone());
        assert!(waits.ends_with("is newer and waits for its turn\n"), "{waits}");
        assert_eq!(
            message(2, true, none, digest),
            "version 1 is now active\nthe agent is reading its source: a version newer than the one rolled back is \
             applied\n"
        );
    }

    #[test]
    fn what_was_gone_back_from_and_is_not_known_is_told_with_what_to_type() {
        let status = with("held_any", json!(true));
        let message = text_of(&status);
        assert!(message.ends_with("the rolled-back version is unknown: nothing is applied from the source\n  to apply it anyway: \
             shortflow agent resume\n"), "{message}");
        assert!(!is_fine(&status));
    }

    #[test]
    fn a_device_that_somebody_changes_again_and_again_is_told_with_how_often_and_what_to_look_at() {
        let device = |times: u64, again: bool| {
            let changed = json!({ "times": times, "at": "noon", "again_and_again": again });
            with(
                "devices",
                json!([{ "device": "eth0", "wanted": "\"DSTF\"", "done": true, "changed": changed }]),
            )
        };
        let (once, often) = (device(1, false), device(4, true));
        let message = text_of(&once);
        assert!(message.ends_with("another process changed it once, or the device was removed and added, last at noon; \
             repaired\n"), "{message}");
        let message = text_of(&often);
        assert!(message.ends_with("repeatedly, 4 times by noon: is another agent running here?\n    its current state: shortflow status --dev eth0\n"), "{message}");
        assert_eq!((is_fine(&once), is_fine(&often)), (true, false));
    }

    #[test]
    fn every_command_names_the_socket_that_the_user_named() {
        let socket = Path::new("/tmp/agent.sock");
        let trial = json!({ "against": 1, "inconclusive": "no traffic", "others_wait": true });
        let texts = [
            status_text(&with("held_any", json!(true)), socket),
            status_text(&with("trial", trial), socket),
            rolled_back_text(&json!({ "version": 1, "before": 2, "held": "51ac27cbd00c" }), socket),
        ];
        for text in texts {
            assert!(text.contains("shortflow agent resume --socket /tmp/agent.sock"), "{text}");
        }
    }

    #[test]
    fn an_agent_without_a_sound_version_names_each_and_what_to_type() {
        let mut status = with(
            "unusable",
            json!([
                { "number": 3, "state": "rolled back", "why": null },
                { "number": 2, "state": "damaged", "why": "/state/versions/000002/repository: the digest is a, expected b" },
            ]),
        );
        assert!(!is_fine(&status));
        status["version"] = Value::Null;
        status["devices"] =
            json!([{ "device": "eth0", "wanted": null, "done": false, "why": null }]);
        assert_eq!(
            text_of(&status),
            "gw1: no active version, source a test\n  \
             version 3 is sound, but was rolled back; to apply it: shortflow agent rollback --to 3\n  \
             version 2 is damaged: /state/versions/000002/repository: the digest is a, expected b\n  \
             the agent waits for a version from its source; to read it now: shortflow agent reload\n  \
             eth0: keeps its policy until the agent has a version\n"
        );
    }

    #[test]
    fn the_warnings_of_a_deployment_stand_below_its_device() {
        let warnings = json!([{ "what": "packets leave eth0 encapsulated in PPPoE", "remedy": "deploy on ppp0" }]);
        let device =
            json!({ "device": "eth0", "wanted": "\"DSTF\"", "done": true, "warnings": warnings });
        let status = with("devices", json!([device]));
        let message = text_of(&status);
        assert!(
            message.ends_with(
                "  eth0: \"DSTF\": done\n    warning: packets leave eth0 encapsulated in PPPoE; deploy on ppp0\n"
            ),
            "{message}"
        );
        assert!(is_fine(&status), "a warning is no fault");
    }

    #[test]
    fn a_source_that_cannot_be_read_is_no_good_state_whatever_version_counts() {
        let mut source =
            json!({ "name": "folder x", "unreadable": "permission denied", "refused": null });
        assert!(!is_fine(&with("source", source.clone())));
        source["refused"] = json!("error: no file");
        let message = text_of(&with("source", source));
        assert!(message.contains("  cannot read folder x: permission denied\n"), "{message}");
        assert!(
            message.contains("  the repository in folder x (as last read) is refused:\n"),
            "{message}"
        );
    }
}
