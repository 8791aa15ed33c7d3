//! Two hosts of a test's own, whose packets come to the test.

use std::error::Error;
use std::io::ErrorKind;
use std::net::IpAddr;
use std::path::PathBuf;

use shortflow_testbed::{Device, Home, Host, HostSpec, PortKind, Ports};

/// Two hosts, and what `with` makes of them; none, and a word on what is lacking, where there can be none; on CI there
/// must.
pub(crate) fn two_hosts<T>(
    kind: PortKind,
    headroom: u32,
    with: impl FnOnce(&Home, [&Host; 2]) -> Result<T, Box<dyn Error>>,
) -> Option<(Home, [Host; 2], [Device; 2], T)> {
    let made = || -> Result<_, Box<dyn Error>> {
        let home = Home::find()?;
        let mut ports = Ports::new(&home, kind)?;
        let hosts = [spec(1, headroom), spec(2, 0)].map(|spec| ports.host(&home, &spec));
        let [first, second] = hosts;
        let ((first, near), (second, far)) = (first?, second?);
        let made = with(&home, [&first, &second])?;
        Ok((home, [first, second], [near, far], made))
    };
    match made() {
        Ok(made) => Some(made),
        Err(lacking) if std::env::var_os("CI").is_none() => {
            eprintln!("skipped: needs hosts and eBPF: {lacking}");
            None
        }
        Err(lacking) => panic!("needs hosts and eBPF: {lacking}"),
    }
}

fn spec(number: u8, headroom: u32) -> HostSpec {
    let addresses =
        vec![IpAddr::from([10, 0, 0, number]), format!("fd00::{number}").parse().unwrap()];
    let settings = vec![("ipv6/conf/default/addr_gen_mode", "1".to_owned())];
    HostSpec { addresses, mtu: 1500, headroom, queue: 1000, settings, ..HostSpec::default() }
}

/// The next packet that a host has sent, if there is one.
pub(crate) fn read(device: &mut Device, buffer: &mut [u8]) -> Option<usize> {
    match device.read(buffer) {
        Ok(length) => Some(length),
        Err(error) if error.kind() == ErrorKind::WouldBlock => None,
        Err(error) => panic!("{error}"),
    }
}

/// The folder of the root of all cgroups of version 2.
pub(crate) fn cgroup_root() -> std::io::Result<PathBuf> {
    let mounts = std::fs::read_to_string("/proc/self/mounts")?;
    let mut mounts = mounts.lines().map(|line| line.split(' ').collect::<Vec<_>>());
    let found = mounts.find(|fields| fields.get(2) == Some(&"cgroup2"));
    let root = found.ok_or_else(|| std::io::Error::other("no cgroup2 is mounted"))?[1];
    Ok(PathBuf::from(root))
}
