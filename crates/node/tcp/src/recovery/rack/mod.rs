//! RACK-TLP (RFC 8985): loss detection by time and tail loss probes, with proportional rate reduction.
//!
//! A segment is lost if a segment that was sent later has arrived, and a little more than a round trip has
//! passed since it was sent. The number of duplicate acknowledgements does not matter. Retransmissions can be
//! detected as lost too. This replaces the scoreboard of RFC 6675, its pipe, and limited transmit: what the
//! peer has received is no longer in flight, so new data follow it.

mod doubt;
mod reduction;
mod sent;
mod tolerance;

use shortflow_units::{Duration, Instant};

use super::{LossPhase, Outstanding};
use crate::Config;
use crate::header::{SackBlocks, Stamps, TcpHeader};
use crate::rtt::PeakDeviation;
use crate::seq::from_wire;
use crate::timestamps::in_ticks;
use tolerance::Tolerance;

pub(crate) use doubt::Doubt;
pub(crate) use reduction::Reduction;
use sent::Sent;
pub(crate) use sent::{Judged, SentSegments, Stamp};

/// Added to timers that wait for an arrival, also to probe timeouts while more than one segment is
/// outstanding.
pub(crate) const TIMER_MARGIN: Duration = Duration::from_millis(2);

/// The probe timeout before there is a round-trip time (RFC 8985 §7.2).
const FIRST_PROBE: Duration = Duration::from_secs(1);

/// The state of a sender's segments, and the purpose of its timer.
#[derive(Debug)]
pub(crate) struct Rack {
    pub(crate) sent: SentSegments,
    /// RACK.xmit_ts and RACK.end_seq: the latest transmission that has arrived.
    latest: Stamp,
    /// RACK.rtt: the round trip of the latest arrival.
    rtt: Duration,
    /// RACK.min_RTT of the whole connection; the RFC would forget old ones.
    min_rtt: Duration,
    /// RACK.fack: the end of the highest data that have arrived.
    highest: u64,
    /// RACK.reordering_seen.
    reordering_seen: bool,
    /// The largest reordering extent (RFC 4737 §4.2.1), in bytes.
    reordering_extent: u64,
    /// Segments that the peer has reported as duplicates.
    reported: u32,
    /// The factor of the reordering window, from reports of duplicates.
    pub(crate) tolerance: Tolerance,
    /// The deviation of round trips, for the retransmission timeout.
    pub(crate) deviation: PeakDeviation,
    /// The rate reduction of a fast recovery.
    pub(crate) reduction: Reduction,
    pub(crate) awaits: Awaits,
    /// TLP.end_seq while a probe is not answered, and whether the probe was a retransmission (RFC 8985 §7.1).
    pub(crate) probe: Option<Probe>,
    /// Data have arrived since losses were last detected.
    pub(crate) has_advanced: bool,
    /// The state to restore if a reduction proves unnecessary, while that is possible.
    pub(crate) doubt: Option<Doubt>,
    /// The largest amount outstanding in the flight that ends at the second offset.
    pub(crate) max_in_flight: (u64, u64),
}

/// The purpose of the sender's timer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Awaits {
    /// The retransmission timeout.
    Timeout,
    /// The probe timeout, PTO.
    Probe,
    /// Reordered segments, which become lost.
    Reordering,
}

/// A tail loss probe in flight.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Probe {
    pub(crate) end: u64,
    pub(crate) is_retransmission: bool,
}

impl Probe {
    /// Whether the duplicate up to `end` is the probe.
    fn is_answered_by(self, end: u64) -> bool {
        self.is_retransmission && end == self.end
    }
}

/// The content of an acknowledgement.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct News {
    /// Bytes that were not known to have arrived.
    pub(crate) delivered: u64,
    /// The number of their segments.
    pub(crate) segments: u32,
    /// When the latest of them were sent.
    pub(crate) sent: Option<Instant>,
    /// The reported duplicate, from and to (RFC 2883).
    pub(crate) twice: Option<(u64, u64)>,
    /// Whether SACK blocks reported some of them.
    pub(crate) sacked: bool,
    /// The end of the first segment that arrived and was never retransmitted.
    pub(crate) original: Option<u64>,
    /// When the transmission was sent that an advancing acknowledgement answers, if it was the first of its
    /// data. For retransmitted data the time is unknown, but long ago.
    pub(crate) answers_at: Option<Instant>,
    /// A round trip for the retransmission timeout: that of the oldest arrival.
    pub(crate) rtt: Option<Duration>,
    /// A round trip for congestion control: that of the latest arrival, so without the delay of the
    /// acknowledgement. Only if nothing was retransmitted.
    pub(crate) latest_rtt: Option<Duration>,
}

