//! What a policy says about itself.

use shortflow_packet::Dscp;
use shortflow_policy::from_text;
use shortflow_text::Override;

use crate::{place, policy};

#[test]
fn a_role_that_does_nothing_is_a_role() {
    let policy = policy("[roles.servers]");
    let servers = policy.role("servers").unwrap();
    assert!(!servers.conditions() && !servers.queues());
    assert!(servers.conditioner(place("a->b")).is_none() && servers.queue(place("a->b")).is_none());
    assert!(policy.role("clients").is_none());
    assert_eq!(policy.name, "test", "a policy without a name has that of its file");
}

#[test]
fn the_written_code_points_are_those_of_the_markers() {
    let colored = policy(
        "[[roles.a.classes]]\nname = \"x\"\nmarker.tsw2cm = { cir = \"1 Mbit/s\" }\n\
         [[roles.a.classes]]\nname = \"y\"\nmarker.fixed = { dscp = \"EF\" }\n",
    );
    let expected = [Dscp::AF11, Dscp::AF12, Dscp::AF13, Dscp::EF];
    assert_eq!(colored.written_code_points(), expected);
    assert!(policy("[roles.core.queue.fifo]\nlimit = \"9 pkt\"").written_code_points().is_empty());
}

#[test]
fn an_override_may_name_an_entry_of_a_list_by_its_name_or_its_index() {
    let text = "[[roles.a.classes]]\nname = \"web\"\nmarker.tsw2cm = { cir = \"1 Mbit/s\" }\n";
    for class in ["web", "0"] {
        let change = Override {
            key: format!("roles.a.classes.{class}.marker.tsw2cm.cir"),
            value: "0 Mbit/s".to_owned(),
            prefix: "policy.",
            origin: "--set".to_owned(),
            cell: None,
        };
        let mistakes = from_text("test.toml", text, &[change]).unwrap_err();
        let mistake = &mistakes.0[0];
        assert_eq!((mistake.file(), mistake.line()), ("--set", 1));
        assert_eq!(mistake.message, "cir must be above zero; found 0 bit/s");
    }
}

#[test]
fn a_mistake_knows_its_line_and_its_column_in_characters() {
    let mistakes = from_text("test.toml", "# é\nname = \"é\" \nrolls = 1\n", &[]).unwrap_err();
    assert_eq!((mistakes.0[0].line(), mistakes.0[0].column()), (3, 1));
    let mistakes = from_text("test.toml", "x = { é = 1 }", &[]).unwrap_err();
    assert!(mistakes.0[0].message.starts_with("invalid TOML"));
    assert_eq!((mistakes.0[0].line(), mistakes.0[0].column()), (1, 7));
}

#[test]
fn the_schema_names_every_scheme() {
    let schema = serde_text(shortflow_policy::schema());
    for scheme in ["fixed", "token-bucket", "srtcm", "trtcm", "tsw2cm", "tsw3cm", "fair-marker"] {
        assert!(schema.contains(&format!("\"{scheme}\"")), "{scheme}");
    }
    for scheme in ["two-buckets", "dstf", "srpt", "tcp-state", "admission"] {
        assert!(schema.contains(&format!("\"{scheme}\"")), "{scheme}");
    }
    for key in ["label", "sent_up_to", "remaining_up_to", "acks", "remark", "per", "host-pair"] {
        assert!(schema.contains(&format!("\"{key}\"")), "{key}");
    }
    for queue in ["fifo", "red", "multi-red", "strict-priority", "shared-priority", "stf", "wfq"] {
        assert!(schema.contains(&format!("\"{queue}\"")), "{queue}");
    }
    for queue in ["wrr", "drr", "source-scheduler", "fq-codel", "host-fair"] {
        assert!(schema.contains(&format!("\"{queue}\"")), "{queue}");
    }
}

fn serde_text(schema: schemars::Schema) -> String {
    schema.as_value().to_string()
}
