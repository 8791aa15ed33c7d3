//! The outstanding segments, each with the time of its latest transmission.
//!
//! Originals are in order of both sequence and time; only retransmissions are not. A walk over originals from
//! the oldest unknown one, and a walk over retransmissions, therefore visit all segments in order of time,
//! each once.

use std::collections::VecDeque;

use shortflow_units::{Duration, Instant};

/// When a transmission was sent. Equal times, as in a burst, are ordered by sequence (`RACK_sent_after()`,
/// RFC 8985 §6.2).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Stamp {
    pub(crate) at: Instant,
    /// The end offset.
    pub(crate) end: u64,
}

/// A segment that is not cumulatively acknowledged.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Sent {
    /// The stamp of the latest transmission.
    pub(crate) stamp: Stamp,
    length: u32,
    fate: Fate,
    /// Retransmitted.
    pub(crate) again: bool,
    /// In flight again after a loss.
    repairs: bool,
}

impl Sent {
    fn start(&self) -> u64 {
        self.stamp.end - u64::from(self.length)
    }
}

/// The state of a segment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fate {
    InFlight,
    /// The peer has received it.
    Sacked,
    /// Its latest transmission is lost.
    Lost,
}

/// The outstanding segments, in order of sequence.
#[derive(Debug, Default)]
pub(crate) struct SentSegments {
    segments: VecDeque<Sent>,
    sacked: u32,
    lost: u32,
    /// Repairs of losses in flight.
    repairs: u32,
    /// No segment before this one is lost.
    lost_from: usize,
    /// No segment before this one is an original in flight.
    unjudged: usize,
    /// Retransmissions in order of time. Entries that are no longer current are skipped.
    again: VecDeque<Stamp>,
    /// Blocks of the latest acknowledgement, which need no second visit.
    reported: [(u64, u64); 3],
}

/// The result of loss detection.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Judged {
    /// Further segments are lost.
    pub(crate) lost: bool,
    /// Retransmitted segments are lost.
    pub(crate) lost_again: bool,
    /// The longest wait until all reordered segments count as lost.
    pub(crate) wait: Duration,
}

impl SentSegments {
    /// Segments in flight: neither received by the peer nor lost.
    #[inline]
    pub(crate) fn in_flight(&self) -> u64 {
        self.segments.len() as u64 - u64::from(self.sacked) - u64::from(self.lost)
    }

    /// Segments that the peer has received out of order.
    pub(crate) fn sacked(&self) -> u32 {
        self.sacked
    }

    /// The number of retransmitted segments in flight.
    pub(crate) fn again_in_flight(&self) -> u32 {
        let in_flight = self.segments.iter().filter(|segment| segment.fate == Fate::InFlight);
        in_flight.filter(|segment| segment.again).count() as u32
    }

    /// When the earliest repair in flight was sent.
    pub(crate) fn first_repair_at(&self) -> Option<Instant> {
        let is_repair = |segment: &&Sent| segment.repairs && segment.fate == Fate::InFlight;
        self.segments.iter().filter(is_repair).map(|segment| segment.stamp.at).min()
    }

    pub(crate) fn has_lost(&self) -> bool {
        self.lost > 0
    }

    /// Whether a segment is lost, or was and the peer has not acknowledged its repair.
    #[inline]
    pub(crate) fn has_open_losses(&self) -> bool {
        self.lost + self.repairs > 0
    }

    /// Whether [`judge`](Self::judge) has nothing to do: nothing is lost or out of order, nothing was
    /// retransmitted, and nothing was sent before the `latest` transmission that has arrived.
    #[inline]
    pub(crate) fn is_in_order(&self, latest: Stamp) -> bool {
        let is_last = self.segments.front().is_none_or(|first| first.stamp > latest);
        self.sacked == 0 && self.lost == 0 && self.again.is_empty() && is_last
    }

    /// The number of segments that are not cumulatively acknowledged.
    pub(crate) fn count(&self) -> usize {
        self.segments.len()
    }

    /// When the first segment was last sent.
    pub(crate) fn first_sent_at(&self) -> Option<Instant> {
        self.segments.front().map(|first| first.stamp.at)
    }

    /// `from..to` is sent for the first time.
    #[inline]
    pub(crate) fn on_send(&mut self, now: Instant, from: u64, to: u64) {
        let length = (to - from) as u32;
        let stamp = Stamp { at: now, end: to };
        self.segments.push_back(Sent {
            stamp,
            length,
            fate: Fate::InFlight,
            again: false,
            repairs: false,
        });
    }

