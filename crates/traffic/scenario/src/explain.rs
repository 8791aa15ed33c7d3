//! Descriptions of names in scenarios, for `shortflow explain`.

use shortflow_tcp::Algorithm;
use shortflow_units::{Framing, LinkLayer};

use crate::loss::GILBERT_ELLIOTT;

/// A name in scenarios, with its description.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Topic {
    /// The name.
    pub name: &'static str,
    /// Its kind: "congestion control".
    pub kind: &'static str,
    /// The description.
    pub description: String,
    /// The paper or RFC, if the description does not name it.
    pub source: &'static str,
    /// An example: part of a scenario that uses it.
    pub example: String,
}

impl Topic {
    /// All names: congestion controls, models of loss, rates over time, link layers.
    pub fn all() -> Vec<Topic> {
        let controls = Algorithm::ALL.iter().map(|algorithm| Topic {
            name: algorithm.name(),
            kind: "congestion control",
            description: format!("{}: {}.", algorithm.title(), algorithm.about()),
            source: "",
            example: format!("[tcp]\ncongestion = \"{}\"\n", algorithm.name()),
        });
        controls.chain([gilbert_elliott(), rate_over_time(), link_layer()]).collect()
    }

    /// The full description, for a terminal.
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
        description: "Loss in bursts. A link is in a good or a bad state. After each packet a good link turns bad \
                      with probability `to_bad`, and a bad link turns good with probability \
                      `to_good`. A bad link loses each packet with probability \
                      `loss_bad` (default: 1), a good link with probability `loss_good` (default: 0)."
            .to_owned(),
        source: "Gilbert 1960; Elliott 1963",
        example: "[links.radio]\nbetween = [\"client\", \"server\"]\nrate = \"10 Mbit/s\"\n\
                  delay = \"5 ms\"\nloss.gilbert-elliott = { to_bad = 0.01, to_good = 0.25 }\n"
            .to_owned(),
    }
}

fn rate_over_time() -> Topic {
    Topic {
        name: "rate_over_time",
        kind: "key of links, part",
        description: "The rate of a link over time, in both directions or in `forward` and `back`. `steps` lists new rates; \
                      while a rate is zero, packets wait. `trace` names a file instead: CSV with the columns `time_s` and \
                      `rate_mbps` (or `rate_kbps`, `rate_bps`), or a trace of mahimahi, in which each line is a millisecond \
                      at which 1504 bytes pass. `repeat` begins again after a time."
            .to_owned(),
        source: "Netravali et al. 2015 (mahimahi)",
        example: "[links.air]\nbetween = [\"mast\", \"phone\"]\nrate = \"20 Mbit/s\"\ndelay = \"15 ms\"\n\
                  rate_over_time.steps = [{ at = \"10 s\", rate = \"2 Mbit/s\" }, { at = \"15 s\", rate = \"20 Mbit/s\" }]\n"
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
            "The size of an IP packet on a link: `overhead` is added, and `mpu` is the minimum. Then `atm` cuts it into \
             cells of 53 bytes that carry 48, and `ptm` adds one byte per 64. A name stands for a set of these, and parts may \
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
        assert!(text("rate_over_time").contains("a trace of mahimahi"));
        let message = "\n  pppoe-llcsnap   40 B, ATM cells: ADSL, PPPoE, LLC/SNAP\n";
        assert!(text("link_layer").contains(message), "{}", text("link_layer"));
    }
}
