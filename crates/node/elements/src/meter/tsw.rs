//! The time sliding window: a rate estimator and two meters that use it (RFC 2859).

use shortflow_packet::Packet;
use shortflow_units::{Duration, Instant, Rate, Rng};

use super::tr_tcm::check_peak;
use crate::params::above_zero;
use crate::{Color, Meter, ParamsError};

/// The estimate before the first packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum InitialRate {
    /// Zero: a stream that starts may take a whole window to reach its rate, and is green for longer than its
    /// profile allows.
    Zero,
    /// The committed rate, as RFC 2859 Figure 2 starts it.
    Committed,
}

/// Parameters of a [`Tsw2Cm`].
#[derive(Debug, Clone)]
pub struct TswParams {
    pub(super) committed_rate: Rate,
    pub(super) window: Duration,
    pub(super) initial: InitialRate,
}

/// The settings of a [`TswParams`], as [`TswParams::settings`] gives them.
#[derive(Debug, Clone, Copy)]
pub struct TswSettings {
    /// CIR.
    pub committed_rate: Rate,
    /// The window of the rate estimator.
    pub window: Duration,
    /// The initial estimate.
    pub initial: InitialRate,
}

impl TswParams {
    /// CIR, the estimator's window (RFC 2859: AVG_INTERVAL; 1 s in Casetti & Mellia 2005), and the initial
    /// estimate. Rates include headers.
    pub fn new(
        committed_rate: Rate,
        window: Duration,
        initial: InitialRate,
    ) -> Result<Self, ParamsError> {
        above_zero("committed_rate", committed_rate)?;
        above_zero("window", window)?;
        Ok(TswParams { committed_rate, window, initial })
    }

    /// Every setting, to take apart without `..`: a new one does not compile until each engine has decided what it means.
    pub fn settings(&self) -> TswSettings {
        let TswParams { committed_rate, window, initial } = self;
        TswSettings { committed_rate: *committed_rate, window: *window, initial: *initial }
    }

    /// An estimator without traffic so far.
    pub(super) fn estimator(&self) -> RateEstimator {
        let rate = match self.initial {
            InitialRate::Zero => 0.0,
            InitialRate::Committed => self.committed_rate.bytes_per_sec(),
        };
        RateEstimator { window: self.window.as_secs_f64(), rate, front: Instant::START }
    }

    /// CIR.
    pub fn committed_rate(&self) -> Rate {
        self.committed_rate
    }

    /// The window of the rate estimator.
    pub fn window(&self) -> Duration {
        self.window
    }

    /// The initial estimate.
    pub fn initial(&self) -> InitialRate {
        self.initial
    }
}

/// The rate of a stream in bytes per second (RFC 2859 Figure 2, after Clark & Fang 1998).
#[derive(Debug, Clone)]
pub(super) struct RateEstimator {
    window: f64,
    rate: f64,
    front: Instant,
}

impl RateEstimator {
    /// Adds a packet of `size` bytes, and returns the new rate: avg ← (avg·win + size)/(now − front + win),
    /// front ← now.
    #[inline]
    pub(super) fn update(&mut self, now: Instant, size: u32) -> f64 {
        self.rate = (self.rate * self.window + f64::from(size)) / self.stretched(now);
        self.front = self.front.max(now);
        self.rate
    }

    /// The rate at `now`, if nothing arrived since the last packet.
    #[inline]
    pub(super) fn rate(&self, now: Instant) -> f64 {
        self.rate * self.window / self.stretched(now)
    }

    /// The window and the time since the last packet, in seconds.
    #[inline]
    fn stretched(&self, now: Instant) -> f64 {
        now.since(self.front).as_secs_f64() + self.window
    }
}

/// The share of a stream of `rate` that exceeds `allowance`: the probability with which a packet is denied
/// the better colour, so that the rest has the rate `allowance` (RFC 2859 §4).
#[inline]
pub(super) fn excess(rate: f64, allowance: f64) -> f64 {
    ((rate - allowance) / rate).clamp(0.0, 1.0)
}

