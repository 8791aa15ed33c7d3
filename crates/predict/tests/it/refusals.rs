//! What is not predicted, and how that is said.

use shortflow_predict::Prediction;
use shortflow_run::Engine;
use shortflow_scenario::{Overrides, from_texts};

fn refused(texts: &[(&str, &str)]) -> String {
    let loaded = from_texts(texts, &Overrides::default()).unwrap_or_else(|told| panic!("{told}"));
    Prediction.check(&loaded.points()[0].scenario).unwrap_err().to_string()
}

const LINE: &str = r#"
    duration = "10 s"
    hosts = { a = {}, b = {} }
    links.line = { between = ["a", "b"], rate = "1 Mbit/s", delay = "5 ms" }
"#;

#[test]
fn sessions_have_no_closed_form() {
    let text = format!(
        "{LINE}\n[workloads.echo.telnet]\nclient = \"a\"\nserver = \"b\"\npacket = \"64 B\"\npause.constant = \"100 ms\"\n"
    );
    let told = refused(&[("line.toml", &text)]);
    assert_eq!(told, "no closed form for the `telnet` sessions of `echo`\nsimulate it");
}

#[test]
fn an_overloaded_line_is_named_with_its_load() {
    let text = format!(
        "{LINE}\n[workloads.packets.poisson]\nfrom = \"a\"\nto = \"b\"\nrate = \"150 /s\"\nsize.constant = \"1000 B\"\n"
    );
    let told = refused(&[("line.toml", &text)]);
    assert_eq!(
        told,
        "no closed form for this scenario: at a->b the load must be at least 0 and below 1; found 1.2\nsimulate it"
    );
}

#[test]
fn a_queue_without_a_closed_form_is_named_with_its_place() {
    let policy = "[roles.core.queue.fq-codel]\nlimit = \"100 pkt\"\n";
    let text = format!(
        "policy = \"p.toml\"\n{LINE}\n[[bind]]\nrole = \"core\"\nat = \"a\"\nto = \"b\"\n\
         [workloads.long.bulk]\nfrom = \"a\"\nto = \"b\"\n"
    );
    let told = refused(&[("line.toml", &text), ("p.toml", policy)]);
    assert_eq!(told, "no closed form for the queue of the role `core` at a->b\nsimulate it");
}
