//! Checks schedulers.

use shortflow_elements::ParamsError;
use shortflow_elements::classifier::Classifier;
use shortflow_elements::meter::TokenBucketParams;
use shortflow_elements::scheduler::{ConnectionRule, SourceLimits, SourceParams};
use shortflow_elements::scheduler::{checked_quantum, checked_weight};
use shortflow_units::{Bytes, Duration};

use super::Checker;
use crate::file::{DrrFile, MatchFile, QueueFile, RegulatorFile, SourceSchedulerFile, WrrFile};
use crate::model::QueuePlan;

impl Checker<'_> {
    pub(super) fn wrr(&mut self, path: &str, file: &WrrFile) -> Option<QueuePlan> {
        let shares = file.classes.iter().map(|class| {
            let weight = class.weight.unwrap_or(DEFAULT_WEIGHT);
            (&class.rule, checked_weight(weight), &class.queue)
        });
        let (classifier, classes) = self.classes(path, shares)?;
        Some(QueuePlan::Wrr { classifier, classes })
    }

    pub(super) fn drr(&mut self, path: &str, file: &DrrFile) -> Option<QueuePlan> {
        let shares = file.classes.iter().map(|class| {
            let quantum = class.quantum.unwrap_or(DEFAULT_QUANTUM);
            (&class.rule, checked_quantum(quantum).map(|_| quantum), &class.queue)
        });
        let (classifier, classes) = self.classes(path, shares)?;
        Some(QueuePlan::Drr { classifier, classes })
    }

    /// Classes that take turns, each with its share.
    fn classes<'f, T>(
        &mut self,
        path: &str,
        shares: impl ExactSizeIterator<Item = (&'f MatchFile, Result<T, ParamsError>, &'f QueueFile)>,
    ) -> Option<(Classifier, Vec<(T, QueuePlan)>)> {
        let count = shares.len();
        if count == 0 {
            let help = "say at least one: { match = …, queue.fifo = { limit = \"100 pkt\" } }";
            self.document.mistake(&format!("{path}.classes"), "there is no class", help);
            return None;
        }
        let mut rules = Vec::new();
        let mut classes = Vec::new();
        for (index, (rule, share, queue)) in shares.enumerate() {
            let path = format!("{path}.classes.{index}");
            rules.push((self.rule(&format!("{path}.match"), rule), index));
            let share = self.accept(&path, share);
            classes.extend(share.zip(self.queue(&format!("{path}.queue"), queue)));
        }
        (classes.len() == count).then(|| (Classifier::new(rules), classes))
    }

    pub(super) fn source_scheduler(
        &mut self,
        path: &str,
        file: &SourceSchedulerFile,
    ) -> Option<QueuePlan> {
        let limits = SourceLimits {
            limit: file.limit,
            limit_per_connection: file.limit_per_connection,
            connections: file.connections.unwrap_or(DEFAULT_CONNECTIONS) as usize,
        };
        let mut matches = Vec::new();
        let mut rules = Vec::new();
        for (index, rule) in file.rules.iter().enumerate() {
            let path = format!("{path}.rules.{index}");
            matches.push((self.rule(&format!("{path}.match"), &rule.rule), index));
            let weight = rule.weight.unwrap_or(DEFAULT_WEIGHT);
            rules.extend(self.accept(&path, ConnectionRule::new(rule.class, weight)));
        }
        let high = self.regulator(&format!("{path}.high"), &file.high);
        let medium = self.regulator(&format!("{path}.medium"), &file.medium);
        let remark_after = file.remark_after.unwrap_or(DEFAULT_REMARK_AFTER);
        let code_points = self.code_points;
        let params = SourceParams::new(limits, high?, medium?, remark_after, code_points);
        let params = self.accept(path, params)?;
        if rules.len() < file.rules.len() {
            return None;
        }
        let params = params.with_rules(Classifier::new(matches), rules);
        self.accept(path, params).map(|params| QueuePlan::Source(Box::new(params)))
    }

    fn regulator(&mut self, path: &str, file: &RegulatorFile) -> Option<TokenBucketParams> {
        self.accept(path, TokenBucketParams::new(file.rate, file.depth))
    }
}

const DEFAULT_WEIGHT: u32 = 1;
/// The largest packet of an Ethernet link.
const DEFAULT_QUANTUM: Bytes = Bytes(1500);
const DEFAULT_CONNECTIONS: u32 = 256;
/// Noureddine & Tobagi 2002, note 7.
const DEFAULT_REMARK_AFTER: Duration = Duration::from_millis(200);
