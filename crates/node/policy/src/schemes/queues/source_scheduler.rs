//! `source-scheduler`: schedules and shapes the connections of a sending host.

use std::sync::Arc;

use schemars::JsonSchema;
use serde::Deserialize;
use shortflow_elements::QueueDiscipline;
use shortflow_elements::classifier::Classifier;
use shortflow_elements::scheduler::{ConnectionRule, SourceLimits, SourceParams, SourceScheduler};
use shortflow_packet::Dscp;
use shortflow_units::{Duration, Length};

use crate::check::Checker;
use crate::keys::{BucketKeys, MatchKeys};
use crate::scheme::{Port, QueueScheme};
use crate::shadows;

/// Schedules and shapes the connections of a sending host. The code points of green, yellow and red are the
/// priorities HIGH, MED and LOW; all other packets are LOW.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "SourceScheduler")]
pub(crate) struct Keys {
    /// Limit of all connections together.
    #[schemars(extend("x-range" = "at least 1 pkt or 1 B"))]
    limit: Length,
    /// Limit of each connection. Default: unlimited.
    limit_per_connection: Option<Length>,
    /// How many connections may wait at the same time.
    #[serde(default = "connections")]
    #[schemars(extend("x-range" = "at least 1"))]
    connections: u32,
    /// The bucket of HIGH packets.
    high: BucketKeys,
    /// The bucket of MED packets.
    medium: BucketKeys,
    /// Queueing delay after which the head packet of a connection is remarked one priority down.
    #[serde(default = "remark_after")]
    remark_after: Duration,
    /// How connections are served: the first rule whose `match` fits. Connections that fit no rule have
    /// weight 1 in the last class.
    #[serde(default)]
    rules: Vec<RuleKeys>,
}

/// How a set of connections is served.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "ConnectionRule")]
struct RuleKeys {
    /// Which connections, by their first waiting packet. Default: all.
    #[serde(default, rename = "match")]
    rule: MatchKeys,
    /// The class, from 1 (highly interactive, served first) to 8.
    class: u8,
    /// Packets per turn, compared with other connections of the class.
    #[serde(default = "weight")]
    #[schemars(extend("x-range" = "at least 1"))]
    weight: u32,
}

fn connections() -> u32 {
    256
}

/// Noureddine & Tobagi 2002, note 7.
fn remark_after() -> Duration {
    Duration::from_millis(200)
}

fn weight() -> u32 {
    1
}

/// The scheduler's parameters.
pub type Plan = Arc<SourceParams>;

impl QueueScheme for Keys {
    type Plan = Plan;
    const SOURCE: &'static str = "Noureddine & Tobagi 2002, section 6.2";
    const EXAMPLE: &'static str = r#"[roles.servers.queue.source-scheduler]
limit = "1000 pkt"
high = { rate = "3 Mbit/s", depth = "15 KB" }
medium = { rate = "2 Mbit/s", depth = "15 KB" }

[[roles.servers.queue.source-scheduler.rules]]
match = { src_port = 80 }
class = 2
"#;

    fn check(&self, checker: &mut Checker<'_>, path: &str) -> Option<Plan> {
        checker.note_limit(path, self.limit);
        checker.note_managed();
        let limits = SourceLimits {
            limit: self.limit,
            limit_per_connection: self.limit_per_connection,
            connections: self.connections as usize,
        };
        let mut matches = Vec::new();
        let mut rules = Vec::new();
        for (index, rule) in self.rules.iter().enumerate() {
            let path = format!("{path}.rules.{index}");
            matches.push((checker.rule(&format!("{path}.match"), index, &rule.rule), index));
            rules.extend(checker.accept(&path, ConnectionRule::new(rule.class, rule.weight)));
        }
        let high = self.high.check(checker, &format!("{path}.high"));
        let medium = self.medium.check(checker, &format!("{path}.medium"));
        let code_points = checker.code_points;
        let params = SourceParams::new(limits, high?, medium?, self.remark_after, code_points);
        let params = checker.accept(path, params)?;
        if rules.len() < self.rules.len() {
            return None;
        }
        shadows::warn_entries(checker.document, &format!("{path}.rules"), &matches);
        let params = params.with_rules(Classifier::new(matches), rules);
        checker.accept(path, params).map(Arc::new)
    }

    fn build(plan: &Plan, port: &Port<'_>) -> Box<dyn QueueDiscipline> {
        SourceScheduler::new(Arc::clone(plan), port.stream()).into()
    }

    fn writes(plan: &Plan) -> Vec<Dscp> {
        plan.code_points().to_vec()
    }
}