/// The two-colour marker's meter over a time sliding window: TSW3CM of RFC 2859 with PIR = CIR and
/// one colour for all excess. Up to the CIR green; above it yellow with probability
/// (avg − CIR)/avg.
#[derive(Debug, Clone)]
pub struct Tsw2Cm {
    committed: f64,
    estimator: RateEstimator,
    rng: Rng,
}

impl Tsw2Cm {
    /// A meter without traffic so far, which draws from `rng`.
    pub fn new(params: TswParams, rng: Rng) -> Self {
        Tsw2Cm {
            committed: params.committed_rate.bytes_per_sec(),
            estimator: params.estimator(),
            rng,
        }
    }
}

impl Meter for Tsw2Cm {
    #[inline]
    fn meter(&mut self, now: Instant, packet: &Packet) -> Color {
        let rate = self.estimator.update(now, packet.size);
        if self.rng.bernoulli(excess(rate, self.committed)) { Color::Yellow } else { Color::Green }
    }
}

/// Parameters of a [`Tsw3Cm`].
#[derive(Debug, Clone)]
pub struct Tsw3CmParams {
    tsw: TswParams,
    peak_rate: Rate,
}

/// The settings of a [`Tsw3CmParams`], as [`Tsw3CmParams::settings`] gives them.
#[derive(Debug, Clone, Copy)]
pub struct Tsw3CmSettings {
    /// The CIR and the estimator.
    pub tsw: TswSettings,
    /// PIR.
    pub peak_rate: Rate,
}

impl Tsw3CmParams {
    /// As [`TswParams`], with a PIR that is at least the CIR.
    pub fn new(tsw: TswParams, peak_rate: Rate) -> Result<Self, ParamsError> {
        check_peak(tsw.committed_rate, peak_rate)?;
        Ok(Tsw3CmParams { tsw, peak_rate })
    }

    /// Every setting, to take apart without `..`: a new one does not compile until each engine has decided what it means.
    pub fn settings(&self) -> Tsw3CmSettings {
        let Tsw3CmParams { tsw, peak_rate } = self;
        Tsw3CmSettings { tsw: tsw.settings(), peak_rate: *peak_rate }
    }

    /// The CIR and the estimator.
    pub fn tsw(&self) -> &TswParams {
        &self.tsw
    }

    /// PIR.
    pub fn peak_rate(&self) -> Rate {
        self.peak_rate
    }
}

/// The three-colour marker's meter over a time sliding window (RFC 2859 §4).
#[derive(Debug, Clone)]
pub struct Tsw3Cm {
    committed: f64,
    peak: f64,
    estimator: RateEstimator,
    rng: Rng,
}

impl Tsw3Cm {
    /// A meter without traffic so far, which draws from `rng`.
    pub fn new(params: Tsw3CmParams, rng: Rng) -> Self {
        Tsw3Cm {
            committed: params.tsw.committed_rate.bytes_per_sec(),
            peak: params.peak_rate.bytes_per_sec(),
            estimator: params.tsw.estimator(),
            rng,
        }
    }
}

impl Meter for Tsw3Cm {
    #[inline]
    fn meter(&mut self, now: Instant, packet: &Packet) -> Color {
        let rate = self.estimator.update(now, packet.size);
        // RFC 2859 §4: red with P1 = (avg − PIR)/avg, yellow with P2 = (PIR − CIR)/avg (between
        // the rates: with (avg − CIR)/avg), so that red or yellow comes with (avg − CIR)/avg.
        let not_green = excess(rate, self.committed);
        if not_green == 0.0 {
            return Color::Green;
        }
        match self.rng.uniform() {
            draw if draw < excess(rate, self.peak) => Color::Red,
            draw if draw < not_green => Color::Yellow,
            _ => Color::Green,
        }
    }
}
