//! Losses told by time, and tails that are probed: RACK-TLP (RFC 8985), with proportional rate reduction.
//!
//! A segment is lost when one that was sent later has arrived, and a round trip and a little more has passed
//! since it was sent; how many acknowledgements say so does not matter. What was sent again can be found
//! lost again. It stands for the scoreboard of RFC 6675, its pipe, and limited transmit: what the peer holds
//! is no longer in flight, so that new data follow it.

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

/// What waits for something to arrive are longer by, for timers: also of a probe where more than one segment is outstanding.
pub(crate) const TIMER_MARGIN: Duration = Duration::from_millis(2);

/// The probe timeout before there is a round-trip time (RFC 8985 §7.2).
const FIRST_PROBE: Duration = Duration::from_secs(1);

/// What is known of a sender's segments, and what the timer of the sender waits for.
#[derive(Debug)]
pub(crate) struct Rack {
    pub(crate) sent: SentSegments,
    /// RACK.xmit_ts and RACK.end_seq: the latest transmission that has arrived.
    latest: Stamp,
    /// RACK.rtt: the round trip of what arrived last.
    rtt: Duration,
    /// RACK.min_RTT; of the whole connection, where the RFC would forget old ones.
    min_rtt: Duration,
    /// RACK.fack: one past the highest offset that has arrived.
    highest: u64,
    /// RACK.reordering_seen.
    reordering_seen: bool,
    /// The greatest reordering extent (RFC 4737 §4.2.1), in bytes.
    reordering_extent: u64,
    /// Segments that the peer has reported to have got twice.
    reported: u32,
    /// What reports of duplicates have made of the reordering window.
    pub(crate) tolerance: Tolerance,
    /// How round trips deviate, which the retransmission timeout allows for.
    pub(crate) deviation: PeakDeviation,
    /// The reduction of a fast recovery.
    pub(crate) reduction: Reduction,
    pub(crate) awaits: Awaits,
    /// TLP.end_seq while a probe is not accounted for, and whether it was sent before (RFC 8985 §7.1).
    pub(crate) probe: Option<Probe>,
    /// Something has arrived since it was last judged what is lost.
    pub(crate) has_advanced: bool,
    /// What to go back to if a reduction turns out to have been without cause, while that is open.
    pub(crate) doubt: Option<Doubt>,
    /// The most that was outstanding in the flight that ends at the second offset.
    pub(crate) max_in_flight: (u64, u64),
}

/// What the sender's timer waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Awaits {
    /// The retransmission timeout.
    Timeout,
    /// The probe timeout, PTO.
    Probe,
    /// What has been overtaken to be late enough.
    Reordering,
}

/// A tail loss probe under way.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Probe {
    pub(crate) end: u64,
    pub(crate) is_retransmission: bool,
}

impl Probe {
    /// Whether what came twice up to `end` was the segment that was probed with.
    fn is_answered_by(self, end: u64) -> bool {
        self.is_retransmission && end == self.end
    }
}

/// What an acknowledgement tells.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct News {
    /// Bytes that the peer was not known to hold.
    pub(crate) delivered: u64,
    /// When the latest of them were sent.
    pub(crate) sent: Option<Instant>,
    /// What it reports to have got twice, from and to (RFC 2883).
    pub(crate) twice: Option<(u64, u64)>,
    /// Whether SACK blocks told of some of them.
    pub(crate) sacked: bool,
    /// One past the last byte of the first segment that arrived and was never sent again.
    pub(crate) original: Option<u64>,
    /// When the transmission left that an advancing acknowledgement answers, where it was the first one of its data;
    /// of what was sent again it is not known when that was, but long ago.
    pub(crate) answers_at: Option<Instant>,
    /// A round trip for the retransmission timeout: of the oldest of what arrived.
    pub(crate) rtt: Option<Duration>,
    /// A round trip for congestion control: of the latest of it, so without the wait of an acknowledgement
    /// that was held back. Only where nothing was sent again.
    pub(crate) latest_rtt: Option<Duration>,
}

