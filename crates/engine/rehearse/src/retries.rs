//! The number of a kernel's retries, where it can be set.

use std::path::Path;

use shortflow_tcp::{Config, Era};

/// One such number of a scenario's TCP.
pub(crate) struct Retries {
    /// Its name in a scenario.
    pub(crate) name: &'static str,
    /// The settings of the kernel that it stands for, below /proc/sys/net.
    files: &'static [&'static str],
    /// What the scenario says where it is not what the kernel does by itself; beyond what a kernel takes, nothing.
    wanted: Option<Option<u64>>,
}

/// All of them.
pub(crate) fn from_config(config: &Config) -> [Retries; 4] {
    let kernel = Era::LinuxToday.config();
    let taken = |value: Option<u32>, max| value.filter(|n| (1..=max).contains(n)).map(u64::from);
    let (linear, own) = (config.linear_syn_timeouts, kernel.linear_syn_timeouts);
    let longest = config.rto_max.nanos() / 1_000_000;
    [
        Retries {
            name: "syn_retries",
            files: &["ipv4/tcp_syn_retries", "ipv4/tcp_synack_retries"],
            // By itself a kernel sends a SYN-ACK again once less often than a SYN.
            wanted: Some(taken(config.syn_retries, 127)),
        },
        Retries {
            name: "data_retries",
            files: &["ipv4/tcp_retries2"],
            wanted: (config.data_retries != kernel.data_retries)
                .then_some(taken(config.data_retries, 255)),
        },
        Retries {
            name: "linear_syn_timeouts",
            files: &["ipv4/tcp_syn_linear_timeouts"],
            wanted: (linear != own).then_some((linear <= 127).then_some(u64::from(linear))),
        },
        Retries {
            name: "rto_max",
            files: &["ipv4/tcp_rto_max_ms"],
            wanted: (config.rto_max != kernel.rto_max)
                .then_some((1000..=120_000).contains(&longest).then_some(longest)),
        },
    ]
}

impl Retries {
    /// What is to be written where, in this machine's kernel: nothing where it does so by itself, or cannot.
    pub(crate) fn settings(&self) -> Vec<(&'static str, String)> {
        let Some(Some(value)) = self.wanted else { return Vec::new() };
        match self.is_known() {
            true => self.files.iter().map(|file| (*file, value.to_string())).collect(),
            false => Vec::new(),
        }
    }

    /// Whether the kernel ignores this setting.
    pub(crate) fn differs(&self) -> bool {
        match self.wanted {
            None => false,
            Some(None) => true,
            Some(Some(_)) => !self.is_known(),
        }
    }

    /// Whether this kernel has the settings: some are newer than others.
    fn is_known(&self) -> bool {
        self.files.iter().all(|file| Path::new("/proc/sys/net").join(file).exists())
    }
}
