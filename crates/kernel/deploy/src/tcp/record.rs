//! What is deployed in TCP, in a file that the machine forgets when it stops, as the kernel does.

use std::io;
use std::path::PathBuf;

use serde_json::{Value, json};
use shortflow_ebpf::profile::{TcpFilter, TcpHook, TcpParts};
use shortflow_files::{Dir, write};

use super::{TcpPlan, TcpSelection};
use crate::error::Error;
use crate::namespace::namespace_inode;
use crate::run_folder::{file_name, folders, own_folder};

/// The name of the file, after that of the network namespace.
const OF: &str = "tcp";
const KIND: &str = "profile";
/// The most bytes of it.
const MAX_BYTES: u64 = 64 << 10;

/// The cgroup at which the program of each hook is.
pub(super) type Cgroups = [Option<PathBuf>; TcpHook::ALL.len()];

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Record {
    pub(super) policy: String,
    /// The name of the congestion control.
    pub(super) control: String,
    /// What the profile says, in a line.
    pub(super) profile: String,
    /// How windows grow, in a line; empty where another version has deployed it.
    pub(super) windows: String,
    /// All that it says; none of what another version has deployed.
    settings: String,
    pub(super) filter: TcpFilter,
    /// The cgroup at which the program of each hook is, if any.
    pub(super) cgroups: Cgroups,
    /// Those at which it may still be, while the selection changes.
    pub(super) leaving: Cgroups,
    /// `None` until it is in the kernel.
    pub(super) parts: Option<TcpParts>,
    /// The inode of the network namespace.
    pub(super) namespace: u64,
}

impl Record {
    pub(super) fn new(
        policy: &str,
        control: &str,
        plan: &TcpPlan,
        selection: &TcpSelection,
    ) -> Record {
        Record {
            policy: policy.to_owned(),
            control: control.to_owned(),
            profile: plan.summary(),
            windows: plan.windows(),
            settings: plan.identity(),
            filter: selection.filter.clone(),
            cgroups: selection.cgroups(),
            leaving: Cgroups::default(),
            parts: None,
            namespace: namespace_inode().unwrap_or_default(),
        }
    }

    /// It now has this policy.
    pub(super) fn plays(&mut self, policy: &str, plan: &TcpPlan) {
        self.policy = policy.to_owned();
        self.profile = plan.summary();
        self.windows = plan.windows();
        self.settings = plan.identity();
    }

    /// It now has these connections. The result is where its programs were.
    pub(super) fn select(&mut self, selection: &TcpSelection) -> Cgroups {
        self.filter = selection.filter.clone();
        self.leaving = std::mem::replace(&mut self.cgroups, selection.cgroups());
        self.leaving.clone()
    }

    /// Whether it has these connections.
    pub(super) fn selects(&self, selection: &TcpSelection) -> bool {
        self.filter == selection.filter && self.cgroups == selection.cgroups()
    }

    /// Whether it has the same policy for the same connections.
    pub(super) fn does_the_same(&self, other: &Record) -> bool {
        self.policy == other.policy
            && self.settings == other.settings
            && self.filter == other.filter
            && self.cgroups == other.cgroups
    }

    pub(super) fn write(&self) -> Result<(), Error> {
        let failed = |source| Error::Machine { what: "what is deployed could not be kept", source };
        let folder = own_folder(&folders())?;
        let name = Record::file().map_err(failed)?;
        write(&folder, name, 0o600, self.json().to_string().as_bytes()).map_err(failed)
    }

    /// The one of this network namespace; none where nothing is kept, or this user may not read it.
    pub(super) fn read() -> Option<Record> {
        let name = Record::file().ok()?;
        let folders = folders().into_iter().filter_map(|path| Dir::open(&path).ok());
        folders.into_iter().find_map(|folder| Record::read_from(&folder, &name))
    }

    /// The one in this file; none where it holds none, or this user may not read it.
    pub(super) fn read_from(folder: &Dir, name: &str) -> Option<Record> {
        let text = folder.read_text(name, MAX_BYTES).ok()?;
        Record::parse(&serde_json::from_str(&text).ok()?)
    }

    /// The name of the file of this network namespace.
    pub(super) fn file() -> io::Result<String> {
        file_name(OF, KIND)
    }

    /// Whether a file of this name is a record of some network namespace.
    pub(super) fn is_file(name: &str) -> bool {
        name.ends_with(&format!("-{OF}.{KIND}"))
    }

    pub(super) fn remove() {
        let Ok(name) = Record::file() else { return };
        for folder in folders() {
            // One that stays names parts that the kernel no longer has.
            let _ = Dir::open(&folder).and_then(|folder| folder.remove_file(&name));
        }
    }

