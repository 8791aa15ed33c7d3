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
    assert!(ended.err.contains("there is no scheme `fair-markr`"), "{}", ended.err);
    assert!(ended.err.contains("did you mean `fair-marker`?"), "{}", ended.err);
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
