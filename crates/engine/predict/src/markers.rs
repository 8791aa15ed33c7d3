//! The marks of a flow's packets, as far as closed forms exist: by bytes sent, by the window, by three colours, by
//! the profile of an aggregate.

use shortflow_elements::Color;
use shortflow_elements::marker::{
    AggregateMarkerParams, Counted, Crossing, DstfParams, DstfSettings, RecoverySegments,
    SimaParams, SimaSettings, TcpStateParams, TcpStateSettings,
};
use shortflow_elements::meter::{
    ColorMode, FairMarkerParams, FairMarkerSettings, SrTcmParams, SrTcmSettings, TokenBucketParams,
    TokenBucketSettings, TrTcmParams, TrTcmSettings, Tsw3CmParams, Tsw3CmSettings, TswParams,
    TswSettings, TwoBucketsParams,
};
use shortflow_packet::Protocol;
use shortflow_policy::TrafficClass;
use shortflow_policy::keys::Metered;

use crate::marking::Marking;
use crate::marks::{Rates, Share, Written};
use crate::precedences;

/// How much faster than what is forgotten a stream must be, so that chance does not decide what of it counts.
pub(crate) const FASTER: f64 = 1.1;

impl Rates {
    /// The profile of a token bucket: means do not depend on its depth.
    pub(crate) fn from_bucket(bucket: &TokenBucketParams) -> Rates {
        let TokenBucketSettings { rate, burst: _ } = bucket.settings();
        Rates::from_committed(rate)
    }

    /// That of a time sliding window: means do not depend on how it is estimated.
    pub(crate) fn from_window(tsw: &TswParams) -> Rates {
        let TswSettings { committed_rate, window: _, initial: _ } = tsw.settings();
        Rates::from_committed(committed_rate)
    }

    /// The same with a peak rate.
    pub(crate) fn from_window_with_peak(params: &Tsw3CmParams) -> Rates {
        let Tsw3CmSettings { tsw, peak_rate } = params.settings();
        let TswSettings { committed_rate, window: _, initial: _ } = tsw;
        Rates { peak: peak_rate.bytes_per_sec(), ..Rates::from_committed(committed_rate) }
    }

    /// That of a Fair Marker, and how many packets of a flow it takes first: flows count as remembered while they send.
    pub(crate) fn from_fair_marker(params: &FairMarkerParams) -> (Rates, u64) {
        let FairMarkerSettings { tsw, threshold, table: _ } = params.settings();
        let TswSettings { committed_rate, window: _, initial: _ } = tsw;
        (Rates::from_committed(committed_rate), threshold)
    }
}