    /// The next whole segment that is cumulatively acknowledged, each once, and whether it was known to have
    /// arrived.
    #[inline]
    pub(crate) fn pop_acknowledged(&mut self, una: u64) -> Option<(Sent, u64)> {
        let first = *self.segments.front()?;
        if first.stamp.end > una {
            self.trim_first(una);
            return None;
        }
        self.segments.pop_front();
        self.lost_from = self.lost_from.saturating_sub(1);
        self.unjudged = self.unjudged.saturating_sub(1);
        let news = self.leave(&first);
        Some((first, news))
    }

    /// Handles an acknowledgement in the middle of a segment.
    #[inline]
    fn trim_first(&mut self, una: u64) {
        let Some(first) = self.segments.front_mut() else { return };
        let gone = una.saturating_sub(first.start()) as u32;
        if gone > 0 {
            first.length -= gone;
        }
    }

    /// Removes a segment from the sums. Returns its bytes that were not known to have arrived.
    #[inline]
    fn leave(&mut self, segment: &Sent) -> u64 {
        match segment.fate {
            Fate::InFlight => self.repairs -= u32::from(segment.repairs),
            Fate::Lost => self.lost -= 1,
            Fate::Sacked => {
                self.sacked -= 1;
                return 0;
            }
        }
        u64::from(segment.length)
    }

    /// The peer has received `from..to`. Calls `each` with every segment for which this is new, and its
    /// bytes.
    pub(crate) fn sack(&mut self, from: u64, to: u64, mut each: impl FnMut(&Sent, u64)) {
        // Only the new part of a block is processed.
        let known = self.reported.iter().find(|reported| reported.0 <= from && from < reported.1);
        let beyond = known.map_or(from, |reported| reported.1.min(to));
        let mut index = self.segments.partition_point(|segment| segment.stamp.end <= beyond);
        while let Some(&segment) = self.segments.get(index)
            && segment.stamp.end <= to
        {
            if segment.fate != Fate::Sacked && segment.start() >= from {
                let news = self.leave(&segment);
                self.segments[index].fate = Fate::Sacked;
                self.sacked += 1;
                each(&segment, news);
            }
            index += 1;
        }
    }

    /// Stores the blocks of the latest acknowledgement.
    pub(crate) fn remember(&mut self, blocks: [(u64, u64); 3]) {
        self.reported = blocks;
    }

    /// The peer has discarded data that it had received (RFC 2018 §8): they count as lost.
    pub(crate) fn renege(&mut self) {
        self.reported = Default::default();
        self.lost_from = 0;
        for segment in self.segments.iter_mut().filter(|segment| segment.fate == Fate::Sacked) {
            segment.fate = Fate::Lost;
            self.sacked -= 1;
            self.lost += 1;
        }
    }

    /// Whether the peer does not acknowledge data although nothing is missing before them.
    pub(crate) fn has_reneged(&self) -> bool {
        self.segments.front().is_some_and(|first| first.fate == Fate::Sacked)
    }

    /// The first lost segment.
    pub(crate) fn first_lost(&mut self) -> Option<(u64, u64)> {
        if self.lost == 0 {
            return None;
        }
        while self.segments[self.lost_from].fate != Fate::Lost {
            self.lost_from += 1;
        }
        let segment = &self.segments[self.lost_from];
        Some((segment.start(), segment.stamp.end))
    }

    /// The first outstanding segment.
    pub(crate) fn first(&self) -> Option<(u64, u64)> {
        self.segments.front().map(|segment| (segment.start(), segment.stamp.end))
    }

    /// The last one.
    pub(crate) fn last(&self) -> Option<(u64, u64)> {
        self.segments.back().map(|segment| (segment.start(), segment.stamp.end))
    }

    /// Before the segment that starts at `from` is retransmitted: as in Linux, it is joined with those after it
    /// that the peer has not received, as far as a segment of `mss` bytes has room. Data end at `end`, where a
    /// FIN may follow. Returns the end of the joined segment.
    pub(crate) fn join(&mut self, from: u64, mss: u64, end: u64) -> Option<u64> {
        let index = self.segments.partition_point(|segment| segment.start() < from);
        let payload_until = |segment: &Sent| segment.stamp.end.min(end) - from;
        while let Some(next) = self.segments.get(index + 1).copied()
            && payload_until(&self.segments[index]) < mss
            && payload_until(&next) <= mss
            && next.fate != Fate::Sacked
        {
            self.segments.remove(index + 1);
            self.leave(&next);
            self.lost_from -= usize::from(self.lost_from > index + 1);
            self.unjudged -= usize::from(self.unjudged > index + 1);
            let segment = &mut self.segments[index];
            segment.length += next.length;
            segment.stamp.end = next.stamp.end;
        }
        self.segments.get(index).map(|segment| segment.stamp.end)
    }

