//! Policies at work: text in, elements out, packets through them.

mod bad;
mod conditioning;
mod explaining;
mod keys;
mod marking;
mod plans;
mod queueing;
mod reading;

use shortflow_packet::{Address, Dscp, Ecn, FlowKey, Packet, Protocol, TcpFlags};
use shortflow_policy::{Policy, PortSite, from_text};
use shortflow_units::{Instant, Rate};

/// The policy of this text.
fn policy(text: &str) -> Policy {
    from_text("test.toml", text, &[]).unwrap_or_else(|mistakes| panic!("{mistakes}"))
}

/// A port called `name` on a link of 10 Mbit/s.
fn place(name: &str) -> PortSite<'_> {
    PortSite { name, seed: 1, rate: Rate::from_bits_per_sec(10_000_000) }
}

/// A TCP packet of 1000 bytes from port 80 of 10.0.0.1 to port 2000 of 10.0.0.2.
fn packet() -> Packet {
    Packet {
        size: 1000,
        key: FlowKey {
            src: Address::v4(0x0a00_0001),
            dst: Address::v4(0x0a00_0002),
            src_port: 80,
            dst_port: 2000,
            protocol: Protocol::TCP,
        },
        dscp: Dscp::BEST_EFFORT,
        ecn: Ecn::NotEct,
        payload: 960,
        bytes: None,
        flags: TcpFlags::default(),
    }
}

/// The instant `millis` milliseconds after the start.
fn at(millis: u64) -> Instant {
    Instant::from_nanos(millis * 1_000_000)
}
