//! Checks a policy: names, ranges, and how settings stand to each other.

use shortflow_elements::classifier::{
    AddressPrefix, Classifier, DscpSet, DscpTable, MultiField, PortRange,
};
use shortflow_elements::dropper::PolicerAction;
use shortflow_elements::meter::{
    ColorMode, FairMarkerParams, FlowTableSize, InitialRate, SrTcmParams, TokenBucketParams,
    TrTcmParams, Tsw3CmParams, TswParams,
};
use shortflow_elements::queue::{Averages, DropCurve, EcnMode, FifoParams, Spacing};
use shortflow_elements::{Address, Color, Dscp, ParamsError, Protocol};
use shortflow_units::{Bytes, Duration, Rate};

use crate::file::{
    ActionFile, AverageFile, ClassFile, CodePointsFile, FairMarkerFile, InitialRateFile, LevelFile,
    LevelPointsFile, MarkerFile, MatchFile, MultiRedFile, PoliceFile, PolicyFile, PortsFile,
    ProtocolFile, QueueFile, RedFile, RoleFile, SpacingFile, StrictPriorityFile, TableSizeFile,
};
use crate::model::{Class, MarkerPlan, Policy, QueuePlan, RedPlan, Role, above_max};
use crate::text::{Diagnostics, Document};

/// Checks `file`, which was read from `document`; `stem` is its name when it gives none.
pub(crate) fn check(
    document: &mut Document,
    file: PolicyFile,
    stem: String,
) -> Result<Policy, Diagnostics> {
    let mut checker = Checker { document, code_points: [Dscp::AF11, Dscp::AF12, Dscp::AF13] };
    checker.code_points(&file.code_points);
    if file.roles.is_empty() {
        checker.document.mistake("roles", "the policy has no role", "add a [roles.NAME] table");
    }
    let roles = file.roles.iter().map(|(name, role)| checker.role(name, role)).collect();
    let code_points = checker.code_points;
    document.checked()?;
    Ok(Policy {
        name: file.name.unwrap_or(stem),
        description: file.description,
        code_points,
        roles,
    })
}

