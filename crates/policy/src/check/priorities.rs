//! Checks queues that serve by priority and push out of one buffer.

use shortflow_elements::Dscp;
use shortflow_elements::classifier::{Classifier, DscpSet, DscpTable, MultiField};
use shortflow_elements::queue::{SharedPriorityParams, StfParams};
use shortflow_units::Duration;

use super::Checker;
use crate::file::{SharedBandFile, SharedPriorityFile, StfFile};
use crate::model::QueuePlan;

/// Bands in order, and what decides the band of a packet.
#[derive(Default)]
struct Bands {
    count: usize,
    named: Vec<(Dscp, usize)>,
    rules: Vec<(MultiField, usize)>,
    has_match: bool,
    rest: Option<usize>,
}

impl Bands {
    fn add(&mut self, code_points: Vec<Dscp>) {
        let set: DscpSet = code_points.iter().copied().collect();
        self.rules.push((MultiField { dscps: Some(set), ..MultiField::default() }, self.count));
        self.named.extend(code_points.into_iter().map(|dscp| (dscp, self.count)));
        self.count += 1;
    }
}

impl Checker<'_> {
    pub(super) fn shared_priority(
        &mut self,
        path: &str,
        file: &SharedPriorityFile,
    ) -> Option<QueuePlan> {
        let mut bands = Bands::default();
        for (index, band) in file.bands.iter().enumerate() {
            self.shared_band(&format!("{path}.bands.{index}"), band, &mut bands);
        }
        if bands.count == 0 || bands.count > SharedPriorityParams::MOST_BANDS {
            let message = format!("a shared buffer cannot have {} bands", bands.count);
            let help = "say 1 to 64 bands, the first served first, for example [\"EF\", \"rest\"]";
            self.document.mistake(&format!("{path}.bands"), message, help);
            return None;
        }
        let otherwise = bands.rest.unwrap_or(bands.count - 1);
        let params = if bands.has_match {
            let classifier = Classifier::new(bands.rules);
            SharedPriorityParams::by_rules(file.limit, classifier, otherwise)
        } else {
            let rest = DscpTable::filled(otherwise as u8);
            let named = bands.named.iter();
            let table = named.fold(rest, |table, &(dscp, band)| table.with(dscp, band as u8));
            SharedPriorityParams::by_code_point(file.limit, table)
        };
        self.accept(path, params).map(QueuePlan::SharedPriority)
    }

    fn shared_band(&mut self, path: &str, file: &SharedBandFile, bands: &mut Bands) {
        match file {
            SharedBandFile::Rest => {
                if bands.rest.replace(bands.count).is_some() {
                    let help = "name the code points of one of them";
                    self.document.mistake(path, "a second band for the rest", help);
                }
                bands.count += 1;
            }
            SharedBandFile::Rule(rule) => {
                bands.rules.push((self.rule(&format!("{path}.match"), rule), bands.count));
                bands.has_match = true;
                bands.count += 1;
            }
            SharedBandFile::List(names) => {
                // An empty list has its own message, which the set is asked for.
                self.dscps(path, names);
                let points = names.iter().filter_map(|name| name.parse().ok()).collect();
                self.named_band(path, points, bands);
            }
            SharedBandFile::Text(text) => match range(text) {
                Some(points) => {
                    points.into_iter().for_each(|dscp| self.named_band(path, vec![dscp], bands));
                }
                None => {
                    let dscp = self.dscp(path, text);
                    self.named_band(path, vec![dscp], bands);
                }
            },
        }
    }

    fn named_band(&mut self, path: &str, code_points: Vec<Dscp>, bands: &mut Bands) {
        let mut named: DscpSet = bands.named.iter().map(|&(dscp, _)| dscp).collect();
        for &dscp in &code_points {
            if named.contains(dscp) {
                let message = format!("the code point {dscp} is in two bands");
                self.document.mistake(path, message, "name it in one band only");
                return;
            }
            named = named.with(dscp);
        }
        bands.add(code_points);
    }

    pub(super) fn stf(&mut self, path: &str, file: &StfFile) -> Option<QueuePlan> {
        let flows = file.flows.unwrap_or(DEFAULT_FLOWS) as usize;
        let timeout = file.idle_timeout.unwrap_or(DEFAULT_IDLE_TIMEOUT);
        self.accept(path, StfParams::new(file.limit, flows, timeout)).map(QueuePlan::Stf)
    }
}

/// Code points from a first to a last one, in this order, when `text` is a range.
fn range(text: &str) -> Option<Vec<Dscp>> {
    let (first, last) = text.split_once('-')?;
    let (first, last): (u8, u8) = (first.trim().parse().ok()?, last.trim().parse().ok()?);
    let (low, high) = (first.min(last), first.max(last));
    let mut points: Vec<Dscp> = (low..=high).map(Dscp::new).collect::<Option<_>>()?;
    if first > last {
        points.reverse();
    }
    Some(points)
}

/// As many flows as one host has ports.
const DEFAULT_FLOWS: u32 = 65_536;
/// Longer than the timeouts of TCP that keep a transfer waiting.
const DEFAULT_IDLE_TIMEOUT: Duration = Duration::from_secs(60);
