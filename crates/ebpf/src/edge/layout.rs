//! Rules, classes and states as the program reads them: the structures of programs/edge.bpf.c in bytes.

use std::net::IpAddr;

use shortflow_elements::classifier::MultiField;
use shortflow_elements::dropper::PolicerAction;
use shortflow_elements::meter::{ColorMode, IntegerTswParams, Pace};
use shortflow_elements::{Color, Dscp, ParamsError, Prefix};
use shortflow_units::{Bytes, Rate};

use super::{DEEPEST, EdgeClass, EdgeMeter, MOST_RULES, Unsayable};

/// Bytes of `struct rule`.
const RULE: usize = 88;
/// Bytes of `struct class`.
#[cfg(feature = "ebpf")]
pub(super) const CLASS: usize = 184;
/// Bytes of `struct state`.
#[cfg(feature = "ebpf")]
pub(super) const STATE: usize = 32;
/// Tokens of a byte.
const PER_BYTE: u64 = 8_000_000_000;

/// Numbers one after the other, as the machine has them.
#[derive(Default)]
struct Packed(Vec<u8>);

impl Packed {
    fn bytes(mut self, bytes: &[u8]) -> Packed {
        self.0.extend(bytes);
        self
    }

    fn long(self, value: u64) -> Packed {
        self.bytes(&value.to_ne_bytes())
    }

    fn longs(self, values: [u64; 2]) -> Packed {
        self.long(values[0]).long(values[1])
    }

    fn short(self, value: u16) -> Packed {
        self.bytes(&value.to_ne_bytes())
    }

    fn pace(self, pace: Pace) -> Packed {
        self.long(pace.parts).long(u64::from(pace.shift).to_le()).in_order()
    }

    /// A 32-bit number and 32 bits of nothing were written as one of 64 bits.
    fn in_order(mut self) -> Packed {
        if cfg!(target_endian = "big") {
            let at = self.0.len() - 8;
            self.0[at..at + 4].reverse();
        }
        self
    }
}

/// `struct rules`.
pub(super) fn rules(rules: &[(MultiField, usize)]) -> Result<Vec<u8>, Unsayable> {
    let mut packed = Packed::default().long(rules.len() as u64);
    for (fields, class) in rules {
        packed = rule(packed, fields, *class)?;
    }
    packed.0.resize(8 + MOST_RULES * RULE, 0);
    Ok(packed.0)
}

fn rule(packed: Packed, fields: &MultiField, class: usize) -> Result<Packed, Unsayable> {
    if fields.sender.is_some() {
        return Err(Unsayable::Sender);
    }
    let code_points = |set: shortflow_elements::classifier::DscpSet| {
        set.iter().fold(0, |bits, dscp| bits | 1 << dscp.value())
    };
    let mut packed = packed;
    for prefix in [fields.src, fields.dst] {
        let (network, mask) = prefix.map_or(([0; 2], [0; 2]), halves);
        packed = packed.longs(network).longs(mask);
    }
    packed = packed.long(fields.dscps.map_or(u64::MAX, code_points));
    for ports in [&fields.src_ports, &fields.dst_ports] {
        let [first, last] = ports.as_ref().map_or([0, u16::MAX], |ports| ports.ends());
        packed = packed.short(first).short(last);
    }
    let (protocol, is_any) = fields.protocol.map_or((0, 1), |protocol| (protocol.0, 0));
    let class = u16::try_from(class).expect("classes are few");
    Ok(packed.short(class).bytes(&[protocol, is_any]).bytes(&[0; 4]))
}

/// The network and the mask of a prefix; an IPv4 address is kept as ::ffff:a.b.c.d.
fn halves(prefix: Prefix) -> ([u64; 2], [u64; 2]) {
    let (network, length) = match IpAddr::from(prefix.network()) {
        IpAddr::V4(address) => {
            (address.to_ipv6_mapped().to_bits(), 96 + u32::from(prefix.length()))
        }
        IpAddr::V6(address) => (address.to_bits(), u32::from(prefix.length())),
    };
    let mask = u128::MAX.checked_shl(128 - length).unwrap_or(0);
    let halves = |bits: u128| [(bits >> 64) as u64, bits as u64];
    (halves(network), halves(mask))
}