/// The duplicate that the first block reports: below the cumulative acknowledgement, or inside the next block
/// (RFC 2883 §5).
#[cold]
fn reported_twice(sent: &Outstanding, blocks: &SackBlocks) -> Option<(u64, u64)> {
    let place = |offset| from_wire(sent.initial, sent.una, offset);
    let mut blocks = blocks.as_slice().iter().map(|&(from, to)| (place(from), place(to)));
    let (from, to) = blocks.next().filter(|(from, to)| from < to && *to <= sent.max)?;
    let is_around = |(first, end)| first <= from && to <= end;
    (to <= sent.una || blocks.next().is_some_and(is_around)).then_some((from, to))
}

impl Default for Rack {
    fn default() -> Self {
        Rack {
            sent: SentSegments::default(),
            latest: Stamp { at: Instant::START, end: 0 },
            rtt: Duration::ZERO,
            min_rtt: Duration::MAX,
            highest: 0,
            reordering_seen: false,
            reordering_extent: 0,
            reported: 0,
            tolerance: Tolerance::default(),
            deviation: PeakDeviation::default(),
            reduction: Reduction::default(),
            awaits: Awaits::Timeout,
            probe: None,
            has_advanced: false,
            doubt: None,
            max_in_flight: (0, 0),
        }
    }
}

impl Rack {
    /// The duration of the handshake is the first sample of the smallest round trip.
    pub(crate) fn on_handshake(&mut self, rtt: Duration) {
        self.min_rtt = self.min_rtt.min(rtt);
    }

    /// Whether the round trip of a retransmission belongs to an earlier transmission, because it is shorter
    /// than any (RFC 8985 §6.2, step 2). SACK blocks give no better evidence.
    fn is_of_earlier(&self, rtt: Duration) -> bool {
        self.min_rtt != Duration::MAX && rtt < self.min_rtt
    }

    /// RFC 8985 §6.2, steps 1 to 3.
    #[inline]
    pub(crate) fn on_ack(&mut self, now: Instant, sent: &Outstanding, header: &TcpHeader) -> News {
        let mut news = News::default();
        let tsecr = header.tsecr.end_of_tick(now);
        let mut oldest_again = None;
        let mut is_repeated = false;
        let (mut advances, mut acks_retransmission) = (false, false);
        let answers_earlier = |segment: &Sent| match tsecr {
            Some(tsecr) => tsecr < segment.stamp.at,
            None => !header.stamps.has(Stamps::ANSWERS_AGAIN),
        };
        // Data acknowledged in order come last, so that RACK.rtt is their round trip. If queues let later
        // segments arrive before earlier ones, the round trips of the later ones are far too short. Linux
        // does the same.
        if !header.sack.is_empty() {
            news.twice = self.take_report(sent, &header.sack);
            self.take_blocks(now, sent, &header.sack, &mut news);
        }
        let of_blocks = news.rtt;
        while let Some((segment, bytes)) = self.sent.pop_acknowledged(sent.una) {
            advances = true;
            acks_retransmission |= segment.again;
            if bytes == 0 {
                continue; // it was SACKed before
            }
            news.delivered += bytes;
            news.segments += 1;
            news.sent = news.sent.max(Some(segment.stamp.at));
            let rtt = now.since(segment.stamp.at);
            if segment.again && answers_earlier(&segment) {
                // RFC 8985 §6.2, step 2: the time of the retransmission is not valid evidence.
                news.answers_at = news.answers_at.or(Some(Instant::START));
                self.note_reordering(segment.stamp.end);
                continue;
            }
            if segment.again {
                oldest_again = oldest_again.or(Some(rtt));
                is_repeated = true;
            } else {
                news.rtt = news.rtt.or(Some(rtt));
                news.original = news.original.or(Some(segment.stamp.end));
                if !header.stamps.has(Stamps::ANSWERS_AGAIN) {
                    news.answers_at = news.answers_at.or(Some(segment.stamp.at));
                }
                news.latest_rtt = Some(rtt);
            }
            self.arrived(segment.stamp, segment.again, rtt);
        }
        if let Some(tsecr) = tsecr.filter(|_| advances) {
            news.answers_at = Some(tsecr);
            if acks_retransmission {
                self.sample_by_tsecr(now, tsecr, of_blocks, &mut news);
            }
        } else if is_repeated {
            // Round trips from timestamps count for the minimum (RFC 8985 §6.2, step 1), as in Linux for
            // later acknowledgements. Otherwise, if the queue during the handshake is empty by now, each
            // retransmission would look like an earlier transmission.
            news.latest_rtt = None;
            news.rtt = oldest_again.map(|rtt| in_ticks(now, rtt));
            self.min_rtt = self.min_rtt.min(news.rtt.unwrap_or(Duration::MAX));
        }
        if self.sent.has_reneged() {
            self.sent.renege();
        }
        if let Some(sent) = news.sent {
            self.tolerance.on_arrival(now, sent);
        }
        news
    }

