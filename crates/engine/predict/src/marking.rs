//! What a role writes into the packets of a flow.

use shortflow_elements::dropper::PolicerAction;
use shortflow_elements::{Aggregate, Color};
use shortflow_packet::Dscp;
use shortflow_policy::keys::Metered;
use shortflow_policy::{MarkerPlan, Role, TrafficClass};

use crate::marks::{Kind, Meters, Protected, Rates, Share, Written};

/// What a policer does to packets that closed forms do not follow.
pub(crate) const DROPS: &str = "a policer that drops";

/// What a role does to the packets of a flow.
pub(crate) struct Marking<'m> {
    pub(crate) kind: &'m Kind,
    pub(crate) meters: &'m mut Meters,
    /// The meter that the flow passes, and how many of its first bytes it takes before others.
    pub(crate) metered: &'m mut Option<(usize, f64)>,
    pub(crate) forgets: &'m mut f64,
    /// The least window in segments at which markers by window write the last code point.
    pub(crate) window: &'m mut f64,
    pub(crate) place: &'m str,
    pub(crate) role: &'m Role,
}

impl<'m> Marking<'m> {
    /// Writes what the role writes; else in words what has no closed form.
    pub(crate) fn conditioned(&mut self, written: &mut Vec<Written>) -> Result<(), String> {
        if self.role.classes.iter().any(|class| class.rule.sender.is_some()) {
            return Err(self.none("classes by the sender's knowledge of a flow"));
        }
        if self.role.asks_applications() {
            return Err(self.none("thresholds that applications set"));
        }
        let mut found: Vec<Written> = Vec::new();
        for one in written.iter() {
            match one.code_points[..] {
                [(dscp, Share::All)] => match self.class_of(dscp) {
                    Some(class) => {
                        let from = one.from;
                        let more = self.classed(class, dscp)?;
                        found.extend(
                            more.into_iter().filter(|more| more.from >= from || from == 0.0),
                        );
                    }
                    None => found.push(one.clone()),
                },
                _ if one.code_points.iter().all(|(dscp, _)| self.class_of(*dscp).is_none()) => {
                    found.push(one.clone());
                }
                _ => return Err(self.none("a second meter")),
            }
        }
        *written = found;
        Ok(())
    }

    fn class_of(&self, dscp: Dscp) -> Option<&'m TrafficClass> {
        let packet = self.kind.sample(dscp);
        self.role.classes.iter().find(|class| class.rule.matches(&packet))
    }

    /// What is written in packets of a class, which came with `dscp`.
    fn classed(&mut self, class: &TrafficClass, dscp: Dscp) -> Result<Vec<Written>, String> {
        let all = |dscp| vec![Written::all(0.0, dscp)];
        let colors = self.role.code_points;
        match &class.marker {
            None => Ok(all(self.policed(class, Color::Green, dscp)?)),
            Some(MarkerPlan::Fixed(fixed)) => match fixed.bucket() {
                None => Ok(all(self.policed(class, Color::Green, fixed.dscp())?)),
                Some(bucket) => {
                    let rates = Rates::from_bucket(self.shared(bucket)?);
                    self.metered_by(class, rates, [fixed.dscp(); 3], 0.0)
                }
            },
            Some(MarkerPlan::TokenBucket(bucket)) => {
                let rates = Rates::from_bucket(self.shared(bucket)?);
                self.metered_by(class, rates, colors, 0.0)
            }
            Some(MarkerPlan::Tsw2cm(tsw)) => {
                self.metered_by(class, Rates::from_window(tsw), colors, 0.0)
            }
            Some(MarkerPlan::FairMarker(fair)) => {
                let (rates, packets) = Rates::from_fair_marker(fair);
                self.metered_by(class, rates, colors, packets as f64 * self.kind.packet)
            }
            Some(MarkerPlan::Aggregate(aggregate)) => self.by_aggregate(class, aggregate),
            Some(MarkerPlan::Srtcm(plan)) => self.by_sr_tcm(class, plan),
            Some(MarkerPlan::Trtcm(plan)) => self.by_tr_tcm(class, plan),
            Some(MarkerPlan::Tsw3cm(plan)) => {
                self.metered_by(class, Rates::from_window_with_peak(plan), colors, 0.0)
            }
            Some(MarkerPlan::TwoBuckets(plan)) => self.by_two_buckets(class, plan),
            Some(plan @ (MarkerPlan::Dstf(_) | MarkerPlan::TcpState(_)))
                if class.police.is_some() =>
            {
                Err(self.none(&format!("a policer behind the marker `{}`", plan.scheme())))
            }
            Some(MarkerPlan::Dstf(dstf)) if dstf.per().aggregate() == Aggregate::Flow => {
                self.by_bytes_sent(dstf)
            }
            Some(MarkerPlan::Sima(sima)) => self.by_momentary_rate(class, sima),
            Some(MarkerPlan::TcpState(state)) => self.by_window(state),
            Some(other) => Err(self.none(&format!("the marker `{}`", other.scheme()))),
        }
    }

    /// The parameters of meters that all packets share.
    pub(crate) fn shared<'p, P: Clone>(&self, meter: &'p Metered<P>) -> Result<&'p P, String> {
        match meter.per() {
            None => Ok(meter.params()),
            Some(_) => Err(self.none("a bucket for each user")),
        }
    }

    /// The meter of a class, which takes the first so many bytes of a flow before others.
    pub(crate) fn meter(
        &mut self,
        class: &TrafficClass,
        rates: Rates,
        first: f64,
    ) -> Result<usize, String> {
        if self.metered.is_some() {
            return Err(self.none("a second meter"));
        }
        let name = format!("{}/{}/{}", self.place, self.role.name, class.name);
        let meter = self.meters.number(name, rates);
        *self.metered = Some((meter, first));
        Ok(meter)
    }

    /// Packets within a profile and beyond it, and beyond its peak rate where that is higher; those of the first so many
    /// bytes of a flow before others.
    pub(crate) fn metered_by(
        &mut self,
        class: &TrafficClass,
        rates: Rates,
        [green, yellow, red]: [Dscp; 3],
        first: f64,
    ) -> Result<Vec<Written>, String> {
        let green = self.policed(class, Color::Green, green)?;
        let yellow = self.policed(class, Color::Yellow, yellow)?;
        let has_peak = rates.peak > rates.committed;
        let meter = self.meter(class, rates, first)?;
        let both = |from, who| Written {
            from,
            code_points: vec![
                (green, Share::Within(meter, who)),
                (yellow, Share::Beyond(meter, who)),
            ],
        };
        let rest = match has_peak {
            false => both(first, Protected::Rest),
            true => Written {
                from: first,
                code_points: vec![
                    (green, Share::Within(meter, Protected::Rest)),
                    (yellow, Share::Between(meter)),
                    (self.policed(class, Color::Red, red)?, Share::Above(meter)),
                ],
            },
        };
        Ok(if first > 0.0 { vec![both(0.0, Protected::First), rest] } else { vec![rest] })
    }

    pub(crate) fn policed(
        &self,
        class: &TrafficClass,
        color: Color,
        dscp: Dscp,
    ) -> Result<Dscp, String> {
        match class.police.map_or(PolicerAction::Forward, |actions| actions[color as usize]) {
            PolicerAction::Forward => Ok(dscp),
            PolicerAction::Remark(other) => Ok(other),
            PolicerAction::Drop | PolicerAction::End => Err(self.none(DROPS)),
        }
    }

    /// There is no closed form for `what`.
    pub(crate) fn none(&self, what: &str) -> String {
        format!("{what} in the role `{}` at {}", self.role.name, self.place)
    }
}
