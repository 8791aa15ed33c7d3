//! Kinds of access lines, and the assumptions about each.

use shortflow_units::{Framing, LinkLayer, Rate};

use crate::error::UnknownName;

/// A kind of access line.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LineKind {
    /// Its name.
    pub name: &'static str,
    /// What it is.
    pub about: &'static str,
    /// One way between the modem and the provider, in milliseconds.
    pub delay_ms: u32,
    /// What an IP packet takes on the line.
    pub link_layer: LinkLayer,
    /// The packets that its modem and the provider's end can queue; this is not configurable.
    pub buffer: u32,
    /// What part of the line's rate the gateway sends at, so that packets wait there and not in the modem: less where the
    /// rate of the line changes.
    pub share: f64,
}

/// All kinds.
pub const LINES: &[LineKind] = &[
    LineKind {
        name: "ethernet",
        about: "Ethernet to the provider",
        delay_ms: 2,
        link_layer: LinkLayer::new(38, 84, Framing::Plain),
        buffer: 1000,
        share: 0.95,
    },
    LineKind {
        name: "fibre",
        about: "a passive optical network",
        delay_ms: 3,
        link_layer: LinkLayer::new(22, 64, Framing::Plain),
        buffer: 1000,
        share: 0.95,
    },
    LineKind {
        name: "cable",
        about: "DOCSIS",
        delay_ms: 8,
        link_layer: LinkLayer::new(18, 64, Framing::Plain),
        buffer: 1000,
        share: 0.95,
    },
    LineKind {
        name: "dsl",
        about: "VDSL2",
        delay_ms: 8,
        link_layer: LinkLayer::new(22, 0, Framing::Ptm),
        buffer: 1000,
        share: 0.95,
    },
    LineKind {
        name: "adsl",
        about: "ADSL: PPPoE in ATM cells",
        delay_ms: 8,
        link_layer: LinkLayer::new(40, 0, Framing::Atm),
        buffer: 1000,
        share: 0.95,
    },
    LineKind {
        name: "vdsl",
        about: "VDSL2",
        delay_ms: 8,
        link_layer: LinkLayer::new(22, 0, Framing::Ptm),
        buffer: 1000,
        share: 0.95,
    },
    LineKind {
        name: "pppoe",
        about: "PPPoE over VDSL2",
        delay_ms: 8,
        link_layer: LinkLayer::new(30, 0, Framing::Ptm),
        buffer: 1000,
        share: 0.95,
    },
    LineKind {
        name: "lte",
        about: "a mobile network",
        delay_ms: 25,
        link_layer: LinkLayer::new(20, 0, Framing::Plain),
        buffer: 2000,
        share: 0.85,
    },
    LineKind {
        name: "satellite",
        about: "a geostationary satellite",
        delay_ms: 280,
        link_layer: LinkLayer::new(20, 0, Framing::Plain),
        buffer: 2000,
        share: 0.92,
    },
];

/// The most that ADSL carries from the provider and towards it: ADSL2+ with annex M (ITU-T G.992.5).
const ADSL: [Rate; 2] = [Rate::from_bits_per_sec(24_000_000), Rate::from_bits_per_sec(3_500_000)];

impl LineKind {
    /// The kind of this name.
    ///
    /// # Errors
    /// When no kind of line has the name.
    pub fn parse(name: &str) -> Result<LineKind, UnknownName> {
        LINES.iter().find(|one| one.name == name).copied().ok_or_else(|| {
            let names: Vec<&str> = LINES.iter().map(|one| one.name).collect();
            UnknownName::new("link", name, "links", &names)
        })
    }

    /// The same at these rates: a DSL line no faster than ADSL counts as ADSL, whose cells take more than any other line.
    #[must_use]
    pub fn at(self, up: Rate, down: Rate) -> LineKind {
        let [fastest_down, fastest_up] = ADSL;
        let adsl = LINES.iter().find(|one| one.name == "adsl");
        match adsl.filter(|_| self.name == "dsl" && down <= fastest_down && up <= fastest_up) {
            Some(adsl) => LineKind { name: self.name, ..*adsl },
            None => self,
        }
    }
}