/// What a class keeps from packet to packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct State {
    /// The tokens of its buckets, or what is in its window.
    pub(super) held: [u64; 2],
}

/// A pair of buckets, as `struct class` has it.
#[derive(Default)]
struct Buckets {
    rate: [u64; 2],
    depth: [u64; 2],
    most: [u64; 2],
}

impl Buckets {
    /// Each with a rate of its own.
    fn apart(buckets: [(Rate, Bytes); 2]) -> Result<Buckets, Unsayable> {
        let [first, second] = buckets.map(|(_, bytes)| tokens(bytes.0));
        let depth = [first?, second?];
        Ok(Buckets { rate: buckets.map(|(rate, _)| rate.bits_per_sec()), depth, most: depth })
    }

    /// The second filled by what the first cannot hold.
    fn in_turn(rate: Rate, first: Bytes, second: Bytes) -> Result<Buckets, Unsayable> {
        let most = tokens(first.0.saturating_add(second.0))?;
        let depth = [tokens(first.0)?, tokens(second.0)?];
        Ok(Buckets { rate: [rate.bits_per_sec(), 0], depth, most: [most, 0] })
    }

    fn packed(&self) -> Packed {
        let filling = [0, 1].map(|at| match self.rate[at] {
            0 => 0,
            rate => self.most[at].div_ceil(rate),
        });
        Packed::default().longs(self.rate).longs(self.depth).longs(self.most).longs(filling)
    }
}

fn tokens(bytes: u64) -> Result<u64, Unsayable> {
    if bytes <= DEEPEST { Ok(bytes * PER_BYTE) } else { Err(Unsayable::Deep { bytes }) }
}

/// How a meter works, by the numbers of programs/edge.bpf.c.
#[derive(Default)]
struct Working {
    kind: u8,
    color: Option<Color>,
    buckets: Buckets,
    window: Option<IntegerTswParams>,
    mode: Option<ColorMode>,
}

fn working(meter: &EdgeMeter) -> Result<Working, Unsayable> {
    let window = |found: Result<_, ParamsError>| {
        let window = found.map_err(|error| Unsayable::Window(error.to_string()))?;
        Ok(Working { kind: 5, window: Some(window), ..Working::default() })
    };
    let buckets = |kind, buckets, mode: &ColorMode| {
        Ok(Working { kind, buckets, mode: Some(mode.clone()), ..Working::default() })
    };
    match meter {
        EdgeMeter::Fixed(color) => Ok(Working { color: Some(*color), ..Working::default() }),
        EdgeMeter::TokenBucket(params) => {
            let none = (Rate::from_bits_per_sec(0), Bytes::ZERO);
            let one = Buckets::apart([(params.rate(), params.burst()), none])?;
            buckets(1, one, &ColorMode::Blind)
        }
        EdgeMeter::TwoBuckets(params) => {
            let each = [&params.green, &params.yellow].map(|one| (one.rate(), one.burst()));
            buckets(2, Buckets::apart(each)?, &params.mode)
        }
        EdgeMeter::SrTcm(params) => {
            let (first, second) = (params.committed_burst(), params.excess_burst());
            buckets(3, Buckets::in_turn(params.committed_rate(), first, second)?, params.mode())
        }
        EdgeMeter::TrTcm(params) => {
            let committed = (params.committed_rate(), params.committed_burst());
            let peak = (params.peak_rate(), params.peak_burst());
            buckets(4, Buckets::apart([committed, peak])?, params.mode())
        }
        EdgeMeter::Tsw2Cm(params) => window(IntegerTswParams::two_colors(params)),
        EdgeMeter::Tsw3Cm(params) => window(IntegerTswParams::three_colors(params)),
    }
}

