//! Parameters of weighted fair queueing.

use shortflow_units::{Length, Rate};

use crate::ParamsError;
use crate::classifier::Classifier;
use crate::queue::ring::checked_limit;

/// φ_i in Parekh & Gallager 1993: a flow gets the share φ_i / Σ φ of the line, with the sum over all
/// backlogged flows. The weights of one queue are all rates, or all numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Weight(u64);

impl Weight {
    /// The weight of a flow with the reserved `rate`, from 1 bit/s to 1 Tbit/s. The flow gets this rate if
    /// the rates of all backlogged flows fit into that of the line.
    pub fn of_rate(rate: Rate) -> Result<Self, ParamsError> {
        let bits = rate.bits_per_sec();
        if !(1..=1_000_000_000_000).contains(&bits) {
            return Err(ParamsError::new(
                "weight",
                format!("weight must be 1 bit/s to 1 Tbit/s; found {rate}"),
            ));
        }
        Ok(Weight(bits))
    }

    /// The weight `number`, from 0.001 to a million, with three decimals.
    pub fn of_number(number: f64) -> Result<Self, ParamsError> {
        if !(0.001..=1e6).contains(&number) {
            return Err(ParamsError::new(
                "weight",
                format!("weight must be 0.001 to 1000000; found {number}"),
            ));
        }
        Ok(Weight(libm::round(number * 1000.0) as u64))
    }

    /// The weight as an integer: bits per second of a rate, thousandths of a number. Only the ratio to the
    /// other weights of the queue matters.
    pub fn value(self) -> u64 {
        self.0
    }
}

/// What the weight of a class belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Share {
    /// The class as a whole, first in, first out.
    Class,
    /// Each flow (5-tuple) of the class.
    Flow {
        /// The limit of each flow, within the limit of the class.
        limit: Option<Length>,
    },
}

/// Which packet is dropped if flows share a limit and an arrival does not fit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum WhenFull {
    /// The newest packet of the flow that holds most behind its first packet, relative to its weight, in the
    /// unit of the limit. A flow has room for a packet and for its part of the rest of the limit (by its
    /// weight among the flows with packets). Within it, it loses nothing, whatever the others send.
    #[default]
    PushOut,
    /// The arrival, whichever flow filled the buffer. A flow that floods it takes the line from the others,
    /// whatever the weights.
    TailDrop,
}

/// A class of [`Wfq`](super::Wfq).
#[derive(Debug, Clone, Copy)]
pub struct WfqClass {
    pub(super) weight: Weight,
    pub(super) share: Share,
    pub(super) limit: Option<Length>,
}

impl WfqClass {
    /// A class with this `limit`. Without a limit it is under the limit that such classes share.
    pub fn new(weight: Weight, share: Share, limit: Option<Length>) -> Result<Self, ParamsError> {
        limit.map(checked_limit).transpose()?;
        if let Share::Flow { limit: Some(limit) } = share {
            let named = |error| ParamsError::new("flow_limit", format!("flow_{error}"));
            checked_limit(limit).map_err(named)?;
        }
        Ok(WfqClass { weight, share, limit })
    }

    /// Every setting, to take apart without `..`: a new one does not compile until each engine has decided what it means.
    pub fn settings(&self) -> WfqClassSettings {
        let WfqClass { weight, share, limit } = *self;
        WfqClassSettings { weight, share, limit }
    }

    /// Its weight.
    pub fn weight(&self) -> Weight {
        self.weight
    }

    /// What the weight belongs to.
    pub fn share(&self) -> Share {
        self.share
    }

    /// Its limit; `None` if it is under the limit that such classes share.
    pub fn limit(&self) -> Option<Length> {
        self.limit
    }
}

/// Parameters of [`Wfq`](super::Wfq): the classes with their weights and limits, the limit that the others share, and what is
/// dropped when it is reached. [`WfqParams::settings`] has all of them.
#[derive(Debug, Clone)]
pub struct WfqParams {
    pub(super) classes: Vec<WfqClass>,
    pub(super) classifier: Classifier,
    pub(super) otherwise: usize,
    pub(super) shared_limit: Option<Length>,
    pub(super) when_full: WhenFull,
}