impl Marking<'_> {
    /// By what a flow has sent, less what is forgotten.
    ///
    /// Packets of the last level do not count (Guo et al. 2005, Figure 1, with a decay). So the count of a stream that sends
    /// R and of which d is forgotten rises by R − d up to the last threshold; from then on as much counts as is forgotten: the
    /// part d/R of its packets is in the level before the last, the others are in the last.
    pub(crate) fn by_bytes_sent(&mut self, dstf: &DstfParams) -> Result<Vec<Written>, String> {
        // Who shares a count is decided before; flows count as remembered while they send.
        let DstfSettings { levels, per: _, counted, decay, crowded: _ } = dstf.settings();
        let packet = self.kind.packet;
        let counted = match counted {
            Counted::Packet => 1.0,
            Counted::Payload => packet / (packet - self.kind.header),
        };
        let code_points = levels.code_points();
        let (forgets, counts) = (decay.bytes_per_sec(), self.kind.rate / counted);
        *self.forgets = self.forgets.max(forgets);
        if counts > 0.0 && counts <= forgets {
            return Ok(vec![Written::all(0.0, code_points[0])]);
        }
        if counts > 0.0 && counts < FASTER * forgets {
            return Err(self.none("a stream close to the rate that the marker forgets"));
        }
        let sent = if counts > 0.0 { self.kind.rate / (counts - forgets) } else { counted };
        let from = levels.thresholds().into_iter().map(|bytes| bytes.0 as f64 * sent);
        let each = std::iter::once(0.0).chain(from).zip(code_points);
        let mut found: Vec<Written> = each.map(|(from, dscp)| Written::all(from, *dscp)).collect();
        let last = found.len() - 1;
        if counts > 0.0 && forgets > 0.0 {
            let kept = forgets / counts;
            found[last].code_points = vec![
                (code_points[last - 1], Share::Part(kept)),
                (code_points[last], Share::Part(1.0 - kept)),
            ];
        }
        Ok(found)
    }

    /// By the window of the sender (Noureddine & Tobagi 2002, Algorithm 1), as slow start opens it: acknowledgements of a
    /// segments have made the first window w₀ to w₀ + g·a, so that the segment k, which leaves with a = k − w, has the
    /// window (w₀ + g·k)/(1 + g). Datagrams have no window, and are the last.
    pub(crate) fn by_window(&mut self, state: &TcpStateParams) -> Result<Vec<Written>, String> {
        let TcpStateSettings { high, medium, crossing, recovery, adaptation } = state.settings();
        let [green, yellow, red] = self.role.code_points;
        if self.kind.protocol != Protocol::TCP {
            return Ok(vec![Written::all(0.0, red)]);
        }
        if crossing == Crossing::Randomized {
            return Err(self.none("a randomized `tcp-state` marker"));
        }
        if adaptation.is_some() {
            return Err(self.none("a `tcp-state` marker with `adapt`"));
        }
        // Both are green by the segment that is sent again; others of its window hardly count.
        let (RecoverySegments::All | RecoverySegments::Retransmissions) = recovery;
        let (high, medium) = (f64::from(high), f64::from(medium));
        *self.window = self.window.max(medium);
        let start = self.kind.window;
        let mut found = Vec::new();
        for (limit, dscp) in [(0.0, green), (high, yellow), (medium, red)] {
            // Windows are whole segments: the first beyond the limit is one more.
            let segment = match limit {
                _ if limit == 0.0 || start.first > limit => 0.0,
                _ if start.max <= limit => break,
                limit => ((1.0 + start.growth) * (limit + 1.0) - start.first) / start.growth,
            };
            let from = segment * self.kind.packet;
            found.retain(|one: &Written| one.from < from);
            found.push(Written::all(from, dscp));
        }
        Ok(found)
    }

    /// A single rate three colour marker (RFC 2697): its second bucket earns what the first has no room for, which is nothing
    /// beyond the committed rate, and all is green below it.
    pub(crate) fn by_sr_tcm(
        &mut self,
        class: &TrafficClass,
        plan: &Metered<SrTcmParams>,
    ) -> Result<Vec<Written>, String> {
        let SrTcmSettings { committed_rate, committed_burst: _, excess_burst: _, mode } =
            self.shared(plan)?.settings();
        self.blind(mode)?;
        let [green, _, red] = self.role.code_points;
        let red = self.policed(class, Color::Red, red)?;
        self.metered_by(class, Rates::from_committed(committed_rate), [green, red, red], 0.0)
    }

    /// A two rate three colour marker (RFC 2698): green up to the committed rate, yellow up to the peak rate.
    pub(crate) fn by_tr_tcm(
        &mut self,
        class: &TrafficClass,
        plan: &Metered<TrTcmParams>,
    ) -> Result<Vec<Written>, String> {
        let TrTcmSettings { committed_rate, committed_burst: _, peak_rate, peak_burst: _, mode } =
            self.shared(plan)?.settings();
        self.blind(mode)?;
        let committed = committed_rate.bytes_per_sec();
        let rates = Rates { committed, peak: peak_rate.bytes_per_sec() };
        self.metered_by(class, rates, self.role.code_points, 0.0)
    }

    /// Two buckets, of which the second has what is too much for the first (Noureddine & Tobagi 2002, §6.3).
    pub(crate) fn by_two_buckets(
        &mut self,
        class: &TrafficClass,
        plan: &Metered<TwoBucketsParams>,
    ) -> Result<Vec<Written>, String> {
        let TwoBucketsParams { green, yellow, mode } = self.shared(plan)?;
        self.blind(mode)?;
        let (green, yellow) = (Rates::from_bucket(green), Rates::from_bucket(yellow));
        let rates = Rates { peak: green.committed + yellow.committed, ..green };
        self.metered_by(class, rates, self.role.code_points, 0.0)
    }

    /// The profile of an aggregate (Mehra, Tewari & Kandlur 1999, §4.2): the packets in profile are those for which
    /// tokens are earned, whichever flow holds them.
    pub(crate) fn by_aggregate(
        &mut self,
        class: &TrafficClass,
        params: &AggregateMarkerParams,
    ) -> Result<Vec<Written>, String> {
        // Who has which part of the tokens, and how many have one, leaves their sum as it is.
        let AggregateMarkerParams { profile, sharing: _, connections: _ } = params;
        if profile.peak().is_some() {
            return Err(self.none("an aggregate with a peak rate"));
        }
        let [green, yellow, _] = self.role.code_points;
        if self.kind.packet > profile.max_packet().0 as f64 {
            return Ok(vec![Written::all(0.0, self.policed(class, Color::Yellow, yellow)?)]);
        }
        self.metered_by(class, Rates::from_committed(profile.rate()), [green, yellow, yellow], 0.0)
    }

    /// SIMA's drop precedence, by the mean rate of what comes against the nominal one.
    pub(crate) fn by_momentary_rate(
        &mut self,
        class: &TrafficClass,
        sima: &SimaParams,
    ) -> Result<Vec<Written>, String> {
        // The spread of momentary rates counts as the same, however they are measured.
        let SimaSettings { nominal_rate, meter: _, per, code_points: written } = sima.settings();
        if per.is_some() {
            return Err(self.none("a momentary rate for each user"));
        }
        let meter = self.meter(class, Rates::from_committed(nominal_rate), 0.0)?;
        let mut code_points = Vec::new();
        for (precedence, dscp) in written.iter().enumerate() {
            let dscp = self.policed(class, precedences::color(precedence), *dscp)?;
            code_points.push((dscp, Share::Precedence(meter, precedence)));
        }
        Ok(vec![Written { from: 0.0, code_points }])
    }

    /// Refuses meters that go by the colour with which a packet comes.
    fn blind(&self, mode: &ColorMode) -> Result<(), String> {
        match mode {
            ColorMode::Blind => Ok(()),
            ColorMode::Aware(_) => Err(self.none("a colour-aware meter")),
        }
    }
}