struct Checker<'d> {
    document: &'d mut Document,
    code_points: [Dscp; 3],
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
        let queue = file.queue.as_ref().and_then(|q| self.queue(&format!("{path}.queue"), q));
        Role { name: name.to_owned(), classes, code_points: self.code_points, queue }
    }

    fn class(&mut self, path: &str, file: &ClassFile) -> Class {
        let marker = &file.marker;
        Class {
            name: file.name.clone(),
            rule: self.rule(&format!("{path}.match"), &file.rule),
            marker: marker.as_ref().and_then(|m| self.marker(&format!("{path}.marker"), m)),
            police: file.police.as_ref().map(police),
        }
    }

    fn rule(&mut self, path: &str, file: &MatchFile) -> MultiField {
        let mut at = |key: &str, text: &Option<String>| {
            text.as_ref().and_then(|text| self.prefix(&format!("{path}.{key}"), text))
        };
        let (src, dst) = (at("src", &file.src), at("dst", &file.dst));
        let mut at = |key: &str, ports: Option<PortsFile>| {
            let PortsFile(first, last) = ports?;
            self.accept(&format!("{path}.{key}"), PortRange::new(first, last))
        };
        MultiField {
            src,
            dst,
            src_ports: at("src_port", file.src_port),
            dst_ports: at("dst_port", file.dst_port),
            protocol: file.protocol.map(|protocol| match protocol {
                ProtocolFile::Tcp => Protocol::Tcp,
                ProtocolFile::Udp => Protocol::Udp,
            }),
            dscps: file.dscp.as_ref().map(|names| self.dscps(&format!("{path}.dscp"), names)),
        }
    }

    fn prefix(&mut self, path: &str, text: &str) -> Option<AddressPrefix> {
        let (address, length) = text.split_once('/').unwrap_or((text, "32"));
        match (address.parse::<std::net::Ipv4Addr>(), length.parse()) {
            (Ok(address), Ok(length)) => {
                self.accept(path, AddressPrefix::new(Address(address.to_bits()), length))
            }
            _ => {
                let message = format!("\"{text}\" is no address");
                let help = "write an IPv4 address, or a prefix such as \"10.0.0.0/8\"";
                self.document.mistake(path, message, help);
                None
            }
        }
    }

    fn dscps(&mut self, path: &str, names: &[String]) -> DscpSet {
        if names.is_empty() {
            let help = "name code points such as \"AF11\", or leave the key out";
            self.document.mistake(path, "the list is empty: nothing would match", help);
        }
        let each = names.iter().enumerate();
        each.map(|(index, name)| self.dscp(&format!("{path}.{index}"), name)).collect()
    }

    fn dscp(&mut self, path: &str, text: &str) -> Dscp {
        text.parse().unwrap_or_else(|message: String| {
            let (message, help) = message.split_once("; ").unwrap_or((&message, ""));
            self.document.mistake(path, message, help);
            Dscp::BEST_EFFORT
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

/// Markers.
impl Checker<'_> {
    fn marker(&mut self, path: &str, file: &MarkerFile) -> Option<MarkerPlan> {
        match file {
            MarkerFile::Fixed(fixed) => {
                Some(MarkerPlan::Fixed(self.dscp(&format!("{path}.fixed.dscp"), &fixed.dscp)))
            }
            MarkerFile::TokenBucket(bucket) => {
                let params = TokenBucketParams::new(bucket.rate, bucket.depth);
                self.accept(&format!("{path}.token-bucket"), params).map(MarkerPlan::TokenBucket)
            }
            MarkerFile::Srtcm(srtcm) => {
                let mode = self.color_mode(srtcm.color_aware);
                let params = SrTcmParams::new(srtcm.cir, srtcm.cbs, srtcm.ebs, mode);
                self.accept(&format!("{path}.srtcm"), params).map(MarkerPlan::SrTcm)
            }
            MarkerFile::Trtcm(trtcm) => {
                let mode = self.color_mode(trtcm.color_aware);
                let params = TrTcmParams::new(trtcm.cir, trtcm.cbs, trtcm.pir, trtcm.pbs, mode);
                self.accept(&format!("{path}.trtcm"), params).map(MarkerPlan::TrTcm)
            }
            MarkerFile::Tsw2cm(tsw) => {
                let path = format!("{path}.tsw2cm");
                let params = self.tsw(&path, tsw.cir, tsw.window, tsw.initial_rate);
                params.map(MarkerPlan::Tsw2Cm)
            }
            MarkerFile::Tsw3cm(tsw) => {
                let path = format!("{path}.tsw3cm");
                let params = self.tsw(&path, tsw.cir, tsw.window, tsw.initial_rate)?;
                self.accept(&path, Tsw3CmParams::new(params, tsw.pir)).map(MarkerPlan::Tsw3Cm)
            }
            MarkerFile::FairMarker(fair) => self.fair_marker(&format!("{path}.fair-marker"), fair),
        }
    }

    fn fair_marker(&mut self, path: &str, file: &FairMarkerFile) -> Option<MarkerPlan> {
        let tsw = self.tsw(path, file.cir, file.window, file.initial_rate);
        let table = match (file.table_size, file.idle_timeout) {
            (Some(TableSizeFile::Unlimited), Some(idle_timeout)) => {
                FlowTableSize::Unlimited { idle_timeout }
            }
            (Some(TableSizeFile::Unlimited), None) => {
                let message = "an unlimited table needs an idle_timeout";
                let help =
                    "add `idle_timeout = \"…\"`: after which silence a flow leaves the table";
                self.document.mistake(&format!("{path}.table_size"), message, help);
                return None;
            }
            (_, Some(_)) => {
                let message = "only an unlimited table has an idle_timeout";
                let help = "write `table_size = \"unlimited\"`, or leave `idle_timeout` out";
                self.document.mistake_in_key(&format!("{path}.idle_timeout"), message, help);
                return None;
            }
            (Some(TableSizeFile::AtMost(size)), None) => FlowTableSize::AtMost(size),
            (None, None) => FlowTableSize::AtMost(DEFAULT_TABLE_SIZE),
        };
        let threshold = file.threshold.unwrap_or(DEFAULT_THRESHOLD);
        self.accept(path, FairMarkerParams::new(tsw?, threshold, table)).map(MarkerPlan::FairMarker)
    }

    fn tsw(
        &mut self,
        path: &str,
        cir: Rate,
        window: Option<Duration>,
        initial: Option<InitialRateFile>,
    ) -> Option<TswParams> {
        let initial = match initial.unwrap_or_default() {
            InitialRateFile::Committed => InitialRate::Committed,
            InitialRateFile::Zero => InitialRate::Zero,
        };
        self.accept(path, TswParams::new(cir, window.unwrap_or(DEFAULT_WINDOW), initial))
    }

    fn color_mode(&self, color_aware: bool) -> ColorMode {
        if !color_aware {
            return ColorMode::Blind;
        }
        // A code point of no colour has no claim to protection.
        let unknown = DscpTable::filled(Color::Red);
        let colors = Color::ALL.into_iter().zip(self.code_points);
        ColorMode::Aware(colors.fold(unknown, |table, (color, dscp)| table.with(dscp, color)))
    }
}

fn police(file: &PoliceFile) -> [PolicerAction; 3] {
    [file.green, file.yellow, file.red].map(|action| match action {
        ActionFile::Forward => PolicerAction::Forward,
        ActionFile::Drop => PolicerAction::Drop,
    })
}

/// Queues.
impl Checker<'_> {
    fn queue(&mut self, path: &str, file: &QueueFile) -> Option<QueuePlan> {
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
        }
    }

    fn red(&mut self, path: &str, file: &RedFile) -> Option<QueuePlan> {
        let RedFile { min_threshold: min, max_threshold: max, max_probability, .. } = *file;
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
            let LevelFile { min_threshold: min, max_threshold: max, max_probability, .. } = *level;
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

fn ecn(on: bool) -> EcnMode {
    if on { EcnMode::Mark } else { EcnMode::Drop }
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

/// Whether `name` may name a role, a node or a workload: it must stand in results and in keys.
pub fn is_name(name: &str) -> bool {
    !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_' || c == '-')
}

/// What [`is_name`] wants, for messages.
pub const NAME_RULE: &str = "a name has letters, digits, `-` and `_` only";

/// cm05 §4: the flow table holds 30 flows.
const DEFAULT_TABLE_SIZE: usize = 30;
/// cm05 §4: t_ft = 7.
const DEFAULT_THRESHOLD: u64 = 7;
/// cm05 §2: the rate estimators' window is 1 s.
const DEFAULT_WINDOW: Duration = Duration::from_secs(1);
/// Floyd & Jacobson 1993, §6: w_q = 0.002.
const DEFAULT_WEIGHT: f64 = 0.002;
/// The mean packet for which RED's idle correction counts.
const DEFAULT_MEAN_PACKET: Bytes = Bytes(500);
