//! Parameters of the source scheduler.

use shortflow_packet::Dscp;
use shortflow_units::{Duration, Length};

use super::LOW;
use crate::ParamsError;
use crate::classifier::{Classifier, DscpTable};
use crate::meter::TokenBucketParams;
use crate::params::above_zero;
use crate::queue::checked_limit;

/// How connections that match a rule are served.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ConnectionRule {
    pub(super) class: u8,
    pub(super) weight: u32,
}

impl ConnectionRule {
    /// Service in `class`, from 1 (highly interactive, served first) to 8, with `weight` packets per turn,
    /// compared with other connections of the class.
    pub fn new(class: u8, weight: u32) -> Result<Self, ParamsError> {
        if !(1..=MAX_CLASSES).contains(&class) {
            let message = format!("class must be 1 to {MAX_CLASSES}; found {class}");
            return Err(ParamsError::new("class", message));
        }
        Ok(ConnectionRule { class, weight: above_zero("weight", weight)? })
    }

    /// The class, from 1 (served first) to 8.
    pub fn class(&self) -> u8 {
        self.class
    }

    /// Packets per turn, compared with other connections of the class.
    pub fn weight(&self) -> u32 {
        self.weight
    }
}

/// The limits of a source scheduler.
#[derive(Debug, Clone, Copy)]
pub struct SourceLimits {
    /// All connections together.
    pub limit: Length,
    /// Each connection; `None` for no separate limit.
    pub limit_per_connection: Option<Length>,
    /// Connections that may wait at the same time.
    pub connections: usize,
}

/// Parameters of a [`SourceScheduler`](super::SourceScheduler): limits, the token buckets of HIGH and MED, when a waiting
/// packet is remarked, and the classes of connections. [`SourceParams::settings`] has all of them.
#[derive(Debug, Clone)]
pub struct SourceParams {
    pub(super) limits: SourceLimits,
    pub(super) high: TokenBucketParams,
    pub(super) medium: TokenBucketParams,
    pub(super) remark_after: Duration,
    pub(super) code_points: [Dscp; 3],
    /// The priority of a code point: 0 for HIGH, 1 for MED, 2 for LOW.
    pub(super) priority_of: DscpTable<u8>,
    pub(super) classifier: Classifier,
    pub(super) rules: Vec<ConnectionRule>,
    pub(super) otherwise: ConnectionRule,
}

/// The settings of a [`SourceParams`], as [`SourceParams::settings`] gives them.
#[derive(Debug, Clone, Copy)]
pub struct SourceSettings<'p> {
    /// What connections hold at most.
    pub limits: &'p SourceLimits,
    /// The token bucket that HIGH packets wait for.
    pub high: &'p TokenBucketParams,
    /// The token bucket that MED packets wait for.
    pub medium: &'p TokenBucketParams,
    /// The time in the queue after which a packet is remarked one priority down.
    pub remark_after: Duration,
    /// The code points of HIGH, MED and LOW.
    pub code_points: [Dscp; 3],
    /// The rule of a connection, among `rules`.
    pub classifier: &'p Classifier,
    /// How connections are served that match a rule.
    pub rules: &'p [ConnectionRule],
    /// How connections are served that match none.
    pub otherwise: ConnectionRule,
}

impl SourceParams {
    /// HIGH packets conform to `high` and MED packets to `medium`. A packet that has waited for
    /// `remark_after` is remarked one priority down. `code_points` are those of HIGH, MED and LOW; all others
    /// are LOW too.
    pub fn new(
        limits: SourceLimits,
        high: TokenBucketParams,
        medium: TokenBucketParams,
        remark_after: Duration,
        code_points: [Dscp; 3],
    ) -> Result<Self, ParamsError> {
        checked_limit(limits.limit)?;
        if let Some(limit) = limits.limit_per_connection {
            checked_limit(limit).map_err(|_| {
                let message = format!("limit_per_connection must be above zero; found {limit}");
                ParamsError::new("limit_per_connection", message)
            })?;
        }
        if !(1..=MAX_CONNECTIONS).contains(&limits.connections) {
            let message =
                format!("connections must be 1 to {MAX_CONNECTIONS}; found {}", limits.connections);
            return Err(ParamsError::new("connections", message));
        }
        Ok(SourceParams {
            limits,
            high,
            medium,
            remark_after: above_zero("remark_after", remark_after)?,
            code_points,
            priority_of: DscpTable::filled(LOW as u8)
                .with(code_points[1], 1)
                .with(code_points[0], 0),
            classifier: Classifier::default(),
            rules: Vec::new(),
            otherwise: ConnectionRule { class: 1, weight: 1 },
        })
    }

    /// Sets classes: `classifier` returns the rule of a connection, an index into `rules`. Connections that
    /// it does not match have weight 1 in the last class.
    pub fn with_rules(
        self,
        classifier: Classifier,
        rules: Vec<ConnectionRule>,
    ) -> Result<Self, ParamsError> {
        if classifier.greatest_class().is_some_and(|greatest| greatest >= rules.len()) {
            let message = format!("a match has an index beyond the {} rules", rules.len());
            return Err(ParamsError::new("rules", message));
        }
        let last = rules.iter().map(|rule| rule.class).max().unwrap_or(1);
        let otherwise = ConnectionRule { class: last, weight: 1 };
        Ok(SourceParams { classifier, rules, otherwise, ..self })
    }

    /// Every setting, to take apart without `..`: a new one does not compile until each engine has decided what it means.
    pub fn settings(&self) -> SourceSettings<'_> {
        let SourceParams {
            limits,
            high,
            medium,
            remark_after,
            code_points,
            // Follows from the code points.
            priority_of: _,
            classifier,
            rules,
            otherwise,
        } = self;
        SourceSettings {
            limits,
            high,
            medium,
            remark_after: *remark_after,
            code_points: *code_points,
            classifier,
            rules,
            otherwise: *otherwise,
        }
    }

    /// The limits.
    pub fn limits(&self) -> &SourceLimits {
        &self.limits
    }

    /// The bucket of HIGH packets.
    pub fn high(&self) -> &TokenBucketParams {
        &self.high
    }

    /// The bucket of MED packets.
    pub fn medium(&self) -> &TokenBucketParams {
        &self.medium
    }

    /// The queueing delay after which a packet is remarked one priority down.
    pub fn remark_after(&self) -> Duration {
        self.remark_after
    }

    /// The code points of HIGH, MED and LOW.
    pub fn code_points(&self) -> [Dscp; 3] {
        self.code_points
    }

    /// Assigns connections to rules.
    pub fn classifier(&self) -> &Classifier {
        &self.classifier
    }

    /// The service of connections that match no rule.
    pub fn otherwise(&self) -> ConnectionRule {
        self.otherwise
    }

    /// The rules.
    pub fn rules(&self) -> &[ConnectionRule] {
        &self.rules
    }
}

/// More than any host has.
const MAX_CONNECTIONS: usize = 1 << 20;
/// The paper has three.
pub(super) const MAX_CLASSES: u8 = 8;