/// What the first block reports to have come twice: it lies below what is acknowledged, or in the block behind it (RFC 2883
/// §5).
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
    /// The handshake took so long: the first of the least round trips.
    pub(crate) fn on_handshake(&mut self, rtt: Duration) {
        self.min_rtt = self.min_rtt.min(rtt);
    }

    /// Whether a round trip of what was sent again is that of an earlier transmission: shorter than any (RFC 8985
    /// §6.2, step 2). SACK blocks do not say more.
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
        // What is acknowledged in order comes last: RACK.rtt is then the round trip of what was not ahead of its turn.
        // Where queues let later segments overtake earlier ones, theirs is far too short for these. So does Linux.
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
            news.sent = news.sent.max(Some(segment.stamp.at));
            let rtt = now.since(segment.stamp.at);
            if segment.again && answers_earlier(&segment) {
                // RFC 8985 §6.2, step 2: the time of the retransmission tells nothing.
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
            // What timestamps say counts among the least round trips (RFC 8985 §6.2, step 1), as in Linux for the
            // acknowledgements that follow. Else a queue in front of the handshake that is empty by now would make each
            // retransmission look like an earlier one.
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

    /// A segment that is acknowledged in order was sent again, so its last transmission gives no round trip (Karn, RFC 6298 §3).
    /// As in Linux the sample comes from SACK blocks, or else from TSecr (RFC 7323 §4.1). Without it only segments that overtake
    /// others would give samples. SRTT, which bounds the reordering window, would be so short that all others seem lost.
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

    /// Whether the reordering extent exceeds the duplicate threshold. As in Linux, segments that arrive out of order then open
    /// the congestion window, too.
    #[inline]
    pub(crate) fn reorders_beyond_threshold(&self, mss: u16, config: &Config) -> bool {
        self.reordering_extent > u64::from(config.duplicate_ack_threshold) * u64::from(mss)
    }

    /// An original that ends at `end` has arrived after others that were sent later.
    #[cold]
    fn note_reordering(&mut self, end: u64) {
        self.reordering_seen = true;
        self.reordering_extent = self.reordering_extent.max(self.highest.saturating_sub(end));
    }

    /// What the peer reports to have got twice. What a probe sent again tells nothing of how segments overtake each other, nor
    /// does it where none has yet (as in Linux). Nothing that was not sent again can have come twice: a peer that reports more
    /// is not believed.
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

    /// All that was missing has been repaired. What is in doubt is now told by reports alone.
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
            // Blocks below SND.UNA or beyond what was sent tell nothing (RFC 2018 §4).
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

    /// RFC 8985 §6.2, steps 4 and 5: what is lost by now.
    pub(crate) fn judge(
        &mut self,
        now: Instant,
        phase: LossPhase,
        smoothed_rtt: Duration,
        config: &Config,
    ) -> Judged {
        if self.sent.is_in_order() {
            return Judged::default();
        }
        let window = self.reordering_window(phase, smoothed_rtt, config);
        self.sent.judge(now, self.latest, self.rtt + window)
    }

    /// RACK.reo_wnd: by how much segments may overtake each other.
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

    /// RFC 8985 §6.3: the retransmission timer expired. What was sent within a round trip may still arrive.
    pub(crate) fn on_timeout(&mut self, now: Instant) {
        self.sent.on_timeout(now, self.rtt);
        self.probe = None;
    }

    /// PTO of RFC 8985 §7.2: two round trips, and the time for which the acknowledgement of a single segment
    /// may be held back, for which Linux allows `rto_min`.
    pub(crate) fn probe_timeout(
        &self,
        smoothed_rtt: Option<Duration>,
        config: &Config,
    ) -> Duration {
        let Some(smoothed_rtt) = smoothed_rtt else { return FIRST_PROBE };
        let margin = if self.sent.count() == 1 { config.rto_min } else { TIMER_MARGIN };
        smoothed_rtt * 2 + margin
    }

    /// Whether a probe may be sent now: nothing is lost or held out of order (RFC 8985 §7.2).
    pub(crate) fn may_probe(&self, phase: LossPhase, config: &Config) -> bool {
        config.tail_loss_probe
            && phase == LossPhase::Open
            && self.sent.sacked() == 0
            && !self.sent.has_lost()
            && self.sent.count() > 0
    }

    /// Whether what arrived out of order had left before the first segment was sent again: that may still be on its way, and
    /// its timer starts anew, as in Linux.
    pub(crate) fn tells_of_earlier(&self, now: Instant, news: &News) -> bool {
        let first_sent_at = self.sent.first_sent_at();
        news.rtt.zip(first_sent_at).is_some_and(|(rtt, at)| rtt > now.since(at))
    }

    /// What becomes of a probe when `una` is acknowledged, by an acknowledgement that `advances` or not and tells `news`.
    /// Whether it repaired a loss, which congestion control must hear of (RFC 8985 §7.4.2).
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

    /// Notes how much is outstanding after a segment was sent; `una` and `max` are the sender's.
    #[inline]
    pub(crate) fn note_use(&mut self, una: u64, max: u64) {
        let outstanding = max - una;
        if una >= self.max_in_flight.1 || outstanding > self.max_in_flight.0 {
            self.max_in_flight = (outstanding, max);
        }
    }
}
