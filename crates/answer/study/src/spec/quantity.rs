//! The file format of a measured quantity.

use serde::Deserialize;
use shortflow_measure::Measure;

/// A number that a run gives at a point, one per replica.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Quantity {
    /// The run. Within `per` it may be omitted, and is then that of the divided quantity; in a table it may be
    /// omitted too, and is then that of the row.
    #[serde(default)]
    pub run: String,
    /// The run with which it is compared, for gains and ratios.
    pub over: Option<String>,
    /// How the two are joined.
    #[serde(default)]
    pub form: Form,
    /// What is measured.
    #[serde(default)]
    pub measure: Measure,
    /// The workload; that of the study when absent.
    pub workload: Option<String>,
    /// The class of transfers, where it is another than the check's; `all` for all together.
    pub class: Option<String>,
    /// The port, or the counter's name.
    pub at: Option<String>,
    /// The limit in seconds, one of the scenario's `measure.limits`, for shares over it.
    pub limit: Option<f64>,
    /// The size class, for the share of bytes in larger transfers.
    pub above: Option<String>,
    /// The stream, for delay and loss of one of a set of datagram streams.
    pub stream: Option<String>,
    /// The code point, for losses.
    pub code_point: Option<String>,
    /// The point of the sweep, where it is another than the check's.
    pub x: Option<f64>,
    /// The point of the run with which it is compared, if it differs from this one's.
    pub over_x: Option<f64>,
    /// What it is divided by, replica by replica.
    pub per: Option<Box<Quantity>>,
    /// What counts as one: the value is given in multiples of this.
    pub unit: Option<f64>,
}

/// The class of all transfers together.
pub(crate) const ALL: &str = "all";

impl Quantity {
    /// The workload; empty, as none is called, where neither the quantity nor the study names one.
    pub fn workload_name(&self) -> &str {
        self.workload.as_deref().unwrap_or_default()
    }

    /// The class of transfers, where no check says.
    pub fn class_name(&self) -> &str {
        self.class.as_deref().unwrap_or(ALL)
    }

    /// `delay of web, class 11 seg`.
    pub(crate) fn describe(&self, class: Option<&str>) -> String {
        let mut words = self.measure.about().name.to_owned();
        if let Some(workload) = &self.workload {
            words += &format!(" of {workload}");
        }
        let class = self.class.as_deref().or(class);
        let parts = [
            ("class", class),
            ("stream", self.stream.as_deref()),
            ("at", self.at.as_deref()),
            ("above", self.above.as_deref()),
            ("code point", self.code_point.as_deref()),
        ];
        for (kind, part) in parts {
            if let Some(part) = part {
                words += &format!(", {kind} {part}");
            }
        }
        words
    }

    /// The quantity, of `run` where it names none.
    pub(crate) fn or_of(&self, run: &str) -> Quantity {
        let run = if self.run.is_empty() { run } else { &self.run };
        Quantity { run: run.to_owned(), ..self.clone() }
    }

    /// The quantity as the divisor of `whole` in `run`, from which it has what it does not name.
    pub(crate) fn within(&self, whole: &Quantity, run: &str) -> Quantity {
        let mut own = self.or_of(run);
        own.workload = own.workload.or_else(|| whole.workload.clone());
        own.stream = own.stream.or_else(|| whole.stream.clone());
        own
    }
}

/// How a run and the compared one are combined.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Form {
    /// The run's value alone.
    #[default]
    Value,
    /// The run's value over the other's.
    Ratio,
    /// η = 100·(other − run)/other, in percent.
    Gain,
}
