//! Checks a policy: names, ranges, and settings that depend on each other.

use shortflow_elements::classifier::{Classifier, MultiField};
use shortflow_elements::dropper::PolicerAction;
use shortflow_elements::{Color, ParamsError};
use shortflow_packet::Dscp;
use shortflow_text::{Diagnostics, Document, NAME_RULE, WrittenKeys, is_name};

use crate::class_rule::{ClassId, ClassRule};
use crate::file::{ActionFile, ClassFile, CodePointsFile, PoliceFile, PolicyFile, RoleFile};
use crate::keys::MatchKeys;
use crate::load::format_keys;
use crate::model::{Policy, QueueLimit, Role, TrafficClass};
use crate::schemes::markers::MarkerPlan;
use crate::schemes::queues::QueuePlan;
use crate::shadows;

/// Checks `file`, which was read from `document`. `stem` is the policy's name if the file gives none.
pub(crate) fn check(
    document: &mut Document,
    file: PolicyFile,
    stem: String,
) -> Result<Policy, Diagnostics> {
    let name = document.title(file.name, stem);
    let code_points = [Dscp::AF11, Dscp::AF12, Dscp::AF13];
    let mut checker = Checker {
        document,
        code_points,
        labels: Vec::new(),
        classes: Vec::new(),
        limits: Vec::new(),
    };
    checker.code_points(&file.code_points);
    if file.roles.is_empty() {
        checker.document.mistake("roles", "the policy has no role", "add a [roles.NAME] table");
    }
    let roles: Vec<Role> = file.roles.iter().map(|(name, role)| checker.role(name, role)).collect();
    checker.warn_of_nothing(&roles);
    let Checker { code_points, labels, classes, .. } = checker;
    document.checked()?;
    Ok(Policy {
        name,
        description: file.description,
        parameters: file.parameters.0.into_iter().map(|(name, _)| name).collect(),
        code_points,
        roles,
        classes,
        warnings: document.warnings(),
        written: WrittenKeys::new(document, format_keys),
        labels,
    })
}

/// The state that a scheme needs to turn its keys into parameters.
pub(crate) struct Checker<'d> {
    /// Collects mistakes and warnings.
    pub(crate) document: &'d mut Document,
    /// The code points of green, yellow and red.
    pub(crate) code_points: [Dscp; 3],
    /// The labels that matches have mentioned so far.
    pub(crate) labels: Vec<String>,
    /// The classes with conditions so far.
    pub(crate) classes: Vec<ClassRule>,
    /// The limits of the role's queue so far.
    pub(crate) limits: Vec<QueueLimit>,
}

