//! Measurement-based admission control of streams at an edge: the measured sum of Jamin, Danzig, Shenker &
//! Zhang ("A measurement-based admission control algorithm for integrated services packet networks", IEEE/ACM
//! ToN 5, 1997, eq. 1). A stream with the declared peak rate r is admitted if ν̂ + r ≤ υ·μ, where ν̂ is the
//! measured load of admitted streams, μ the link's rate, and υ the share of it that they may have. Guo, Zhu,
//! Zhang & Zhang (2005, §2.3) refer to a report for details of theirs. This is the simplest method that
//! limits the real-time share of a link.

mod load;

use shortflow_packet::{Dscp, FlowKey, Packet, SenderView};
use shortflow_units::{Duration, Instant, Rate, Rng};

use self::load::MeasuredLoad;
use crate::aggregate::Per;
use crate::meter::bucket::Tokens;
use crate::meter::{TokenBucket, TokenBucketParams};
use crate::params::above_zero;
use crate::table::LruTable;
use crate::{Color, Marker, Meter, ParamsError, Settling};

/// The parameters of load measurement.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LoadWindow {
    /// S: the load is averaged over this time.
    sample: Duration,
    /// T/S: the measured load is the highest average in a window of so many.
    samples: u32,
}

impl LoadWindow {
    /// A window of `samples` averages over `sample` each. A sample should contain several packets of each
    /// stream, because a packet above the average counts as additional load.
    pub fn new(sample: Duration, samples: u32) -> Result<Self, ParamsError> {
        let (sample, samples) = (above_zero("sample", sample)?, above_zero("samples", samples)?);
        Ok(LoadWindow { sample, samples })
    }

    /// S: the time over which the load is averaged.
    pub fn sample(&self) -> Duration {
        self.sample
    }

    /// T/S: the number of averages in a window.
    pub fn samples(&self) -> u32 {
        self.samples
    }
}

/// Parameters of an [`AdmissionControl`].
#[derive(Debug, Clone)]
pub struct AdmissionParams {
    target: Rate,
    peak: Rate,
    depth: Option<shortflow_units::Bytes>,
    bucket: Option<TokenBucket>,
    window: LoadWindow,
    streams: Per,
    code_points: [Dscp; 2],
}

impl AdmissionParams {
    /// Streams, as defined by `streams`, with the declared rate `peak` are admitted up to `target`; in the
    /// paper r and υ·μ. If there is a bucket `depth`, each stream is policed to its peak. `code_points` are
    /// those of admitted and of other packets.
    pub fn new(
        target: Rate,
        peak: Rate,
        depth: Option<shortflow_units::Bytes>,
        window: LoadWindow,
        streams: Per,
        code_points: [Dscp; 2],
    ) -> Result<Self, ParamsError> {
        above_zero("peak", peak)?;
        if peak > target {
            let message = format!(
                "peak must be at most the rate of the share, {target}; found {peak}, with which no \
                 stream would be admitted"
            );
            return Err(ParamsError::new("peak", message));
        }
        let bucket = depth.map(|depth| TokenBucketParams::new(peak, depth)).transpose()?;
        let bucket = bucket.map(TokenBucket::new);
        let settled = bucket.as_ref().map_or(Duration::ZERO, Settling::settled_after);
        let streams = streams.settling_in(settled)?;
        Ok(AdmissionParams { target, peak, depth, bucket, window, streams, code_points })
    }

    /// The code points of admitted and of other packets.
    pub fn code_points(&self) -> [Dscp; 2] {
        self.code_points
    }

    /// The load up to which streams are admitted.
    pub fn target(&self) -> Rate {
        self.target
    }

    /// The peak rate that each stream declares.
    pub fn peak(&self) -> Rate {
        self.peak
    }

    /// The depth of the bucket that limits each stream to its peak.
    pub fn depth(&self) -> Option<shortflow_units::Bytes> {
        self.depth
    }

    /// The window of load measurement.
    pub fn window(&self) -> LoadWindow {
        self.window
    }

