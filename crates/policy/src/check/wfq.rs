//! Checks weighted fair queueing.

use shortflow_elements::classifier::Classifier;
use shortflow_elements::queue::{Share, Weight, WfqClass, WfqParams};

use super::Checker;
use crate::file::{WeightFile, WeightOfFile, WfqClassFile, WfqFile};
use crate::model::QueuePlan;

impl Checker<'_> {
    pub(super) fn wfq(&mut self, path: &str, file: &WfqFile) -> Option<QueuePlan> {
        if file.classes.is_empty() {
            let help = "say at least one: { match = …, weight = 1 }";
            self.document.mistake(&format!("{path}.classes"), "there is no class", help);
            return None;
        }
        let is_rate = |class: &WfqClassFile| matches!(class.weight, WeightFile::Rate(_));
        let mut rules = Vec::new();
        let mut classes = Vec::new();
        for (index, class) in file.classes.iter().enumerate() {
            let path = format!("{path}.classes.{index}");
            rules.push((self.rule(&format!("{path}.match"), &class.rule), index));
            if is_rate(class) != is_rate(&file.classes[0]) {
                let message = "one class has a rate for its weight, another a number";
                let help = "give all classes rates, or all of them numbers";
                self.document.mistake(&format!("{path}.weight"), message, help);
            }
            classes.extend(self.wfq_class(&path, class));
        }
        if classes.len() < file.classes.len() {
            return None;
        }
        let last = classes.len() - 1;
        let params = WfqParams::new(classes, Classifier::new(rules), last, file.limit);
        self.accept(path, params).map(QueuePlan::Wfq)
    }

    fn wfq_class(&mut self, path: &str, file: &WfqClassFile) -> Option<WfqClass> {
        if file.flow_limit.is_some() && file.per == WeightOfFile::Class {
            let message = "a limit for each flow of a class that is served as one";
            let help = "say per = \"flow\", or leave the key out";
            self.document.mistake(&format!("{path}.flow_limit"), message, help);
        }
        let weight = match file.weight {
            WeightFile::Rate(rate) => Weight::of_rate(rate),
            WeightFile::Number(number) => Weight::of_number(number),
        };
        let share = match file.per {
            WeightOfFile::Class => Share::Class,
            WeightOfFile::Flow => Share::Flow { limit: file.flow_limit },
        };
        let weight = self.accept(path, weight)?;
        self.accept(path, WfqClass::new(weight, share, file.limit))
    }
}
