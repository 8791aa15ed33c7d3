//! Checks a policy: names, ranges, and how settings stand to each other.

mod admission;
mod flow_queues;
mod markers;
mod matching;
mod per;
mod priorities;
mod queues;
mod schedulers;
mod shadows;
mod size_levels;
mod wfq;

use shortflow_elements::dropper::PolicerAction;
use shortflow_elements::{Acknowledgements, Dscp, ParamsError};

use crate::file::RoleFile;
use crate::file::{AcksFile, ActionFile, ClassFile, CodePointsFile, PoliceFile, PolicyFile};
use crate::model::{Class, Policy, Role};
use shortflow_text::{Diagnostics, Document, NAME_RULE, is_name};

/// Checks `file`, which was read from `document`; `stem` is its name when it gives none.
pub(crate) fn check(
    document: &mut Document,
    file: PolicyFile,
    stem: String,
) -> Result<Policy, Diagnostics> {
    let code_points = [Dscp::AF11, Dscp::AF12, Dscp::AF13];
    let mut checker = Checker { document, code_points, labels: Vec::new() };
    checker.code_points(&file.code_points);
    if file.roles.is_empty() {
        checker.document.mistake("roles", "the policy has no role", "add a [roles.NAME] table");
    }
    let roles: Vec<Role> = file.roles.iter().map(|(name, role)| checker.role(name, role)).collect();
    checker.warn_of_nothing(&roles);
    let Checker { code_points, labels, .. } = checker;
    document.checked()?;
    Ok(Policy {
        name: file.name.unwrap_or(stem),
        description: file.description,
        code_points,
        roles,
        warnings: document.warnings(),
        labels,
    })
}

struct Checker<'d> {
    document: &'d mut Document,
    code_points: [Dscp; 3],
    /// The labels that matches mention so far.
    labels: Vec<String>,
}

impl Checker<'_> {
    fn code_points(&mut self, file: &CodePointsFile) {
        let given = [("green", &file.green), ("yellow", &file.yellow), ("red", &file.red)];
        for (color, (key, text)) in given.into_iter().enumerate() {
            if let Some(text) = text {
                self.code_points[color] = self.dscp(&format!("code_points.{key}"), text);
            }
        }
        let [green, yellow, red] = self.code_points;
        if green == yellow || yellow == red || green == red {
            self.document.mistake(
                "code_points",
                format!(
                    "two colours have one code point: green {green}, yellow {yellow}, red {red}"
                ),
                "give each colour a code point of its own",
            );
        }
    }

    /// A policy that neither marks nor queues is allowed, and hardly meant.
    fn warn_of_nothing(&mut self, roles: &[Role]) {
        let does = |role: &Role| role.conditions() || role.queues();
        if self.document.is_sound() && !roles.iter().any(does) {
            let help = "give a role classes or a queue; links without a queue from a policy have a \
                        drop-tail FIFO already";
            self.document.warning("roles", "no role of this policy does anything", help);
        }
    }

    fn role(&mut self, name: &str, file: &RoleFile) -> Role {
        let path = format!("roles.{name}");
        if !is_name(name) {
            self.document.mistake_in_key(&path, format!("`{name}` is no name"), NAME_RULE);
        }
        let mut classes: Vec<Class> = Vec::new();
        for (index, class) in file.classes.iter().enumerate() {
            let path = format!("{path}.classes.{index}");
            if classes.iter().any(|other| other.name == class.name) {
                let message = format!("a second class `{}`", class.name);
                self.document.mistake(&format!("{path}.name"), message, "rename one of them");
            }
            classes.push(self.class(&path, class));
        }
        if self.document.is_sound() {
            shadows::warn(self.document, &format!("{path}.classes"), &classes);
        }
        let queue = file.queue.as_ref().and_then(|q| self.queue(&format!("{path}.queue"), q));
        let acks = match file.acks {
            AcksFile::Mark => Acknowledgements::Marked,
            AcksFile::Echo => Acknowledgements::Echoed,
        };
        Role { name: name.to_owned(), classes, code_points: self.code_points, queue, acks }
    }

    fn class(&mut self, path: &str, file: &ClassFile) -> Class {
        let marker = &file.marker;
        Class {
            name: file.name.clone(),
            rule: self.class_rule(&format!("{path}.match"), &file.rule),
            marker: marker.as_ref().and_then(|m| self.marker(&format!("{path}.marker"), m)),
            police: file.police.as_ref().map(|p| self.police(&format!("{path}.police"), p)),
        }
    }

    fn police(&mut self, path: &str, file: &PoliceFile) -> [PolicerAction; 3] {
        let actions = [("green", &file.green), ("yellow", &file.yellow), ("red", &file.red)];
        actions.map(|(color, action)| match action {
            ActionFile::Forward => PolicerAction::Forward,
            ActionFile::Drop => PolicerAction::Drop,
            ActionFile::Remark(dscp) => {
                PolicerAction::Remark(self.dscp(&format!("{path}.{color}.remark"), dscp))
            }
        })
    }

    /// The parameters, or a mistake at the key below `path` that they name.
    fn accept<T>(&mut self, path: &str, params: Result<T, ParamsError>) -> Option<T> {
        params
            .map_err(|error| {
                // Where the element's parameter is not a key of this table, the table is shown.
                let parameter = error.parameter();
                let renamed = KEYS.iter().find(|(name, _)| *name == parameter);
                let key = renamed.map_or(parameter, |(_, key)| key);
                let message = KEYS
                    .iter()
                    .fold(error.to_string(), |message, (name, key)| message.replace(name, key));
                self.document.mistake(&format!("{path}.{key}"), message, "");
            })
            .ok()
    }
}

/// Parameters of elements that a policy writes as the RFCs do; the longer names come first.
const KEYS: [(&str, &str); 6] = [
    ("committed_rate", "cir"),
    ("committed_burst", "cbs"),
    ("excess_burst", "ebs"),
    ("peak_rate", "pir"),
    ("peak_burst", "pbs"),
    ("burst", "depth"),
];