impl Checker<'_> {
    fn code_points(&mut self, file: &CodePointsFile) {
        let given = [file.green, file.yellow, file.red];
        for (color, point) in given.into_iter().enumerate() {
            if let Some(point) = point {
                self.code_points[color] = point.0;
            }
        }
        let [green, yellow, red] = self.code_points;
        if green == yellow || yellow == red || green == red {
            self.document.mistake(
                "code_points",
                format!(
                    "two colours have the same code point: green {green}, yellow {yellow}, red {red}"
                ),
                "give each colour a code point of its own",
            );
        }
    }

    /// Warns of a policy that neither marks nor queues. It is allowed, but probably a mistake.
    fn warn_of_nothing(&mut self, roles: &[Role]) {
        let does = |role: &Role| role.conditions() || role.queues();
        if self.document.is_sound() && !roles.iter().any(does) {
            let help = "add `classes` or a `queue` to a role; links without a queue of a policy already \
                        have a drop-tail FIFO";
            self.document.warning("roles", "no role of this policy has classes or a queue", help);
        }
    }

    fn role(&mut self, name: &str, file: &RoleFile) -> Role {
        let path = format!("roles.{name}");
        if !is_name(name) {
            self.document.mistake_in_key(&path, format!("`{name}` is not a valid name"), NAME_RULE);
        }
        let mut classes: Vec<TrafficClass> = Vec::new();
        for (index, class) in file.classes.iter().enumerate() {
            let path = format!("{path}.classes.{index}");
            if classes.iter().any(|other| other.name == class.name) {
                let message = format!("two classes are called `{}`", class.name);
                self.document.mistake(&format!("{path}.name"), message, "rename one of them");
            }
            let class = self.class(&path, class);
            let name = format!("the class `{}`", class.name);
            self.note_class(&format!("{path}.match"), index, name, &class.rule);
            classes.push(class);
        }
        if self.document.is_sound() {
            shadows::warn(self.document, &format!("{path}.classes"), &classes);
        }
        let rules: Vec<&MatchKeys> = file.classes.iter().map(|class| &class.rule).collect();
        self.reachable(&format!("{path}.classes"), &rules);
        let queue = file.queue.as_ref().and_then(|keys| keys.check(self, &format!("{path}.queue")));
        if let Some(queue) = &queue
            && queue.inner().into_iter().any(QueuePlan::withholds)
        {
            let message = format!(
                "a queue inside `{}` withholds segments in TCP, which only the whole queue of a port can do",
                queue.scheme(),
            );
            let help = "add `place = \"queue\"` to the `aggregate-shaper`, or make it the queue of the role";
            self.document.mistake(&format!("{path}.queue"), message, help);
        }
        let (acks, thresholds) = (file.acks.0, file.thresholds.0);
        let rules = classes.iter().enumerate();
        let classifier = Classifier::new(rules.map(|(i, class)| (class.rule.clone(), i)).collect());
        let (name, code_points) = (name.to_owned(), self.code_points);
        let limits = std::mem::take(&mut self.limits);
        let role = Role { name, classes, classifier, code_points, queue, limits, acks, thresholds };
        if role.asks_applications() && !role.counts_sent() && self.document.is_sound() {
            let message = "no class of this role distinguishes packets by bytes sent, so applications have no \
                           thresholds to set";
            let help =
                "add the marker `dstf` or `match.sent_up_to` to a class, or omit `thresholds`";
            self.document.mistake(&format!("{path}.thresholds"), message, help);
        }
        role
    }

    fn class(&mut self, path: &str, file: &ClassFile) -> TrafficClass {
        let marker = file.marker.as_ref();
        let plan = marker.and_then(|keys| keys.check(self, &format!("{path}.marker")));
        if let (Some(police), true) = (&file.police, marker.is_none() || plan.is_some()) {
            self.policed(&format!("{path}.police"), police, plan.as_ref());
        }
        TrafficClass {
            name: file.name.clone(),
            rule: self.class_rule(&format!("{path}.match"), &file.rule),
            marker: plan,
            police: file.police.as_ref().map(police),
        }
    }

    /// Refuses an action for a colour that no packet of the class has.
    fn policed(&mut self, path: &str, file: &PoliceFile, marker: Option<&MarkerPlan>) {
        let colors = marker.map_or(&[Color::Green][..], MarkerPlan::colors);
        let given = [("green", &file.green), ("yellow", &file.yellow), ("red", &file.red)];
        for (color, (name, action)) in Color::ALL.into_iter().zip(given) {
            let acts = action.is_some_and(|action| action != ActionFile::Forward);
            if !acts || colors.contains(&color) {
                continue;
            }
            let (message, help) = match marker {
                None => (
                    format!("no packet of this class is {name}: the class has no marker"),
                    "without a marker all packets are green; add a `marker`".to_owned(),
                ),
                Some(marker) => {
                    let known: Vec<_> =
                        given.iter().zip(Color::ALL).filter(|(_, c)| colors.contains(c)).collect();
                    let known: Vec<_> =
                        known.iter().map(|((name, _), _)| format!("`{name}`")).collect();
                    (
                        format!("`{}` marks no packet {name}", marker.scheme()),
                        format!("its colours are {}", known.join(" and ")),
                    )
                }
            };
            self.document.mistake_in_key(&format!("{path}.{name}"), message, help);
        }
    }

    /// Records the conditions at `path` of the class with this number, if there are any.
    pub(crate) fn note_class(
        &mut self,
        path: &str,
        number: usize,
        name: String,
        rule: &MultiField,
    ) {
        let id = ClassId::from_path(path, number).filter(|_| *rule != MultiField::default());
        if let Some(id) = id {
            let (rule, spot) = (rule.clone(), self.document.spot(path));
            self.classes.push(ClassRule { id, name, rule, spot });
        }
    }

    /// Warns of entries in the list at `path` that follow an entry which takes all packets.
    pub(crate) fn reachable(&mut self, path: &str, rules: &[&MatchKeys]) {
        let Some(all) = rules.iter().position(|rule| rule.takes_all()) else { return };
        for index in all + 1..rules.len() {
            let message =
                format!("no packet reaches this entry: entry {} takes all packets", all + 1);
            let help = "give that entry a `match`, or put it last";
            self.document.warning(&format!("{path}.{index}"), message, help);
        }
    }

    /// The parameters. An error is reported at the key below `path` that it names.
    pub(crate) fn accept<T>(&mut self, path: &str, params: Result<T, ParamsError>) -> Option<T> {
        params
            .map_err(|error| {
                // If the element's parameter is not a key of this table, the message points to the table.
                let parameter = error.parameter();
                let renamed = KEYS.iter().find(|(name, _)| *name == parameter);
                let key = renamed.map_or(parameter, |(_, key)| key);
                let message = KEYS
                    .iter()
                    .fold(error.to_string(), |message, (name, key)| message.replace(name, key));
                let item = error.item().map_or(String::new(), |item| format!(".{item}"));
                self.document.mistake(&format!("{path}.{key}{item}"), message, "");
            })
            .ok()
    }
}

fn police(file: &PoliceFile) -> [PolicerAction; 3] {
    [file.green, file.yellow, file.red].map(|action| match action {
        None | Some(ActionFile::Forward) => PolicerAction::Forward,
        Some(ActionFile::Drop) => PolicerAction::Drop,
        Some(ActionFile::Remark(point)) => PolicerAction::Remark(point.0),
        Some(ActionFile::End) => PolicerAction::End,
    })
}

/// Parameters of elements for which policies use the RFCs' names. Longer names come first.
const KEYS: [(&str, &str); 6] = [
    ("committed_rate", "cir"),
    ("committed_burst", "cbs"),
    ("excess_burst", "ebs"),
    ("peak_rate", "pir"),
    ("peak_burst", "pbs"),
    ("burst", "depth"),
];
