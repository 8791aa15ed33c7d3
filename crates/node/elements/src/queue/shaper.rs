//! A shaper: limits the rate at which packets leave a queue.

use shortflow_packet::{Packet, SenderUpdate};
use shortflow_units::{Bytes, Instant, LinkLayer, Rate};

use crate::meter::credit::Credit;
use crate::params::above_zero;
use crate::{Backlog, Drops, ParamsError, QueueDiscipline, Queued, Verdict};

/// Parameters of a [`Shaper`].
#[derive(Debug, Clone)]
pub struct ShaperParams {
    rate: Rate,
    burst: Bytes,
    link_layer: LinkLayer,
}

/// The settings of a [`ShaperParams`], as [`ShaperParams::settings`] gives them.
#[derive(Debug, Clone, Copy)]
pub struct ShaperSettings {
    /// The rate at which packets leave.
    pub rate: Rate,
    /// The bytes that leave at full line rate after a pause.
    pub burst: Bytes,
    /// The link layer that determines how many bytes a packet counts.
    pub link_layer: LinkLayer,
}

impl ShaperParams {
    /// Packets leave at `rate`. After a pause, up to `burst` bytes leave at full line rate. With a burst of
    /// zero, each packet takes its transmission time at `rate`.
    pub fn new(rate: Rate, burst: Bytes) -> Result<Self, ParamsError> {
        Ok(ShaperParams { rate: above_zero("rate", rate)?, burst, link_layer: LinkLayer::RAW })
    }

    /// Counts each packet as the bytes that it takes on the link behind the line.
    #[must_use]
    pub fn with_link_layer(self, link_layer: LinkLayer) -> Self {
        ShaperParams { link_layer, ..self }
    }

    /// Every setting, to take apart without `..`: a new one does not compile until each engine has decided what it means.
    pub fn settings(&self) -> ShaperSettings {
        let ShaperParams { rate, burst, link_layer } = self;
        ShaperSettings { rate: *rate, burst: *burst, link_layer: *link_layer }
    }

    /// The rate at which packets leave.
    pub fn rate(&self) -> Rate {
        self.rate
    }

    /// The bytes that leave at full line rate after a pause.
    pub fn burst(&self) -> Bytes {
        self.burst
    }

    /// The link layer that determines how many bytes a packet counts.
    pub fn link_layer(&self) -> LinkLayer {
        self.link_layer
    }
}

/// Holds packets in an inner queue of any kind and limits the rate at which they leave (RFC 2475 §2.3.3.3:
/// shaper; RFC 3290 §7.2). It must be a little slower than the bottleneck behind it. Packets then wait here,
/// where a queue manages them.
///
/// A packet leaves when all packets before it are paid for. In any time t at most rate·t + burst bytes and one packet
/// leave. O(1) in addition to the inner queue.
pub struct Shaper {
    params: ShaperParams,
    inner: Box<dyn QueueDiscipline>,
    credit: Credit,
}

impl Shaper {
    /// A shaper over the packets of `inner`, with a full bucket. The rate of `inner`'s line is set to the
    /// shaper's rate.
    pub fn new(params: ShaperParams, mut inner: Box<dyn QueueDiscipline>) -> Self {
        inner.set_rate(Instant::START, params.rate);
        let credit = Credit::new(params.rate, params.burst);
        Shaper { params, inner, credit }
    }

    /// Pays for `packet`, which leaves at `now`.
    #[inline]
    fn pay(&mut self, now: Instant, packet: &Packet) {
        self.credit.pay(now, self.params.link_layer.wire_size(packet.bytes()));
    }
}

impl QueueDiscipline for Shaper {
    fn reserve(&mut self, packets: usize, flows: usize) {
        self.inner.reserve(packets, flows);
    }

    #[inline]
    fn enqueue(&mut self, now: Instant, packet: Packet, drops: &mut Drops) {
        self.inner.enqueue(now, packet, drops);
    }

    #[inline]
    fn dequeue(&mut self, now: Instant, drops: &mut Drops) -> Option<Queued> {
        if now < self.credit.free_at() {
            return None;
        }
        let queued = self.inner.dequeue(now, drops)?;
        self.pay(now, &queued.packet);
        Some(queued)
    }

    #[inline]
    fn pass(&mut self, now: Instant, packet: &Packet) -> Option<Verdict> {
        if now < self.credit.free_at() {
            return None;
        }
        let verdict = self.inner.pass(now, packet)?;
        if !matches!(verdict, Verdict::Drop(_)) {
            self.pay(now, packet);
        }
        Some(verdict)
    }

    #[inline]
    fn ready_at(&self) -> Option<Instant> {
        self.inner.ready_at().map(|ready_at| ready_at.max(self.credit.free_at()))
    }

    #[inline]
    fn backlog(&self) -> Backlog {
        self.inner.backlog()
    }

    fn average(&self) -> Option<f64> {
        self.inner.average()
    }

    fn ecn_marks(&self) -> u64 {
        self.inner.ecn_marks()
    }

    fn listens(&self) -> bool {
        self.inner.listens()
    }

    fn on_sender_event(&mut self, now: Instant, news: &SenderUpdate) {
        self.inner.on_sender_event(now, news);
    }

    fn counters(&self, visit: &mut dyn FnMut(&'static str, u64)) {
        self.inner.counters(visit);
    }

    fn class_counts(&self, around: &mut Vec<usize>, visit: &mut dyn FnMut(&[usize], u64)) {
        self.inner.class_counts(around, visit);
    }

    fn departed(&mut self, now: Instant) {
        self.inner.departed(now);
    }

    /// The rate of the inner queue's line is the lower of both.
    fn set_rate(&mut self, now: Instant, rate: Rate) {
        self.inner.set_rate(now, rate.min(self.params.rate));
    }
}