    /// Whether the segment that starts at `from` ends at `end`.
    pub(crate) fn reaches(&self, from: u64, end: u64) -> bool {
        let index = self.segments.partition_point(|segment| segment.start() < from);
        self.segments.get(index).is_some_and(|segment| segment.stamp.end == end)
    }

    /// The segment that starts at `from` is retransmitted, up to `to`: a FIN may have joined it.
    pub(crate) fn on_retransmit(&mut self, now: Instant, from: u64, to: u64) {
        let index = self.segments.partition_point(|segment| segment.start() < from);
        let is_last = index + 1 == self.segments.len();
        let Some(segment) = self.segments.get_mut(index).filter(|s| s.start() == from) else {
            return;
        };
        match segment.fate {
            Fate::Lost => {
                segment.fate = Fate::InFlight;
                segment.repairs = true;
                self.lost -= 1;
                self.repairs += 1;
            }
            Fate::InFlight => {}
            Fate::Sacked => return,
        }
        if is_last && to > segment.stamp.end {
            let more = (to - segment.stamp.end) as u32;
            segment.length += more;
            segment.stamp.end = to;
        }
        segment.again = true;
        segment.stamp.at = now;
        self.again.push_back(segment.stamp);
    }

    /// RFC 8985 §6.2, step 5: segments that were sent before `latest`, which has arrived, are lost if they
    /// are older than `age`.
    pub(crate) fn judge(&mut self, now: Instant, latest: Stamp, age: Duration) -> Judged {
        let mut judged = Judged::default();
        self.judge_originals(now, latest, age, &mut judged);
        self.judge_again(now, latest, age, &mut judged);
        judged
    }

    fn judge_originals(&mut self, now: Instant, latest: Stamp, age: Duration, judged: &mut Judged) {
        let mut all_judged = true;
        for index in self.unjudged..self.segments.len() {
            let segment = &mut self.segments[index];
            if segment.fate == Fate::InFlight && !segment.again {
                if segment.stamp >= latest {
                    break;
                }
                let wait = (segment.stamp.at + age).since(now);
                if wait.is_zero() {
                    segment.fate = Fate::Lost;
                    self.lost += 1;
                    self.lost_from = self.lost_from.min(index);
                    judged.lost = true;
                } else {
                    judged.wait = judged.wait.max(wait);
                    all_judged = false;
                }
            }
            if all_judged {
                self.unjudged = index + 1;
            }
        }
    }

    fn judge_again(&mut self, now: Instant, latest: Stamp, age: Duration, judged: &mut Judged) {
        let mut place = 0;
        while let Some(&stamp) = self.again.get(place)
            && stamp.at <= latest.at
        {
            let index = self.segments.partition_point(|segment| segment.stamp.end < stamp.end);
            let found = self.segments.get_mut(index).filter(|segment| segment.stamp == stamp);
            if let Some(segment) = found.filter(|segment| segment.fate == Fate::InFlight) {
                let wait = (stamp.at + age).since(now);
                if stamp >= latest || !wait.is_zero() {
                    if stamp < latest {
                        judged.wait = judged.wait.max(wait);
                    }
                    place += 1;
                    continue;
                }
                segment.fate = Fate::Lost;
                self.repairs -= u32::from(segment.repairs);
                self.lost += 1;
                self.lost_from = self.lost_from.min(index);
                judged.lost = true;
                judged.lost_again = true;
            }
            self.again.remove(place);
        }
    }

    /// Nothing was lost.
    ///
    /// After a timeout everything is judged again. In fast recovery, where losses were detected by time,
    /// presumed losses are not judged again before they are retransmitted, as in Linux. They are only later
    /// than others, and would be detected as lost with the next acknowledgement.
    pub(crate) fn forget_losses(&mut self, after_timeout: bool) {
        for segment in self.segments.iter_mut().filter(|segment| segment.fate != Fate::Sacked) {
            segment.fate = Fate::InFlight;
            segment.repairs = false;
        }
        (self.lost, self.repairs) = (0, 0);
        if after_timeout {
            self.unjudged = 0;
            let again = self.segments.iter().filter(|segment| segment.again);
            self.again = again.map(|segment| segment.stamp).collect();
            self.again.make_contiguous().sort_unstable();
        }
    }

