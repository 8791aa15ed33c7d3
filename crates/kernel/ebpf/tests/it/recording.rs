//! Packets as the kernel's own TCP, calls and pages sent them through an office's line, recorded by
//!
//! ```sh
//! shortflow rehearse scenarios/office.toml --replicas 1 --set duration='14 s' --trace office.pcapng \
//!     --trace-at 'isp->office' --trace-snap '96 B'
//! ```
//!
//! `recorded/office.csv` has those between seconds 8 and 10: when each came, its bytes from the header of IP on, and
//! who sent it. What they carried is of no account to any program.

const RECORDED: &str = include_str!("../recorded/office.csv");

/// Each with its time in nanoseconds since the first.
pub(crate) fn packets() -> Vec<(u64, Vec<u8>)> {
    RECORDED.lines().filter(|line| !line.starts_with(['#', 'n'])).map(packet).collect()
}

fn packet(line: &str) -> (u64, Vec<u8>) {
    let mut fields = line.split(',');
    let mut number = || fields.next().unwrap().parse::<u64>().unwrap();
    let [at, bytes, ds, protocol, source, source_port, target, target_port] =
        std::array::from_fn(|_| number());
    let mut packet = vec![2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1, 8, 0];
    packet.extend([0x45, ds as u8]);
    packet.extend((bytes as u16).to_be_bytes());
    packet.extend([0, 0, 0x40, 0, 64, protocol as u8, 0, 0]);
    packet.extend((source as u32).to_be_bytes());
    packet.extend((target as u32).to_be_bytes());
    packet.extend((source_port as u16).to_be_bytes());
    packet.extend((target_port as u16).to_be_bytes());
    let sum = crate::packets::checksum(&packet[14..34]);
    packet[24..26].copy_from_slice(&sum.to_be_bytes());
    packet.resize(14 + bytes as usize, 0);
    (at, packet)
}

#[test]
fn the_recording_is_of_many_flows_and_of_calls() {
    let packets = packets();
    assert!(packets.is_sorted_by_key(|(at, _)| *at));
    let flows: std::collections::BTreeSet<&[u8]> =
        packets.iter().map(|(_, p)| &p[26..38]).collect();
    let calls = packets.iter().filter(|(_, packet)| packet[15] >> 2 == 46).count();
    assert!(packets.len() > 2000 && flows.len() > 20 && calls > 50, "{} {calls}", packets.len());
}