    /// A retransmitted segment that is acknowledged in order gives no round trip (Karn, RFC 6298 §3). As in
    /// Linux the sample comes from SACK blocks, or else from TSecr (RFC 7323 §4.1). Otherwise only reordered
    /// segments would give samples. SRTT, which limits the reordering window, would be so short that all
    /// other segments seem lost.
    #[cold]
    fn sample_by_tsecr(
        &mut self,
        now: Instant,
        tsecr: Instant,
        of_blocks: Option<Duration>,
        news: &mut News,
    ) {
        news.latest_rtt = None;
        news.rtt = of_blocks.or_else(|| Some(in_ticks(now, now.since(tsecr))));
        self.min_rtt = self.min_rtt.min(news.rtt.unwrap_or(Duration::MAX));
    }

    /// Whether the reordering extent exceeds the duplicate threshold. As in Linux, out-of-order segments then
    /// open the congestion window too.
    #[inline]
    pub(crate) fn reorders_beyond_threshold(&self, mss: u64, config: &Config) -> bool {
        self.reordering_extent > u64::from(config.duplicate_ack_threshold) * mss
    }

    /// An original that ends at `end` arrived after segments that were sent later.
    #[cold]
    fn note_reordering(&mut self, end: u64) {
        self.reordering_seen = true;
        self.reordering_extent = self.reordering_extent.max(self.highest.saturating_sub(end));
    }

    /// Processes reported duplicates. As in Linux, a retransmitted probe says nothing about reordering, and
    /// nothing counts before the first reordering. Reports of data that were not retransmitted are invalid
    /// and ignored.
    #[cold]
    pub(crate) fn take_report(
        &mut self,
        sent: &Outstanding,
        blocks: &SackBlocks,
    ) -> Option<(u64, u64)> {
        let (from, to) = reported_twice(sent, blocks)?;
        let segments = (to - from).div_ceil(u64::from(sent.mss)).try_into().unwrap_or(u32::MAX);
        self.reported = self.reported.saturating_add(segments);
        if self.reported > sent.sent_again {
            return None;
        }
        let is_probe = self.probe.is_some_and(|probe| probe.is_answered_by(to));
        if self.reordering_seen && !is_probe {
            self.tolerance.on_duplicate();
        }
        if let Some(doubt) = &mut self.doubt {
            doubt.on_report(to, segments);
        }
        Some((from, to))
    }

    /// All missing data have been recovered. From now on only reports can prove a reduction unnecessary.
    pub(crate) fn on_recovered(&mut self) {
        self.tolerance.on_recovered();
        if let Some(doubt) = &mut self.doubt {
            doubt.leave_to_reports();
        }
    }

    #[cold]
    fn take_blocks(
        &mut self,
        now: Instant,
        sent: &Outstanding,
        blocks: &SackBlocks,
        news: &mut News,
    ) {
        let mut message = [(0, 0); SackBlocks::MAX];
        for (&(from, to), message) in blocks.as_slice().iter().zip(&mut message) {
            let from = from_wire(sent.initial, sent.una, from);
            let to = from_wire(sent.initial, sent.una, to);
            // Blocks below SND.UNA or above the data sent are ignored (RFC 2018 §4).
            if from < sent.una || from >= to || to > sent.max {
                continue;
            }
            *message = (from, to);
            let mut arrived = [None; 2];
            let mut late = None;
            let (highest, mut top) = (self.highest, self.highest);
            let mut min = self.min_rtt;
            self.sent.sack(from, to, |segment, bytes| {
                news.delivered += bytes;
                news.segments += 1;
                news.sent = news.sent.max(Some(segment.stamp.at));
                news.sacked = true;
                let rtt = now.since(segment.stamp.at);
                if segment.again {
                    if min != Duration::MAX && rtt < min {
                        return;
                    }
                } else {
                    min = min.min(rtt);
                    let is_late = segment.stamp.end < highest;
                    late = late.or(is_late.then_some(segment.stamp.end));
                    top = top.max(segment.stamp.end);
                    news.rtt = news.rtt.or(Some(rtt));
                    news.original = news.original.or(Some(segment.stamp.end));
                }
                arrived = [arrived[0].max(Some(segment.stamp)), Some(segment.stamp)];
            });
            self.highest = top;
            self.min_rtt = min;
            if let Some(end) = late {
                self.note_reordering(end);
            }
            if let [Some(latest), Some(last)] = arrived {
                self.rtt = now.since(last.at);
                self.latest = self.latest.max(latest);
                self.has_advanced = true;
            }
        }
        self.sent.remember(message);
    }

