//! A file format of one's own over this crate: read, overridden, and refused with the place of the mistake.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::Deserialize;
use shortflow_text::{Diagnostics, Document, Override, Scalar, Source, nearest, suggestion};

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Line {
    rate: String,
    #[serde(default)]
    users: u32,
    #[serde(default)]
    parameters: BTreeMap<String, Scalar>,
}

fn line(rate: &str, users: u32) -> (String, u32) {
    (rate.to_owned(), users)
}

fn document(text: &str, overrides: &[Override]) -> Result<Document, Diagnostics> {
    let source = Source { name: "line.toml".to_owned(), text: text.to_owned() };
    Document::parse(Arc::new(source), overrides)
}

fn read(text: &str, overrides: &[Override]) -> Result<(String, u32), String> {
    document(text, overrides)
        .and_then(|document| document.read::<Line>())
        .inspect(|line| assert!(line.parameters.len() <= 2, "parameters are a table of the text"))
        .map(|line| (line.rate, line.users))
        .map_err(|mistakes| mistakes.to_string())
}

fn set(key: &str, value: &str) -> Override {
    Override {
        key: key.to_owned(),
        value: value.to_owned(),
        prefix: "",
        origin: "--set".to_owned(),
        cell: None,
    }
}

#[test]
fn a_text_is_read_into_plain_types() {
    assert_eq!(read("rate = \"10 Mbit/s\"\nusers = 3\n", &[]), Ok(line("10 Mbit/s", 3)));
}

#[test]
fn parameters_and_expressions_are_filled_in() {
    let text =
        "rate = \"= 2 * speed Mbit/s\"\nusers = \"$people\"\n[parameters]\nspeed = 4\npeople = 7\n";
    assert_eq!(read(text, &[]), Ok(line("8 Mbit/s", 7)));
}

#[test]
fn an_override_replaces_a_value_and_may_name_a_parameter() {
    let text = "rate = \"$rate\"\n[parameters]\nrate = \"1 Mbit/s\"\n";
    let found = read(text, &[set("parameters.rate", "5 Mbit/s"), set("users", "9")]);
    assert_eq!(found, Ok(line("5 Mbit/s", 9)));
}

#[test]
fn a_mistake_has_its_file_line_and_column_and_a_suggestion() {
    let text = "rate = \"1 Mbit/s\"\nuser = 3\n";
    let mistakes = document(text, &[]).unwrap().read::<Line>().unwrap_err();
    let [mistake] = &mistakes.0[..] else { panic!("{mistakes}") };
    assert_eq!((mistake.file(), mistake.line(), mistake.column()), ("line.toml", 2, 1));
    let shown = mistakes.to_string();
    assert!(shown.contains("user") && shown.contains("users"), "{shown}");
}

#[test]
fn a_check_of_ones_own_points_at_its_key() {
    let mut document = document("rate = \"0 bit/s\"\n", &[]).unwrap();
    document.mistake("rate", "the rate must be above zero", "write 10 Mbit/s");
    assert!(!document.is_sound());
    let shown = document.checked().unwrap_err().to_string();
    for part in ["line.toml:1", "the rate must be above zero", "write 10 Mbit/s"] {
        assert!(shown.contains(part), "{shown}");
    }
}

#[test]
fn an_override_of_an_unknown_parameter_and_text_that_is_not_toml_are_refused() {
    let message = read("rate = \"1 Mbit/s\"\n", &[set("parameters.speed", "1")]).unwrap_err();
    assert!(message.contains("speed"), "{message}");
    let message = read("rate = \n", &[]).unwrap_err();
    assert!(message.contains("line.toml:1"), "{message}");
}

#[test]
fn the_nearest_name_is_suggested_and_a_far_one_is_not() {
    let names = ["drr", "fifo", "fq-codel"];
    assert_eq!(nearest("fq_codel", names), Some("fq-codel"));
    assert_eq!(nearest("zzzzzz", names), None);
    let help = suggestion("fifi", "queues", &names);
    assert!(help.contains("fifo"), "{help}");
}

#[test]
fn each_parameter_that_nothing_uses_has_a_warning_at_its_place() {
    let warned = |text: &str, overrides: &[Override]| {
        let found = document(text, overrides).unwrap().warnings().0;
        found.iter().map(|one| (one.line(), one.message.clone())).collect::<Vec<_>>()
    };
    let text = "rate = \"= 2 * speed Mbit/s\"\nusers = \"$people\"\n[parameters]\n\
                speed = \"= base / 2\"\npeople = 7\nbase = 8\nspare = 1\n";
    assert_eq!(warned(text, &[]), [(7, "no value uses the parameter `spare`".to_owned())]);
    // Only the value that uses it is replaced, which is no mistake in the text.
    let [rate, spare] = [set("rate", "1 Mbit/s"), set("parameters.spare", "2")];
    assert_eq!(warned(text, &[rate, spare]).len(), 1);
    assert_eq!(warned(text, &[set("rate", "= spare Mbit/s")]), []);
}