/// `struct class`, and the state with which it begins.
pub(super) fn class(class: &EdgeClass) -> Result<(Vec<u8>, State), Unsayable> {
    let Working { kind, color, buckets, window, mode } = working(&class.meter)?;
    let held = window.map_or(buckets.depth, |window| [window.held, 0]);
    let none = Pace { parts: 0, shift: 0 };
    let peak = window.and_then(|window| window.peak);
    let mut packed = buckets
        .packed()
        .long(window.map_or(0, |window| window.window))
        .pace(window.map_or(none, |window| window.committed))
        .pace(peak.unwrap_or(none));
    for dscp in (0..64).filter_map(Dscp::new) {
        let incoming = match &mode {
            Some(ColorMode::Aware(colors)) => colors.get(dscp),
            _ => Color::Green,
        };
        packed = packed.bytes(&[incoming as u8]);
    }
    let code_points = class.code_points.unwrap_or_default().map(Dscp::value);
    let actions = class.police.unwrap_or([PolicerAction::Forward; 3]).map(|action| match action {
        PolicerAction::Forward => (0, 0),
        PolicerAction::Drop => (1, 0),
        PolicerAction::Remark(dscp) => (2, dscp.value()),
    });
    let packed = packed
        .bytes(&code_points)
        .bytes(&actions.map(|(action, _)| action))
        .bytes(&actions.map(|(_, remark)| remark))
        .bytes(&[kind, color.map_or(0, |color| color as u8)])
        .bytes(&[class.code_points.is_some().into(), peak.is_some().into(), 0, 0, 0]);
    Ok((packed.0, State { held }))
}

#[cfg(feature = "ebpf")]
impl State {
    /// `struct state` at a time.
    pub(super) fn packed(self, now: u64) -> Vec<u8> {
        Packed::default().long(0).long(now).longs(self.held).0
    }
}

#[cfg(test)]
mod tests {
    use shortflow_elements::classifier::PortRange;
    use shortflow_elements::meter::{SrTcmParams, TokenBucketParams};

    use super::*;

    fn bucket(bytes: u64) -> EdgeClass {
        let params = TokenBucketParams::new(Rate::from_bits_per_sec(8_000), Bytes(bytes)).unwrap();
        EdgeClass { meter: EdgeMeter::TokenBucket(params), code_points: None, police: None }
    }

    #[test]
    fn a_rule_that_asks_for_nothing_matches_all_and_an_ipv4_prefix_its_own_family() {
        let all = rules(&[(MultiField::default(), 3)]).unwrap();
        assert_eq!(all.len(), 8 + 64 * 88);
        let long =
            |bytes: &[u8], at: usize| u64::from_ne_bytes(bytes[at..at + 8].try_into().unwrap());
        let words: Vec<u64> = (0..10).map(|at| long(&all, 8 * at)).collect();
        assert_eq!(
            words,
            [1, 0, 0, 0, 0, 0, 0, 0, 0, u64::MAX],
            "one rule, no mask, every code point"
        );

        let site = Prefix::new("10.1.0.0".parse().unwrap(), 16).unwrap();
        let (network, mask) = halves(site);
        assert_eq!((network, mask), ([0, 0xffff_0a01_0000], [u64::MAX, 0xffff_ffff_ffff_0000]));
        let every = Prefix::new("::".parse().unwrap(), 0).unwrap();
        assert_eq!(halves(every), ([0; 2], [0; 2]));

        let web = MultiField {
            dst_ports: Some(PortRange::new(80, 443).unwrap()),
            ..MultiField::default()
        };
        let packed = rules(&[(web, 1)]).unwrap();
        let shorts: Vec<u16> =
            packed[80..90].chunks(2).map(|two| u16::from_ne_bytes([two[0], two[1]])).collect();
        assert_eq!(shorts, [0, 65_535, 80, 443, 1]);
    }

    #[test]
    fn a_bucket_is_as_deep_as_64_bits_count_and_no_deeper() {
        let (packed, state) = class(&bucket(DEEPEST)).unwrap();
        assert_eq!(packed.len(), 184);
        assert_eq!(state.held, [DEEPEST * 8_000_000_000, 0]);
        let deep = class(&bucket(DEEPEST + 1)).unwrap_err();
        assert_eq!(
            deep.to_string(),
            "a bucket must hold at most 2147483648 bytes; found 2147483649"
        );
        // One rate fills both buckets of RFC 2697, so both count.
        let half = Bytes(DEEPEST / 2 + 1);
        let rate = Rate::from_bits_per_sec(1);
        let params = SrTcmParams::new(rate, half, half, ColorMode::Blind).unwrap();
        let both = EdgeClass { meter: EdgeMeter::SrTcm(params), code_points: None, police: None };
        assert_eq!(class(&both).unwrap_err(), Unsayable::Deep { bytes: DEEPEST + 2 });
    }
}