    /// A transmission has arrived (RFC 8985 §6.2, steps 1 to 3).
    #[inline]
    fn arrived(&mut self, stamp: Stamp, again: bool, rtt: Duration) {
        if again {
            if self.is_of_earlier(rtt) {
                return;
            }
        } else {
            self.min_rtt = self.min_rtt.min(rtt);
            if stamp.end < self.highest {
                self.note_reordering(stamp.end);
            }
            self.highest = self.highest.max(stamp.end);
        }
        self.rtt = rtt;
        self.latest = self.latest.max(stamp);
        self.has_advanced = true;
    }

    /// RFC 8985 §6.2, steps 4 and 5: detects losses.
    pub(crate) fn judge(
        &mut self,
        now: Instant,
        phase: LossPhase,
        smoothed_rtt: Duration,
        config: &Config,
    ) -> Judged {
        if self.sent.is_in_order(self.latest) {
            return Judged::default();
        }
        let window = self.reordering_window(phase, smoothed_rtt, config);
        self.sent.judge(now, self.latest, self.rtt + window)
    }

    /// RACK.reo_wnd: the tolerance for reordering.
    fn reordering_window(
        &self,
        phase: LossPhase,
        smoothed_rtt: Duration,
        config: &Config,
    ) -> Duration {
        let is_sure =
            phase != LossPhase::Open || self.sent.sacked() >= config.duplicate_ack_threshold;
        if is_sure && !self.reordering_seen {
            return Duration::ZERO;
        }
        (self.min_rtt / 4 * self.tolerance.times()).min(smoothed_rtt)
    }

    /// RFC 8985 §6.3: the retransmission timer expired. Data sent within the last round trip may still
    /// arrive.
    pub(crate) fn on_timeout(&mut self, now: Instant) {
        self.sent.on_timeout(now, self.rtt);
        self.probe = None;
    }

    /// PTO of RFC 8985 §7.2: two round trips, and the possible delay of a single segment's acknowledgement,
    /// for which Linux assumes `rto_min`.
    pub(crate) fn probe_timeout(
        &self,
        smoothed_rtt: Option<Duration>,
        config: &Config,
    ) -> Duration {
        let Some(smoothed_rtt) = smoothed_rtt else { return FIRST_PROBE };
        let margin = if self.sent.count() == 1 { config.rto_min } else { TIMER_MARGIN };
        smoothed_rtt * 2 + margin
    }

    /// Whether a probe may be sent now: nothing is lost or out of order (RFC 8985 §7.2).
    pub(crate) fn may_probe(&self, phase: LossPhase, config: &Config) -> bool {
        config.tail_loss_probe
            && phase == LossPhase::Open
            && self.sent.sacked() == 0
            && !self.sent.has_lost()
            && self.sent.count() > 0
    }

    /// Whether the out-of-order arrivals were sent before the first segment was retransmitted. That may still
    /// be in flight, and its timer restarts, as in Linux.
    pub(crate) fn tells_of_earlier(&self, now: Instant, news: &News) -> bool {
        let first_sent_at = self.sent.first_sent_at();
        news.rtt.zip(first_sent_at).is_some_and(|(rtt, at)| rtt > now.since(at))
    }

    /// Updates the probe when `una` is acknowledged, by an acknowledgement that `advances` or not and reports
    /// `news`. Returns whether the probe repaired a loss, which congestion control must process (RFC 8985
    /// §7.4.2).
    #[inline]
    pub(crate) fn ends_probe(&mut self, una: u64, advances: bool, news: &News) -> bool {
        let Some(probe) = self.probe else { return false };
        if una < probe.end {
            return false;
        }
        let is_twice = news.twice.is_some_and(|(_, to)| probe.is_answered_by(to));
        let has_repaired = probe.is_retransmission && una > probe.end && !is_twice;
        let is_nothing_new = !advances && news.delivered == 0;
        if !probe.is_retransmission || has_repaired || is_nothing_new || is_twice {
            self.probe = None;
        }
        has_repaired
    }

    /// Records the amount outstanding after a segment is sent; `una` and `max` are the sender's.
    #[inline]
    pub(crate) fn note_use(&mut self, una: u64, max: u64) {
        let outstanding = max - una;
        if una >= self.max_in_flight.1 || outstanding > self.max_in_flight.0 {
            self.max_in_flight = (outstanding, max);
        }
    }
}
