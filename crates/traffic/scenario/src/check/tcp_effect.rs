//! Warns of settings of TCP that other settings leave without effect.

use shortflow_tcp::{Algorithm, Config, Recovery};
use shortflow_text::Document;

use crate::file::TcpFile;

/// Warns of each setting of `file`, at `path`, that has no effect with the rest of `config`.
pub(super) fn check(document: &mut Document, path: &str, file: &TcpFile, config: &Config) {
    for (key, is_set, Condition { holds, needs, found }) in conditions(file, config) {
        if is_set && !holds {
            let message = format!("tcp.{key} has no effect with {found}");
            document.warning(&format!("{path}.{key}"), message, format!("it needs {needs}"));
        }
    }
}

/// What a setting needs to have an effect, and what is set instead.
struct Condition {
    holds: bool,
    needs: &'static str,
    found: String,
}

fn conditions(file: &TcpFile, config: &Config) -> [(&'static str, bool, Condition); 11] {
    let congestion = |needs, allowed: &[Algorithm]| Condition {
        holds: allowed.contains(&config.congestion),
        needs,
        found: format!("congestion = {:?}", config.congestion.name()),
    };
    let recovery = |needs, holds| Condition {
        holds,
        needs,
        found: format!("recovery = {:?}", config.recovery.name()),
    };
    let delayed = || Condition {
        holds: config.delayed_ack.is_some(),
        needs: "delayed_ack",
        found: "delayed_ack = false".to_owned(),
    };
    let is_rack = config.recovery == Recovery::Rack;
    let of_reno = [Algorithm::Reno, Algorithm::Dctcp];
    let with_reference = [Algorithm::ConstantRate, Algorithm::IncreaseByK];
    [
        ("hystart", file.hystart.is_some(), congestion("\"cubic\"", &[Algorithm::Cubic])),
        ("cubic", file.cubic.is_some(), congestion("\"cubic\"", &[Algorithm::Cubic])),
        (
            "byte_counting",
            file.byte_counting.is_some(),
            congestion("\"reno\" or \"dctcp\"", &of_reno),
        ),
        (
            "increase",
            file.increase.is_some(),
            congestion("\"increase-by-k\"", &[Algorithm::IncreaseByK]),
        ),
        (
            "reference_rtt",
            file.reference_rtt.is_some(),
            congestion("\"constant-rate\" or \"increase-by-k\"", &with_reference),
        ),
        ("tail_loss_probe", file.tail_loss_probe.is_some(), recovery("\"rack\"", is_rack)),
        (
            "duplicate_sack",
            file.duplicate_sack.is_some(),
            recovery("\"sack\" or \"rack\"", config.recovery.has_sack()),
        ),
        (
            "limited_transmit",
            file.limited_transmit.is_some(),
            recovery("\"reno\", \"newreno\" or \"sack\"", !is_rack),
        ),
        (
            "ecn_capable",
            file.ecn_capable.is_some(),
            Condition { holds: config.ecn, needs: "ecn = true", found: "ecn = false".to_owned() },
        ),
        ("adaptive_ack", file.adaptive_ack.is_some(), delayed()),
        ("quick_acks", file.quick_acks.is_some(), delayed()),
    ]
}
