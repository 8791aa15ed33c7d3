//! Prefixes of the IP version that the workloads of a rehearsal do not speak: no packet of theirs fits.

use shortflow_elements::Prefix;
use shortflow_run::role_at;
use shortflow_scenario::Scenario;

use crate::ip::IpVersion;

/// What a reader must know of classes that no workload's packet can be in.
pub(crate) fn told_of(scenario: &Scenario, ip: IpVersion) -> Vec<String> {
    let (spoken, option) = match ip {
        IpVersion::V4 => ("IPv4", "with --ipv6 they speak IPv6"),
        IpVersion::V6 => ("IPv6", "without --ipv6 they speak IPv4"),
    };
    let mut told: Vec<String> = Vec::new();
    for binding in &scenario.bindings {
        let Some(role) = role_at(scenario, binding.at, binding.direction) else { continue };
        for class in &role.classes {
            let ends = [("src", class.rule.src), ("dst", class.rule.dst)];
            for (key, prefix) in ends.into_iter().filter_map(|(key, end)| Some((key, end?))) {
                let line = format!(
                    "No packet of the workloads is in the class {} of the role {}: its {key} is {}/{}, and they speak \
                     {spoken}; {option}.",
                    class.name,
                    role.name,
                    prefix.network(),
                    prefix.length()
                );
                if !fits(prefix, ip) && !told.contains(&line) {
                    told.push(line);
                }
            }
        }
    }
    told
}

/// Whether addresses of this version may lie in a prefix.
fn fits(prefix: Prefix, ip: IpVersion) -> bool {
    prefix.is_v4() == (ip == IpVersion::V4)
}

#[cfg(test)]
mod tests {
    use shortflow_elements::Address;

    use super::*;

    #[test]
    fn a_prefix_fits_its_own_version_alone() {
        let prefix = |address, length| Prefix::new(address, length).unwrap();
        let of_v4 = prefix(Address::v4(0x0a00_0000), 8);
        let of_v6 = prefix(Address::v6(0xfd << 120), 8);
        let all = prefix(Address::v6(0), 0);
        let found =
            [of_v4, of_v6, all].map(|it| [fits(it, IpVersion::V4), fits(it, IpVersion::V6)]);
        assert_eq!(found, [[true, false], [false, true], [false, true]]);
    }
}
