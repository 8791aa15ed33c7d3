//! Names of access lines, and the link layers that they usually have.

/// Names that users write instead of a link layer, and what they may mean.
const LINES: [(&[&str], &str); 8] = [
    (
        &["dsl", "xdsl"],
        "`bridged-ptm` (VDSL2), `pppoe-ptm` (VDSL2 with PPPoE) or `pppoe-llcsnap` (ADSL with PPPoE)",
    ),
    (&["vdsl", "vdsl2"], "`bridged-ptm`, or `pppoe-ptm` with PPPoE"),
    (
        &["adsl", "adsl2", "adsl2+"],
        "`pppoe-llcsnap`, or `conservative` if its encapsulation is unknown",
    ),
    (&["pppoe"], "`pppoe-ptm` (VDSL2) or `pppoe-llcsnap` (ADSL)"),
    (&["cable", "docsis3", "coax"], "`docsis`"),
    (
        &["fibre", "fiber", "ftth", "gpon", "pon"],
        "\"overhead 22 mpu 64\" (passive optical network), or `ethernet`",
    ),
    (&["mobile", "4g", "5g", "umts"], "`lte`"),
    (&["vlan"], "`ether-vlan`"),
];

/// The link layers that the name of an access line may mean.
pub(crate) fn link_layers_of(line: &str) -> Option<&'static str> {
    let line = line.to_ascii_lowercase();
    LINES.iter().find(|(names, _)| names.contains(&line.as_str())).map(|(_, meant)| *meant)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::LinkLayer;

    #[test]
    fn every_link_layer_that_is_meant_can_be_written() {
        for (names, meant) in LINES {
            for name in names {
                assert!(name.parse::<LinkLayer>().is_err(), "{name} is a link layer itself");
            }
            let quoted = meant.split(['`', '"']).skip(1).step_by(2);
            assert!(quoted.clone().count() > 0, "{meant}");
            for layer in quoted {
                assert!(layer.parse::<LinkLayer>().is_ok(), "{layer}");
            }
        }
        assert_eq!(link_layers_of("Cable"), Some("`docsis`"));
        assert_eq!(link_layers_of("token-ring"), None);
    }
}
