//! What there is to say about names that stand in scenarios, for `shortflow explain`.

use shortflow_tcp::Algorithm;
use shortflow_units::{Framing, LinkLayer};

use crate::loss::GILBERT_ELLIOTT;

/// A name that stands in scenarios, and what it means.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Topic {
    /// What scenarios call it.
    pub name: &'static str,
    /// What it is: "congestion control".
    pub kind: &'static str,
    /// What it does.
    pub description: String,
    /// The paper or RFC that it comes from, where the description does not say so.
    pub source: &'static str,
    /// A part of a scenario that uses it.
    pub example: String,
}

impl Topic {
    /// All there are: congestion controls, then models of loss, then link layers.
    pub fn all() -> Vec<Topic> {
        let controls = Algorithm::ALL.iter().map(|algorithm| Topic {
            name: algorithm.name(),
            kind: "congestion control",
            description: format!("{}: {}.", algorithm.title(), algorithm.about()),
            source: "",
            example: format!("[tcp]\ncongestion = \"{}\"\n", algorithm.name()),
        });
        controls.chain([gilbert_elliott(), link_layer()]).collect()
    }

    /// As a text for a terminal.
    pub fn text(&self) -> String {
        let source = match self.source {
            "" => String::new(),
            source => format!("\nSource: {source}\n"),
        };
        format!(
            "{}: {} of a scenario\n\n{}\n{source}\nExample:\n{}",
            self.name,
            self.kind,
            self.description,
            self.example.lines().map(|line| format!("  {line}\n")).collect::<String>()
        )
    }
}

fn gilbert_elliott() -> Topic {
    Topic {
        name: GILBERT_ELLIOTT,
        kind: "model of loss",
        description: "Loss in bursts. A link is good or bad. After each packet a good link turns bad \
                      with the probability `to_bad`, and a bad link turns good with the probability \
                      `to_good`. While it is bad it loses each packet with the probability \
                      `loss_bad`, 1 by default; while it is good with `loss_good`, 0 by default."
            .to_owned(),
        source: "Gilbert 1960; Elliott 1963",
        example: "[links.radio]\nbetween = [\"client\", \"server\"]\nrate = \"10 Mbit/s\"\n\
                  delay = \"5 ms\"\nloss.gilbert-elliott = { to_bad = 0.01, to_good = 0.25 }\n"
            .to_owned(),
    }
}

fn link_layer() -> Topic {
    let names = LinkLayer::PRESETS.iter().map(|preset| {
        let layer = preset.layer;
        let mpu = match layer.mpu().0 {
            0 => String::new(),
            mpu => format!(", mpu {mpu}"),
        };
        let framing = match layer.framing() {
            Framing::Plain => "",
            Framing::Atm => ", ATM cells",
            Framing::Ptm => ", PTM",
        };
        let bytes = layer.overhead();
        format!("\n  {:<16}{bytes:>2} B{mpu}{framing}: {}", preset.name, preset.about)
    });
    Topic {
        name: "link_layer",
        kind: "key of links and shapers, option of `deploy`, part",
        description: format!(
            "What an IP packet takes on a link: `overhead` bytes more, `mpu` bytes at least; then `atm` cuts it into \
             cells of 53 bytes that carry 48, and `ptm` adds a byte to each 64. A name stands for them, and parts may \
             follow it, as in \"docsis overhead 22\". Names:{}",
            names.collect::<String>()
        ),
        source: "tc-cake(8), tc-stab(8); ITU-T I.361, I.363.5, G.993.2",
        example: "[links.line]\nbetween = [\"modem\", \"isp\"]\nrate = { forward = \"840 kbit/s\", back = \"8 Mbit/s\" }\n\
                  delay = \"8 ms\"\nlink_layer = \"pppoe-llcsnap\"       # or { overhead = \"40 B\", mpu = \"0 B\", framing = \"atm\" }\n"
            .to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_congestion_control_is_explained_with_an_example() {
        let text = |name| Topic::all().into_iter().find(|topic| topic.name == name).unwrap().text();
        assert!(text("dctcp").starts_with("dctcp: congestion control of a scenario\n\nDCTCP: "));
        assert!(text("dctcp").contains("RFC 8257"), "{}", text("dctcp"));
        assert!(text("cubic").ends_with("Example:\n  [tcp]\n  congestion = \"cubic\"\n"));
        assert!(text("gilbert-elliott").contains("to_good = 0.25"));
        let message = "\n  pppoe-llcsnap   40 B, ATM cells: ADSL, PPPoE, LLC/SNAP\n";
        assert!(text("link_layer").contains(message), "{}", text("link_layer"));
    }
}