/// The settings of a [`WfqParams`], as [`WfqParams::settings`] gives them.
#[derive(Debug, Clone, Copy)]
pub struct WfqSettings<'p> {
    /// The classes.
    pub classes: &'p [WfqClass],
    /// Which packets belong to which class.
    pub classifier: &'p Classifier,
    /// The class of packets that no rule matches.
    pub otherwise: usize,
    /// What the classes without a limit of their own hold together.
    pub shared_limit: Option<Length>,
    /// Which packet is dropped when a shared limit is reached.
    pub when_full: WhenFull,
}

/// The settings of a [`WfqClass`], as [`WfqClass::settings`] gives them.
#[derive(Debug, Clone, Copy)]
pub struct WfqClassSettings {
    /// Its weight.
    pub weight: Weight,
    /// Who has the weight.
    pub share: Share,
    /// What it holds; `None` when it is under the limit that such classes share.
    pub limit: Option<Length>,
}

impl WfqParams {
    /// `classifier` returns the class of a packet. Packets that match no rule belong to the class
    /// `otherwise`. Classes without a limit together hold at most `shared_limit`. When a shared limit is
    /// reached, the longest flow relative to its weight loses a packet ([`WhenFull::PushOut`]).
    pub fn new(
        classes: Vec<WfqClass>,
        classifier: Classifier,
        otherwise: usize,
        shared_limit: Option<Length>,
    ) -> Result<Self, ParamsError> {
        let greatest = classifier.greatest_class().unwrap_or(0).max(otherwise);
        if greatest >= classes.len() {
            return Err(ParamsError::new(
                "classes",
                format!("class {greatest} is used but there are only {} classes", classes.len()),
            ));
        }
        let shares = classes.iter().any(|class| class.limit.is_none());
        match shared_limit {
            Some(limit) if shares => checked_limit(limit).map(|_| ())?,
            Some(limit) => {
                let message = format!("limit {limit} has no effect: every class has its own limit");
                return Err(ParamsError::new("limit", message));
            }
            None if shares => {
                let message =
                    "a class has no `limit`, and the queue has no `limit` for such classes";
                return Err(ParamsError::new("limit", message));
            }
            None => {}
        }
        let when_full = WhenFull::default();
        Ok(WfqParams { classes, classifier, otherwise, shared_limit, when_full })
    }

    /// Sets which packet is dropped when a shared limit is reached.
    ///
    /// # Errors
    /// If no limit is shared by flows, the choice has no effect.
    pub fn with_when_full(self, when_full: WhenFull) -> Result<Self, ParamsError> {
        let shares_a_limit = self.classes.iter().filter(|class| class.limit.is_none()).count() > 1;
        let has_flows = self.classes.iter().any(|class| class.share != Share::Class);
        if !shares_a_limit && !has_flows {
            let message = "full has no effect: no limit is shared by classes or flows";
            return Err(ParamsError::new("full", message));
        }
        Ok(WfqParams { when_full, ..self })
    }

    /// Every setting, to take apart without `..`: a new one does not compile until each engine has decided what it means.
    pub fn settings(&self) -> WfqSettings<'_> {
        let WfqParams { classes, classifier, otherwise, shared_limit, when_full } = self;
        WfqSettings {
            classes,
            classifier,
            otherwise: *otherwise,
            shared_limit: *shared_limit,
            when_full: *when_full,
        }
    }

    /// The classes.
    pub fn classes(&self) -> &[WfqClass] {
        &self.classes
    }

    /// Assigns packets to classes.
    pub fn classifier(&self) -> &Classifier {
        &self.classifier
    }

    /// The class of packets that match no rule.
    pub fn otherwise(&self) -> usize {
        self.otherwise
    }

    /// Which packet is dropped when a shared limit is reached.
    pub fn when_full(&self) -> WhenFull {
        self.when_full
    }

    /// The limit that classes without their own limit share.
    pub fn shared_limit(&self) -> Option<Length> {
        self.shared_limit
    }
}
