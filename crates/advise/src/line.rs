//! Kinds of access lines, and what is assumed of them.

use shortflow_text::suggestion;

/// A kind of access line.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LineKind {
    /// Its name.
    pub name: &'static str,
    /// What it is.
    pub about: &'static str,
    /// One way between the modem and the provider, in milliseconds.
    pub delay_ms: u32,
    /// Bytes that the line adds to each IP packet.
    pub overhead: u32,
    /// How many packets its modem and the provider's end hold, which nobody can configure.
    pub buffer: u32,
    /// What part of the line's rate the gateway sends at, so that packets wait there and not in the modem: less where the
    /// line adds much to small packets, or its rate changes.
    pub share: f64,
}

/// All kinds.
pub const LINES: &[LineKind] = &[
    LineKind {
        name: "ethernet",
        about: "Ethernet to the provider",
        delay_ms: 2,
        overhead: 38,
        buffer: 1000,
        share: 0.95,
    },
    LineKind {
        name: "fibre",
        about: "a passive optical network",
        delay_ms: 3,
        overhead: 22,
        buffer: 1000,
        share: 0.95,
    },
    LineKind {
        name: "cable",
        about: "DOCSIS",
        delay_ms: 8,
        overhead: 18,
        buffer: 1000,
        share: 0.95,
    },
    LineKind { name: "dsl", about: "VDSL2", delay_ms: 8, overhead: 22, buffer: 1000, share: 0.92 },
    LineKind {
        name: "pppoe",
        about: "PPPoE over VDSL2",
        delay_ms: 8,
        overhead: 30,
        buffer: 1000,
        share: 0.92,
    },
    LineKind {
        name: "lte",
        about: "a mobile network",
        delay_ms: 25,
        overhead: 20,
        buffer: 2000,
        share: 0.85,
    },
    LineKind {
        name: "satellite",
        about: "a geostationary satellite",
        delay_ms: 280,
        overhead: 20,
        buffer: 2000,
        share: 0.92,
    },
];

impl LineKind {
    /// The kind of this name.
    ///
    /// # Errors
    /// That there is none, and in a further line which there are.
    pub fn parse(name: &str) -> Result<LineKind, String> {
        LINES.iter().find(|one| one.name == name).copied().ok_or_else(|| {
            let names: Vec<&str> = LINES.iter().map(|one| one.name).collect();
            format!("there is no link `{name}`\n{}", suggestion(name, "links", &names))
        })
    }
}
