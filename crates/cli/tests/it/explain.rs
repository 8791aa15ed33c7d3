//! `explain`.

use crate::support::run;

#[test]
fn a_scheme_is_explained_and_a_misspelled_one_gets_a_suggestion() {
    let ended = run(&["explain", "fq-codel"]);
    assert_eq!((ended.code, ended.err.as_str()), (Some(0), ""));
    assert!(ended.out.contains("target: a duration"), "{}", ended.out);
    assert!(run(&["explain"]).out.contains("fair-marker"), "without a name all are listed");

    let ended = run(&["explain", "fair-markr"]);
    assert_eq!(ended.code, Some(2));
    assert!(ended.err.contains("unknown scheme `fair-markr`"), "{}", ended.err);
    assert!(ended.err.contains("did you mean `fair-marker`?"), "{}", ended.err);
}

#[test]
fn a_path_and_what_scenarios_name_are_explained_too() {
    for (name, message) in [
        ("queue.pie", "pie (queue)"),
        ("roles.core.queue.pie.target", "pie (queue)"),
        ("dctcp", "congestion control of a scenario"),
        ("tcp.congestion.cubic", "CUBIC"),
        ("gilbert-elliott", "loss.gilbert-elliott = "),
    ] {
        let ended = run(&["explain", name]);
        assert_eq!(ended.code, Some(0), "{name}: {}", ended.err);
        assert!(ended.out.contains(message), "{name}: {}", ended.out);
    }
    for (slip, meant) in [
        ("gilbert-eliott", "`gilbert-elliott`"),
        ("queue.pei", "`pie`"),
        ("dctpc", "`dctcp`"),
        ("fq-coddle", "`fq-codel`"),
    ] {
        let ended = run(&["explain", slip]);
        assert_eq!(ended.code, Some(2));
        assert!(ended.err.contains(&format!("did you mean {meant}?")), "{}", ended.err);
    }
}

#[test]
fn a_marker_and_a_queue_of_one_name_are_both_explained_unless_the_path_tells_which() {
    let parts = |name: &str| {
        let ended = run(&["explain", name]);
        assert_eq!(ended.code, Some(0), "{name}: {}", ended.err);
        [ended.out.contains("sima (marker)"), ended.out.contains("sima (queue)")]
    };
    assert_eq!(parts("sima"), [true, true]);
    assert_eq!(parts("queue.sima"), [false, true]);
    assert_eq!(parts("marker.sima.nbr"), [true, false]);
    let json = run(&["explain", "sima", "--json"]).out;
    let both: serde_json::Value = serde_json::from_str(&json).unwrap();
    assert_eq!(both.as_array().map(Vec::len), Some(2), "{both}");
}

#[test]
fn a_machine_can_read_it() {
    let ended = run(&["explain", "red", "--json"]);
    let red: serde_json::Value = serde_json::from_str(&ended.out).unwrap();
    assert_eq!((&red["kind"], &red["scheme"]), (&"queue".into(), &"red".into()));
    let keys = red["keys"].as_array().unwrap();
    let weight = keys.iter().find(|key| key["key"] == "weight").unwrap();
    assert_eq!(weight["default"], "0.002");
}