    /// RFC 8985 §6.3: the timer expired. The first segment is lost, and all segments older than `age`.
    pub(crate) fn on_timeout(&mut self, now: Instant, age: Duration) {
        for (index, segment) in self.segments.iter_mut().enumerate() {
            let is_old = index == 0 || segment.stamp.at + age <= now;
            if segment.fate == Fate::InFlight && is_old {
                segment.fate = Fate::Lost;
                self.repairs -= u32::from(segment.repairs);
                self.lost += 1;
            }
        }
        self.lost_from = 0;
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// RFC 8985 §6.2, step 5, as the text has it: every segment is looked at each time.
    #[derive(Debug, Default)]
    struct Plain {
        segments: Vec<(u64, Stamp, Fate, bool)>,
    }

    impl Plain {
        fn count(&self, fate: Fate) -> u32 {
            self.segments.iter().filter(|segment| segment.2 == fate).count() as u32
        }

        fn first_lost(&self) -> Option<(u64, u64)> {
            let lost = self.segments.iter().find(|segment| segment.2 == Fate::Lost)?;
            Some((lost.0, lost.1.end))
        }

        fn judge(&mut self, now: Instant, latest: Stamp, age: Duration) -> Judged {
            let mut judged = Judged::default();
            for (_, stamp, fate, again) in &mut self.segments {
                if *fate != Fate::InFlight || *stamp >= latest {
                    continue;
                }
                let wait = (stamp.at + age).since(now);
                if wait.is_zero() {
                    *fate = Fate::Lost;
                    judged.lost = true;
                    judged.lost_again |= *again;
                } else {
                    judged.wait = judged.wait.max(wait);
                }
            }
            judged
        }
    }

    #[derive(Debug, Clone)]
    enum Operation {
        Send(u64),
        Sack(usize, usize),
        Acknowledge(usize),
        Retransmit,
        ProbeLast,
        Join(u64),
        Judge(usize, u64),
        Timeout(u64),
        Pass(u64),
    }

    fn operations() -> impl Strategy<Value = Vec<Operation>> {
        let operation = prop_oneof![
            4 => (1u64..4).prop_map(Operation::Send),
            4 => (0usize..12, 1usize..4).prop_map(|(from, count)| Operation::Sack(from, count)),
            1 => (1usize..4).prop_map(Operation::Acknowledge),
            4 => Just(Operation::Retransmit),
            1 => Just(Operation::ProbeLast),
            2 => (1u64..8).prop_map(Operation::Join),
            4 => (0usize..12, 0u64..30).prop_map(|(latest, age)| Operation::Judge(latest, age)),
            1 => (0u64..30).prop_map(Operation::Timeout),
            4 => (0u64..10).prop_map(Operation::Pass),
        ];
        prop::collection::vec(operation, 1..80)
    }

    fn retransmit(plain: &mut Plain, sent: &mut SentSegments, now: Instant, index: usize) {
        let segment = &mut plain.segments[index];
        sent.on_retransmit(now, segment.0, segment.1.end);
        if segment.2 != Fate::Sacked {
            segment.1.at = now;
            segment.2 = Fate::InFlight;
            segment.3 = true;
        }
    }

    /// Acknowledges all up to the `count`-th segment, and what is SACKed from there on, as a peer would.
    fn acknowledge(plain: &mut Plain, sent: &mut SentSegments, count: usize) {
        let mut count = count.min(plain.segments.len());
        while plain.segments.get(count).is_some_and(|segment| segment.2 == Fate::Sacked) {
            count += 1;
        }
        let Some(last) = count.checked_sub(1) else { return };
        let una = plain.segments[last].1.end;
        for (start, stamp, fate, again) in plain.segments.drain(..count) {
            let (found, news) = sent.pop_acknowledged(una).expect("it is acknowledged");
            assert_eq!((found.stamp, found.again), (stamp, again));
            assert_eq!(news, if fate == Fate::Sacked { 0 } else { stamp.end - start });
        }
        assert!(sent.pop_acknowledged(una).is_none());
    }

    /// Joins the first lost segment with those after it, one by one.
    fn join(plain: &mut Plain, sent: &mut SentSegments, mss: u64) {
        let Some((from, mut to)) = sent.first_lost() else { return };
        let index = plain.segments.iter().position(|segment| segment.0 == from).unwrap();
        while to - from < mss
            && let Some(&(_, stamp, fate, _)) = plain.segments.get(index + 1)
            && fate != Fate::Sacked
            && stamp.end - from <= mss
        {
            to = stamp.end;
            plain.segments.remove(index + 1);
            plain.segments[index].1.end = to;
        }
        assert_eq!(sent.join(from, mss, u64::MAX), Some(to));
    }

    fn apply(operation: &Operation, plain: &mut Plain, sent: &mut SentSegments, now: &mut Instant) {
        let next = plain.segments.last().map_or(sent.next_for_tests(), |last| last.1.end);
        match *operation {
            Operation::Send(length) => {
                sent.on_send(*now, next, next + length);
                let stamp = Stamp { at: *now, end: next + length };
                plain.segments.push((next, stamp, Fate::InFlight, false));
            }
            Operation::Sack(from, count) => {
                // The first is missing; everything between two offsets arrived.
                let held = plain.segments.iter_mut().skip(1 + from).take(count);
                let mut block: Option<(u64, u64)> = None;
                let mut news = 0;
                for segment in held {
                    block = Some((block.map_or(segment.0, |block| block.0), segment.1.end));
                    if segment.2 != Fate::Sacked {
                        news += segment.1.end - segment.0;
                        segment.2 = Fate::Sacked;
                    }
                }
                let Some((from, to)) = block else { return };
                let mut reported = 0;
                sent.sack(from, to, |_, bytes| reported += bytes);
                sent.remember([(from, to), (0, 0), (0, 0)]);
                assert_eq!(reported, news);
            }
            Operation::Acknowledge(count) => acknowledge(plain, sent, count),
            Operation::Retransmit => {
                if let Some((from, _)) = sent.first_lost() {
                    let index = plain.segments.iter().position(|segment| segment.0 == from);
                    retransmit(plain, sent, *now, index.expect("it is outstanding"));
                }
            }
            Operation::ProbeLast => {
                if let Some(last) = plain.segments.len().checked_sub(1) {
                    retransmit(plain, sent, *now, last);
                }
            }
            Operation::Join(mss) => join(plain, sent, mss),
            Operation::Judge(latest, age) => {
                let Some(latest) = plain.segments.get(latest).map(|segment| segment.1) else {
                    return;
                };
                let age = Duration::from_millis(age);
                assert_eq!(sent.judge(*now, latest, age), plain.judge(*now, latest, age));
            }
            Operation::Timeout(age) => {
                let age = Duration::from_millis(age);
                sent.on_timeout(*now, age);
                for (index, segment) in plain.segments.iter_mut().enumerate() {
                    let is_old = index == 0 || segment.1.at + age <= *now;
                    if segment.2 == Fate::InFlight && is_old {
                        segment.2 = Fate::Lost;
                    }
                }
            }
            Operation::Pass(millis) => *now += Duration::from_millis(millis),
        }
    }

    impl SentSegments {
        /// Where a stream goes on when nothing is outstanding.
        fn next_for_tests(&self) -> u64 {
            self.reported.iter().map(|reported| reported.1).max().unwrap_or(0) + 100
        }
    }

    fn at(millis: u64) -> Instant {
        Instant::START + Duration::from_millis(millis)
    }

    /// RFC 8985 §6.2, step 5: "timeout = max(remaining, timeout)".
    #[test]
    fn the_wait_is_for_the_latest_of_what_was_sent_again() {
        let mut sent = SentSegments::default();
        (0..3).for_each(|number| sent.on_send(at(0), number * 100, number * 100 + 100));
        sent.on_retransmit(at(0), 0, 100);
        sent.on_retransmit(at(5), 100, 200);
        sent.on_retransmit(at(6), 200, 300);
        let judged = sent.judge(at(6), Stamp { at: at(6), end: 300 }, Duration::from_millis(12));
        assert_eq!(judged, Judged { wait: Duration::from_millis(11), ..Judged::default() });
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(2000))]

        #[test]
        fn walks_that_see_a_segment_once_find_what_looking_at_all_of_them_finds(
            operations in operations(),
        ) {
            let (mut plain, mut sent) = (Plain::default(), SentSegments::default());
            let mut now = Instant::START;
            for operation in &operations {
                apply(operation, &mut plain, &mut sent, &mut now);
                prop_assert_eq!(sent.in_flight(), u64::from(plain.count(Fate::InFlight)));
                prop_assert_eq!(sent.sacked(), plain.count(Fate::Sacked));
                prop_assert_eq!(sent.has_lost(), plain.count(Fate::Lost) > 0);
                prop_assert_eq!(sent.first_lost(), plain.first_lost());
            }
        }
    }
}
