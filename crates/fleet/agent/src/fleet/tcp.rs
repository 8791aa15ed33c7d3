//! An interface that is this machine's own TCP: which connections share a profile, and how their windows grow.

use shortflow_deploy::{
    TcpFilter, TcpGrowth, TcpGrowthMistake, TcpGrowthRule, TcpSelection, matching, parse_network,
};
use shortflow_units::{Duration, Rate};

use super::file::{GrowthFile, TcpFile};
use super::remarks::Remarks;

/// The name under which its state is kept. No device has a parenthesis in its name.
pub(crate) const TCP: &str = "(tcp)";

/// The connections of a machine that share a profile in its TCP.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TcpPlace {
    /// Which they are.
    pub selection: TcpSelection,
    /// How their windows grow.
    pub growth: TcpGrowth,
    /// What limits their windows.
    pub window_rate: Option<Rate>,
}

impl TcpPlace {
    /// In words, after the name of a policy.
    pub(crate) fn summary(&self) -> String {
        let mut text = format!("connections {}", matching(&self.selection.filter));
        if let Some(cgroup) = &self.selection.cgroup {
            text += &format!(" of {}", cgroup.display());
        }
        match self.growth {
            TcpGrowth::Reno => {}
            TcpGrowth::AggregateFair => text += ", growth aggregate-fair",
            TcpGrowth::ConstantRate { reference } => {
                text += &format!(", growth constant-rate from {reference}");
            }
            TcpGrowth::IncreaseByK { segments, above } => {
                text += &format!(", growth by {segments} segments above {above}");
            }
        }
        if let Some(rate) = self.window_rate {
            text += &format!(", windows for {rate}");
        }
        text
    }
}

impl TcpFile {
    /// The connections; of what is wrong nothing.
    pub(super) fn place(&self) -> TcpPlace {
        let address = |text: &Option<String>| text.as_deref().and_then(parse_network);
        TcpPlace {
            selection: TcpSelection {
                filter: TcpFilter {
                    local: address(&self.local),
                    peer: address(&self.peer),
                    local_port: self.local_port,
                    peer_port: self.peer_port,
                },
                cgroup: self.cgroup.clone(),
            },
            growth: self.growth().unwrap_or(TcpGrowth::Reno),
            window_rate: self.window_rate,
        }
    }

    fn growth(&self) -> Result<TcpGrowth, TcpGrowthMistake> {
        let rule = match self.growth {
            GrowthFile::Reno => TcpGrowthRule::Reno,
            GrowthFile::AggregateFair => TcpGrowthRule::AggregateFair,
            GrowthFile::ConstantRate => TcpGrowthRule::ConstantRate,
            GrowthFile::IncreaseByK => TcpGrowthRule::IncreaseByK,
        };
        rule.with(self.reference_rtt, self.increase)
    }

    /// Notes its mistakes.
    pub(super) fn check(&self, path: &str, remarks: &mut Remarks<'_>) {
        for (key, text) in [("local", &self.local), ("peer", &self.peer)] {
            if let Some(text) = text.as_deref().filter(|text| parse_network(text).is_none()) {
                let what = format!("`{text}` is neither an address nor a network");
                let help = "write an address or a network, as in \"192.0.2.7\" or \"192.0.2.0/24\"";
                remarks.mistake(&format!("{path}.{key}"), what, help);
            }
        }
        let TcpFilter { local, peer, local_port, peer_port } = self.place().selection.filter;
        if let (Some((local, _)), Some((peer, _))) = (local, peer)
            && local.is_ipv4() != peer.is_ipv4()
        {
            let what = format!("no connection is from {local} to {peer}");
            let help = "give two addresses of IPv4, or two of IPv6";
            remarks.mistake(&format!("{path}.peer"), what, help);
        }
        for (key, port) in [("local_port", local_port), ("peer_port", peer_port)] {
            if port == Some(0) {
                let help = "give a port from 1 to 65535";
                remarks.mistake(&format!("{path}.{key}"), "no connection has the port 0", help);
            }
        }
        if let Some(cgroup) = self.cgroup.as_ref().filter(|path| !path.is_absolute()) {
            let what = format!("`{}` is not an absolute path", cgroup.display());
            let help = "give the folder of a cgroup, such as \"/sys/fs/cgroup/system.slice\"";
            remarks.mistake(&format!("{path}.cgroup"), what, help);
        }
        if let Err(mistake) = self.growth() {
            let help = match mistake {
                TcpGrowthMistake::Superfluous => "omit `reference_rtt` and `increase`",
                TcpGrowthMistake::ConstantRate => "set reference_rtt = \"200 ms\" alone",
                TcpGrowthMistake::IncreaseByK => "set reference_rtt = \"200 ms\" and increase = 4",
            };
            remarks.mistake_in_key(path, mistake.to_string(), help);
        }
        let is_zero = [
            ("reference_rtt", self.reference_rtt == Some(Duration::ZERO)),
            ("window_rate", self.window_rate == Some(Rate::ZERO)),
        ];
        for (key, _) in is_zero.into_iter().filter(|(_, is_zero)| *is_zero) {
            let help = "give a value above zero, or omit it";
            remarks.mistake(&format!("{path}.{key}"), format!("`{key}` is zero"), help);
        }
        if self.increase.is_some_and(|segments| !(1..=64).contains(&segments)) {
            let help = "give a number of segments from 1 to 64";
            remarks.mistake(&format!("{path}.increase"), "`increase` is out of range", help);
        }
    }
}
