//! The access node of Simple Integrated Media Access (SIMA; Kilkki 1997; Laatu, Harju & Loula 2003, §2):
//! packets are marked by a customer's rate, compared with the agreed nominal bit rate (NBR). Customers may
//! exceed the NBR, but are then less protected.

mod precedence;

use shortflow_packet::{Dscp, FlowKey, Packet, SenderView};
use shortflow_units::{Duration, Instant, Rate, Rng};

use self::precedence::{PRECEDENCES, Thresholds};
use crate::aggregate::Per;
use crate::classifier::SimaClass;
use crate::meter::{Decay, MomentaryRate, MomentaryRateParams};
use crate::table::LruTable;
use crate::{Color, Marker, ParamsError};

/// Parameters of a [`SimaMarker`]: the nominal bit rate, how the momentary one is measured, whose packets have a rate of
/// their own, and what is written. [`SimaParams::settings`] has all of them.
#[derive(Debug, Clone)]
pub struct SimaParams {
    nominal_rate: Rate,
    thresholds: Thresholds,
    meter: MomentaryRateParams,
    per: Option<Per>,
    code_points: [Dscp; PRECEDENCES],
}

/// The settings of a [`SimaParams`], as [`SimaParams::settings`] gives them.
#[derive(Debug, Clone, Copy)]
pub struct SimaSettings<'p> {
    /// NBR.
    pub nominal_rate: Rate,
    /// How the momentary bit rate is measured.
    pub meter: &'p MomentaryRateParams,
    /// Whose packets have an NBR of their own, where not all share one.
    pub per: Option<Per>,
    /// The code points of the drop precedences 0 to 6.
    pub code_points: &'p [Dscp; PRECEDENCES],
}

impl SimaParams {
    /// The NBR; the measurement of the momentary bit rate; which packets share an NBR, for example those of
    /// each flow, unless all do; and the code points of drop precedences 0 to 6
    /// ([`Self::default_code_points`]).
    ///
    /// In a full table a new account takes over the load of the least recently seen one. Idle accounts are
    /// removed. The idle timeout of `per` must be long enough that this gains nothing
    /// ([`Self::settled_after`]).
    pub fn new(
        nominal_rate: Rate,
        meter: MomentaryRateParams,
        per: Option<Per>,
        code_points: [Dscp; PRECEDENCES],
    ) -> Result<Self, ParamsError> {
        let thresholds = Thresholds::new(nominal_rate, &meter)?;
        let params = SimaParams { nominal_rate, thresholds, meter, per, code_points };
        let settled = params.settled_after();
        let per = per.map(|per| per.settling_in(settled)).transpose()?;
        Ok(SimaParams { per, ..params })
    }

    /// The idle time after which an account is in its initial state.
    pub fn settled_after(&self) -> Duration {
        self.meter.settled_after(self.thresholds.best())
    }

    /// The code points of drop precedences 0 to 6 of a class: [`SimaClass::code_points`] without the last,
    /// which an access node never uses.
    pub fn default_code_points(class: SimaClass) -> [Dscp; PRECEDENCES] {
        let [first @ .., _] = class.code_points();
        first
    }

    /// Every setting, to take apart without `..`: a new one does not compile until each engine has decided what it means.
    pub fn settings(&self) -> SimaSettings<'_> {
        // The thresholds follow from the nominal rate and the meter.
        let SimaParams { nominal_rate, thresholds: _, meter, per, code_points } = self;
        SimaSettings { nominal_rate: *nominal_rate, meter, per: *per, code_points }
    }

    /// NBR.
    pub fn nominal_rate(&self) -> Rate {
        self.nominal_rate
    }

    /// The measurement of the momentary bit rate.
    pub fn meter(&self) -> &MomentaryRateParams {
        &self.meter
    }

    /// Which packets share an NBR, unless all do.
    pub fn per(&self) -> Option<Per> {
        self.per
    }

    /// The decay of a load per byte time at 8·√2 times the NBR. Up to that rate a packet has at least
    /// precedence 1. Each halving of the rate doubles the decay and adds one precedence.
    pub fn first_threshold(&self) -> Decay {
        self.thresholds.first()
    }

    /// The code points of the drop precedences 0 to 6.
    pub fn code_points(&self) -> &[Dscp] {
        &self.code_points
    }
}

/// Marks each packet with the drop precedence of its momentary bit rate, compared with the NBR: 4 at the NBR,
/// one more per halving up to 6, one less per doubling down to 0. The packet itself counts in the rate.
/// Precedence 6 is green, 0 red, the others yellow. O(1) per packet.
#[derive(Debug)]
pub struct SimaMarker {
    thresholds: Thresholds,
    meter: MomentaryRateParams,
    rates: Rates,
    code_points: [Dscp; PRECEDENCES],
    packets: [u64; PRECEDENCES],
    bytes: [u64; PRECEDENCES],
}

/// The accounts with a momentary bit rate.
#[derive(Debug)]
enum Rates {
    One(MomentaryRate),
    Each(Per, LruTable<FlowKey, MomentaryRate>),
}

impl SimaMarker {
    /// A marker without traffic so far. The hash of its table, if it has one, has a seed from `rng`.
    pub fn new(params: SimaParams, rng: Rng) -> Self {
        // The thresholds are made of the nominal rate.
        let SimaParams { nominal_rate: _, thresholds, meter, per, code_points } = params;
        SimaMarker {
            thresholds,
            meter,
            rates: match per {
                None => Rates::One(MomentaryRate::default()),
                Some(per) => Rates::Each(per, per.table(rng)),
            },
            code_points,
            packets: [0; PRECEDENCES],
            bytes: [0; PRECEDENCES],
        }
    }
}

impl Marker for SimaMarker {
    fn reserve(&mut self, flows: usize) {
        if let Rates::Each(_, table) = &mut self.rates {
            table.reserve(flows);
        }
    }

    #[inline]
    fn mark(&mut self, now: Instant, packet: &mut Packet, _sender: Option<&SenderView>) -> Color {
        let rate = match &mut self.rates {
            Rates::One(rate) => rate,
            Rates::Each(per, table) => {
                let name = per.name(packet.key);
                let fresh = MomentaryRate::default();
                table.see(now, name, |displaced| displaced.map_or(fresh, |old| *old.value)).value
            }
        };
        let rate = rate.update(&self.meter, now, packet.size);
        let precedence = self.thresholds.precedence(&rate);
        self.packets[precedence] += 1;
        self.bytes[precedence] += u64::from(packet.size);
        packet.dscp = self.code_points[precedence];
        match precedence {
            0 => Color::Red,
            BEST => Color::Green,
            _ => Color::Yellow,
        }
    }

    fn counters(&self, visit: &mut dyn FnMut(&'static str, u64)) {
        for (precedence, names) in NAMES.iter().enumerate() {
            visit(names[0], self.packets[precedence]);
            visit(names[1], self.bytes[precedence]);
        }
        if let Rates::Each(_, table) = &self.rates {
            let stats = table.stats();
            visit("aggregates seen", stats.misses);
            visit("aggregates evicted", stats.evictions);
        }
    }
}

const BEST: usize = PRECEDENCES - 1;

const NAMES: [[&str; 2]; PRECEDENCES] = [
    ["DP 0 packets", "DP 0 bytes"],
    ["DP 1 packets", "DP 1 bytes"],
    ["DP 2 packets", "DP 2 bytes"],
    ["DP 3 packets", "DP 3 bytes"],
    ["DP 4 packets", "DP 4 bytes"],
    ["DP 5 packets", "DP 5 bytes"],
    ["DP 6 packets", "DP 6 bytes"],
];
