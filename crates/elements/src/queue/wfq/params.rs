//! Parameters of weighted fair queueing.

use shortflow_units::{Length, Rate};

use crate::ParamsError;
use crate::classifier::Classifier;
use crate::queue::ring::checked_limit;

/// φ_i in Parekh & Gallager 1993: a flow has this over the sum of all backlogged flows' weights of
/// the line. Weights of one queue are all rates, or all numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Weight(u64);

impl Weight {
    /// The weight of a flow to which `rate` is reserved, from 1 bit/s to 1 Tbit/s. The flow has it
    /// whenever the rates of all backlogged flows are at most that of the line.
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

    /// The weight `number`, from 0.001 to a million, to three digits behind the point.
    pub fn of_number(number: f64) -> Result<Self, ParamsError> {
        if !(0.001..=1e6).contains(&number) {
            return Err(ParamsError::new(
                "weight",
                format!("weight must be 0.001 to 1000000; found {number}"),
            ));
        }
        Ok(Weight(libm::round(number * 1000.0) as u64))
    }

    /// The weight as a whole number: bits per second of a rate, thousandths of a number. Only the
    /// ratio to the other weights of the queue counts.
    pub fn value(self) -> u64 {
        self.0
    }
}

/// Who has the weight of a class.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Share {
    /// All its packets together, first in, first out.
    Class,
    /// Each 5-tuple one of its own.
    Flow {
        /// What each of them holds at most, within the limit of the class.
        limit: Option<Length>,
    },
}

/// Which packet is dropped when flows share a limit and an arrival does not fit under it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum WhenFull {
    /// The newest packet of the flow that holds the most behind its first packet, for its weight, in the
    /// unit of the limit. A flow has room for a packet and for its part of the rest of the limit (its
    /// weight over the weights of the flows that hold packets): within it, it loses nothing, whatever the
    /// others send.
    #[default]
    PushOut,
    /// The arrival, whoever filled the buffer: a flow that floods it takes the line from the others,
    /// whatever their weights.
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
    /// A class that holds at most `limit`; without one it is under the limit that such classes
    /// share.
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

    /// Who has the weight.
    pub fn share(&self) -> Share {
        self.share
    }

    /// What it holds; `None` when it is under the limit that such classes share.
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
    /// `classifier` names the class of a packet; one that it does not match goes to the class
    /// `otherwise`. Classes without a limit together hold at most `shared_limit`. When a shared limit
    /// is reached, the longest flow for its weight is pushed out ([`WhenFull::PushOut`]).
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
                let message =
                    format!("limit {limit} has no effect: every class has a limit of its own");
                return Err(ParamsError::new("limit", message));
            }
            None if shares => {
                let message = "a class has no limit of its own, and no `limit` is set for all classes together";
                return Err(ParamsError::new("limit", message));
            }
            None => {}
        }
        let when_full = WhenFull::default();
        Ok(WfqParams { classes, classifier, otherwise, shared_limit, when_full })
    }

    /// The same with another choice of the packet that is dropped when a shared limit is reached.
    ///
    /// # Errors
    /// No limit is shared by flows: the choice has no effect.
    pub fn with_when_full(self, when_full: WhenFull) -> Result<Self, ParamsError> {
        let shares_a_limit = self.classes.iter().filter(|class| class.limit.is_none()).count() > 1;
        let has_flows = self.classes.iter().any(|class| class.share != Share::Class);
        if !shares_a_limit && !has_flows {
            let message = "full has no effect: no classes or flows share a limit";
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

    /// Which packets belong to which class.
    pub fn classifier(&self) -> &Classifier {
        &self.classifier
    }

    /// The class of packets that no rule matches.
    pub fn otherwise(&self) -> usize {
        self.otherwise
    }

    /// Which packet is dropped when a shared limit is reached.
    pub fn when_full(&self) -> WhenFull {
        self.when_full
    }

    /// What the classes without a limit of their own hold together.
    pub fn shared_limit(&self) -> Option<Length> {
        self.shared_limit
    }
}