    fn json(&self) -> Value {
        let TcpFilter { local, peer, local_port, peer_port } = &self.filter;
        let paths = |paths: &Cgroups| {
            paths.each_ref().map(|path| path.as_ref().map(|path| json!(path.to_string_lossy())))
        };
        json!({
            "policy": self.policy, "control": self.control, "profile": self.profile, "windows": self.windows,
            "settings": self.settings,
            "local": local.map(|(address, length)| (address.to_string(), length)),
            "peer": peer.map(|(address, length)| (address.to_string(), length)),
            "local_port": local_port, "peer_port": peer_port,
            "cgroups": paths(&self.cgroups), "leaving": paths(&self.leaving),
            "maps": self.parts.map(|parts| parts.maps),
            "hooks": self.parts.map(|parts| parts.hooks),
            "namespace": self.namespace,
        })
    }

    fn parse(value: &Value) -> Option<Record> {
        let text = |key: &str| value[key].as_str().map(str::to_owned);
        let address = |key: &str| {
            let address = value[key][0].as_str()?.parse().ok()?;
            Some((address, u8::try_from(value[key][1].as_u64()?).ok()?))
        };
        let paths = |key: &str| [0, 1].map(|hook| value[key][hook].as_str().map(PathBuf::from));
        let port = |key: &str| u16::try_from(value[key].as_u64()?).ok();
        let number = |value: &Value| u32::try_from(value.as_u64()?).ok();
        let maps: Option<Vec<u32>> =
            value["maps"].as_array().and_then(|maps| maps.iter().map(number).collect());
        let maps = maps.and_then(|maps| maps.try_into().ok());
        Some(Record {
            policy: text("policy")?,
            control: text("control")?,
            profile: text("profile")?,
            windows: text("windows").unwrap_or_default(),
            settings: text("settings").unwrap_or_default(),
            filter: TcpFilter {
                local: address("local"),
                peer: address("peer"),
                local_port: port("local_port"),
                peer_port: port("peer_port"),
            },
            cgroups: paths("cgroups"),
            leaving: paths("leaving"),
            parts: maps.map(|maps| TcpParts {
                maps,
                hooks: [0, 1].map(|hook| number(&value["hooks"][hook])),
            }),
            namespace: value["namespace"].as_u64()?,
        })
    }
}

#[cfg(test)]
mod tests {
    use shortflow_ebpf::profile::TcpGrowth;

    use super::super::compile_tcp;
    use super::*;

    fn plan(keys: &str) -> TcpPlan {
        let queue = "[roles.source.queue.aggregate-shaper]\nlimit = \"99 pkt\"\ndepth = \"200 KB\"";
        let text = format!("name = \"p\"\n{queue}\nsharing = \"logical\"\n{keys}\n");
        let policy = shortflow_policy::from_text("p.toml", &text, &[]).unwrap();
        compile_tcp(&policy, None, TcpGrowth::Reno, None).unwrap()
    }

    fn record(plan: &TcpPlan) -> Record {
        let filter = TcpFilter {
            local: Some(("192.0.2.0".parse().unwrap(), 24)),
            peer: Some(("2001:db8::1".parse().unwrap(), 128)),
            local_port: Some(80),
            peer_port: None,
        };
        let groups =
            ["/sys/fs/cgroup/system.slice", "/sys/fs/cgroup"].map(|path| Some(path.into()));
        let selection = TcpSelection { filter, cgroup: None };
        Record { cgroups: groups, ..Record::new("Aggregate", "sf_1", plan, &selection) }
    }

    #[test]
    fn a_record_reads_what_it_has_written() {
        let mut record = record(&plan("rate = \"5 Mbit/s\""));
        assert_eq!(Record::parse(&record.json()), Some(record.clone()));
        record.parts = Some(TcpParts { maps: [1, 2, 3, 4, 5], hooks: [None, Some(6)] });
        record.leaving = [Some("/sys/fs/cgroup/user.slice".into()), None];
        assert_eq!(Record::parse(&record.json()), Some(record));
        assert_eq!(Record::parse(&json!({ "policy": "x" })), None);
    }

    #[test]
    fn a_record_tells_another_profile_and_other_connections_from_its_own() {
        let own = record(&plan("rate = \"5 Mbit/s\""));
        assert!(own.does_the_same(&record(&plan("rate = \"5 Mbit/s\""))));
        // The line that people read says nothing of this.
        let other = record(&plan("rate = \"5 Mbit/s\"\nidle_timeout = \"7 s\""));
        assert!(own.profile == other.profile && !own.does_the_same(&other));
        let other = Record { cgroups: [None, None], ..own.clone() };
        assert!(!own.does_the_same(&other));
        let cgroup = Some("/sys/fs/cgroup/user.slice".into());
        let elsewhere = TcpSelection { filter: own.filter.clone(), cgroup };
        let mut moved = own.clone();
        assert!(!own.selects(&elsewhere) && moved.select(&elsewhere) == own.cgroups);
        assert!(moved.selects(&elsewhere) && moved.leaving == own.cgroups);
        // What another version has deployed has no settings.
        let mut json = own.json();
        json.as_object_mut().unwrap().remove("settings");
        assert!(!Record::parse(&json).unwrap().does_the_same(&own));
    }
}
