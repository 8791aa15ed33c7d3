//! Checks queues.

use shortflow_elements::Dscp;
use shortflow_elements::classifier::{Classifier, DscpSet, DscpTable};
use shortflow_elements::queue::{Averages, DropCurve, EcnMode, FifoParams, Spacing};
use shortflow_units::{Bytes, Rate};

use super::Checker;
use crate::file::{
    AverageFile, LevelFile, LevelPointsFile, MultiRedFile, QueueFile, RedFile, SpacingFile,
    StrictPriorityFile,
};
use crate::model::{QueuePlan, RedPlan, above_max};

impl Checker<'_> {
    pub(super) fn queue(&mut self, path: &str, file: &QueueFile) -> Option<QueuePlan> {
        match file {
            QueueFile::Fifo(fifo) => {
                let params = FifoParams::new(fifo.limit);
                self.accept(&format!("{path}.fifo"), params).map(QueuePlan::Fifo)
            }
            QueueFile::Red(red) => self.red(&format!("{path}.red"), red),
            QueueFile::MultiRed(red) => self.multi_red(&format!("{path}.multi-red"), red),
            QueueFile::StrictPriority(strict) => {
                self.strict_priority(&format!("{path}.strict-priority"), strict)
            }
            QueueFile::SharedPriority(shared) => {
                self.shared_priority(&format!("{path}.shared-priority"), shared)
            }
            QueueFile::Stf(stf) => self.stf(&format!("{path}.stf"), stf),
            QueueFile::Wfq(wfq) => self.wfq(&format!("{path}.wfq"), wfq),
            QueueFile::Wrr(wrr) => self.wrr(&format!("{path}.wrr"), wrr),
            QueueFile::Drr(drr) => self.drr(&format!("{path}.drr"), drr),
            QueueFile::SourceScheduler(source) => {
                self.source_scheduler(&format!("{path}.source-scheduler"), source)
            }
            QueueFile::FqCodel(fq_codel) => self.fq_codel(&format!("{path}.fq-codel"), fq_codel),
            QueueFile::HostFair(fair) => self.host_fair(&format!("{path}.host-fair"), fair),
        }
    }

    fn red(&mut self, path: &str, file: &RedFile) -> Option<QueuePlan> {
        let RedFile { min_threshold, max_threshold, max_probability, .. } = *file;
        let (min, max) = (min_threshold.under(file.limit), max_threshold.under(file.limit));
        let curve = DropCurve::new(min, max, max_probability, above_max(file.gentle));
        let plan = RedPlan {
            limit: file.limit,
            weight: file.weight.unwrap_or(DEFAULT_WEIGHT),
            mean_packet: file.mean_packet.unwrap_or(DEFAULT_MEAN_PACKET),
            byte_mode: file.byte_mode,
            spacing: spacing(file.spacing),
            ecn: ecn(file.ecn),
            spare_below: u64::from(file.spare_below),
            curves: vec![self.accept(path, curve)?],
            level_of: DscpTable::filled(0),
            averages: Averages::Shared,
        };
        self.red_plan(path, plan)
    }

    fn multi_red(&mut self, path: &str, file: &MultiRedFile) -> Option<QueuePlan> {
        if file.levels.is_empty() || file.levels.len() > Dscp::COUNT {
            let help = "say 1 to 64 levels, the best protected first";
            let message = format!("RED cannot have {} levels", file.levels.len());
            self.document.mistake(&format!("{path}.levels"), message, help);
            return None;
        }
        let level_of = self.level_of(path, &file.levels);
        let mut curves = Vec::new();
        for (index, level) in file.levels.iter().enumerate() {
            let LevelFile { min_threshold, max_threshold, max_probability, .. } = *level;
            let (min, max) = (min_threshold.under(file.limit), max_threshold.under(file.limit));
            let curve = DropCurve::new(min, max, max_probability, above_max(file.gentle));
            curves.extend(self.accept(&format!("{path}.levels.{index}"), curve));
        }
        if curves.len() < file.levels.len() {
            return None;
        }
        let plan = RedPlan {
            limit: file.limit,
            weight: file.weight.unwrap_or(DEFAULT_WEIGHT),
            mean_packet: file.mean_packet.unwrap_or(DEFAULT_MEAN_PACKET),
            byte_mode: file.byte_mode,
            spacing: spacing(file.spacing),
            ecn: ecn(file.ecn),
            spare_below: u64::from(file.spare_below),
            curves,
            level_of,
            averages: match file.average {
                AverageFile::Shared => Averages::Shared,
                AverageFile::PerLevel => Averages::PerLevel,
                AverageFile::Cumulative => Averages::Coupled,
            },
        };
        self.red_plan(path, plan)
    }

    fn level_of(&mut self, path: &str, levels: &[LevelFile]) -> DscpTable<u8> {
        let is_rest = |level: &LevelFile| matches!(level.code_points, LevelPointsFile::Rest);
        let rest = levels.iter().position(is_rest).unwrap_or(levels.len() - 1);
        let mut table = DscpTable::filled(rest as u8);
        let mut named = DscpSet::EMPTY;
        for (index, level) in levels.iter().enumerate() {
            let path = format!("{path}.levels.{index}.code_points");
            match &level.code_points {
                LevelPointsFile::Rest if index != rest => {
                    let help = "name the code points of one of them";
                    self.document.mistake(&path, "a second level for the rest", help);
                }
                LevelPointsFile::Rest => {}
                LevelPointsFile::Named(names) => {
                    for (place, name) in names.iter().enumerate() {
                        let path = format!("{path}.{place}");
                        let dscp = self.dscp(&path, name);
                        if named.contains(dscp) {
                            let message = format!("the code point {dscp} is in two levels");
                            self.document.mistake(&path, message, "name it in one level only");
                        }
                        named = named.with(dscp);
                        table = table.with(dscp, index as u8);
                    }
                }
            }
        }
        table
    }

    fn red_plan(&mut self, path: &str, plan: RedPlan) -> Option<QueuePlan> {
        if plan.mean_packet == Bytes::ZERO {
            let help = "500 B is usual";
            self.document.mistake(&format!("{path}.mean_packet"), "a packet has some bytes", help);
            return None;
        }
        // The rate of the link only scales the idle time; any will do to check the rest.
        let any_rate = Rate::from_bits_per_sec(1);
        self.accept(path, plan.params_at(any_rate))?;
        Some(QueuePlan::Red(plan))
    }

    fn strict_priority(&mut self, path: &str, file: &StrictPriorityFile) -> Option<QueuePlan> {
        if file.bands.is_empty() {
            let help = "say at least one: { match = …, queue.fifo = { limit = \"100 pkt\" } }";
            self.document.mistake(&format!("{path}.bands"), "there is no band", help);
            return None;
        }
        let mut rules = Vec::new();
        let mut bands = Vec::new();
        for (index, band) in file.bands.iter().enumerate() {
            let path = format!("{path}.bands.{index}");
            rules.push((self.rule(&format!("{path}.match"), &band.rule), index));
            bands.extend(self.queue(&format!("{path}.queue"), &band.queue));
        }
        (bands.len() == file.bands.len())
            .then(|| QueuePlan::StrictPriority { classifier: Classifier::new(rules), bands })
    }
}

fn spacing(file: SpacingFile) -> Spacing {
    match file {
        SpacingFile::Uniform => Spacing::Uniform,
        SpacingFile::Wait => Spacing::Wait,
        SpacingFile::Unclamped => Spacing::Unclamped,
    }
}

pub(super) fn ecn(on: bool) -> EcnMode {
    if on { EcnMode::Mark } else { EcnMode::Drop }
}

/// Floyd & Jacobson 1993, §6: w_q = 0.002.
const DEFAULT_WEIGHT: f64 = 0.002;
/// The mean packet for which RED's idle correction counts.
const DEFAULT_MEAN_PACKET: Bytes = Bytes(500);