    /// Which packets are one stream.
    pub fn streams(&self) -> Per {
        self.streams
    }
}

/// Counters of an [`AdmissionControl`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct AdmissionStats {
    /// Streams admitted.
    pub admitted: u64,
    /// Streams refused.
    pub refused: u64,
    /// Packets of admitted streams above their declared peak.
    pub beyond_peak: u64,
}

/// Decides at a stream's first packet. Packets of an admitted stream are green, those above its declared peak
/// yellow, those of a refused stream red. Yellow and red packets get the code point of packets that are not
/// admitted, and a policer can drop them. A decision holds until the stream has been idle for the idle
/// timeout, or until a new stream replaces it in a full table; then it is decided again. The new stream takes
/// over the bucket of the replaced one, so replacement gives no burst. O(1) per packet.
#[derive(Debug)]
pub struct AdmissionControl {
    target: Tokens,
    peak: Tokens,
    per: Per,
    code_points: [Dscp; 2],
    load: MeasuredLoad,
    /// The bucket of a new stream.
    bucket: Option<TokenBucket>,
    streams: LruTable<FlowKey, Stream>,
    stats: AdmissionStats,
}

#[derive(Debug)]
enum Stream {
    /// Not decided; the bucket that polices the stream if it is admitted.
    Asking(Option<TokenBucket>),
    Admitted(Option<TokenBucket>),
    Refused,
}

impl AdmissionControl {
    /// A control without admitted streams. The hash of its table has a seed from `rng`.
    pub fn new(params: AdmissionParams, rng: Rng) -> Self {
        // The depth is in the bucket.
        let AdmissionParams { target, peak, depth: _, bucket, window, streams, code_points } =
            params;
        AdmissionControl {
            target: Tokens::earned(target, window.sample),
            peak: Tokens::earned(peak, window.sample),
            per: streams,
            code_points,
            load: MeasuredLoad::new(window),
            bucket,
            streams: streams.table(rng),
            stats: AdmissionStats::default(),
        }
    }

    /// Counters since the start.
    pub fn stats(&self) -> AdmissionStats {
        self.stats
    }

    #[inline]
    fn color(&mut self, now: Instant, packet: &Packet) -> Color {
        self.load.advance(now);
        let fresh = &self.bucket;
        let seen = self.streams.see(now, self.per.name(packet.key), |displaced| {
            Stream::Asking(match displaced.map(|displaced| displaced.value) {
                Some(Stream::Admitted(bucket) | Stream::Asking(bucket)) => bucket.clone(),
                Some(Stream::Refused) | None => fresh.clone(),
            })
        });
        let stream = seen.value;
        if let Stream::Asking(bucket) = stream {
            // Jamin et al., eq. 1.
            if self.load.estimate().plus(self.peak) <= self.target {
                self.load.admit(self.peak);
                self.stats.admitted += 1;
                *stream = Stream::Admitted(bucket.take());
            } else {
                self.stats.refused += 1;
                *stream = Stream::Refused;
            }
        }
        let Stream::Admitted(bucket) = stream else { return Color::Red };
        if let Some(bucket) = bucket
            && bucket.meter(now, packet) != Color::Green
        {
            self.stats.beyond_peak += 1;
            return Color::Yellow;
        }
        self.load.count(Tokens::from_bytes(packet.bytes()));
        Color::Green
    }
}

impl Marker for AdmissionControl {
    fn reserve(&mut self, flows: usize) {
        self.streams.reserve(flows);
    }

    #[inline]
    fn mark(&mut self, now: Instant, packet: &mut Packet, _sender: Option<&SenderView>) -> Color {
        let color = self.color(now, packet);
        packet.dscp = self.code_points[usize::from(color != Color::Green)];
        color
    }

    fn counters(&self, visit: &mut dyn FnMut(&'static str, u64)) {
        visit("streams admitted", self.stats.admitted);
        visit("streams refused", self.stats.refused);
        visit("packets beyond their peak", self.stats.beyond_peak);
        visit("streams evicted", self.streams.stats().evictions);
    }
}
