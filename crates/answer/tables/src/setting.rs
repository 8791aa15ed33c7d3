//! Swept settings as typed columns.

use arrow_schema::Field;
use shortflow_measure::Run;
use shortflow_units::{Bytes, Duration, Length, Rate, Size};

use crate::batch::{self, BITS_PER_SECOND, BYTES, Cell, Kind, SECONDS};

/// A column with the values of a setting, in one unit.
#[derive(Debug)]
pub(crate) struct SettingColumn {
    key: String,
    name: String,
    form: Form,
}

/// The value of a setting at a point.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Value {
    Text(String),
    Integer(i64),
    Number(f64),
    Flag(bool),
    /// Runs of another sweep do not have the setting.
    Nothing,
}

/// How the texts of all values are read.
#[derive(Debug, Clone, Copy)]
struct Form {
    kind: Kind,
    unit: &'static str,
    /// What its unit adds to the name of the column.
    suffix: &'static str,
    read: fn(&str) -> Option<Value>,
}

impl SettingColumn {
    /// A column for each key that some run was swept over. A name that a table has already begins with `set.`.
    pub(crate) fn all(runs: &[Run], is_taken: impl Fn(&str) -> bool) -> Vec<SettingColumn> {
        let settings = || runs.iter().flat_map(|run| &run.points).flat_map(|point| &point.settings);
        let mut keys: Vec<&str> = Vec::new();
        for setting in settings() {
            if !keys.contains(&setting.key.as_str()) {
                keys.push(&setting.key);
            }
        }
        let column = |key: &str| {
            let of_key = settings().filter(|setting| setting.key == key);
            let values: Vec<&str> = of_key.map(|setting| setting.value.as_str()).collect();
            let form = Form::of_all(&values);
            let name = format!("{key}{}", form.suffix);
            let name = if is_taken(&name) { format!("set.{name}") } else { name };
            SettingColumn { key: key.to_owned(), name, form }
        };
        keys.into_iter().map(column).collect()
    }

    pub(crate) fn field(&self) -> Field {
        batch::field(&self.name, self.form.kind, self.form.unit, Some(&self.key))
    }

    /// The value of this setting in `run` at `point`.
    pub(crate) fn value(&self, run: &Run, point: usize) -> Value {
        let mut settings = run.points[point].settings.iter();
        let found = settings.rfind(|setting| setting.key == self.key);
        found.and_then(|setting| (self.form.read)(&setting.value)).unwrap_or(Value::Nothing)
    }
}

impl Value {
    pub(crate) fn cell(&self) -> Cell<'_> {
        match self {
            Value::Text(text) => Cell::Text(text),
            Value::Integer(integer) => Cell::Integer(*integer),
            Value::Number(number) => Cell::Number(*number),
            Value::Flag(flag) => Cell::Flag(*flag),
            Value::Nothing => Cell::Nothing,
        }
    }
}

impl Form {
    /// The first form in which all values can be read.
    fn of_all(values: &[&str]) -> Form {
        let reads = |form: &&Form| values.iter().all(|value| (form.read)(value).is_some());
        *FORMS.iter().find(reads).expect("anything is a text")
    }
}

const fn quantity(
    unit: &'static str,
    suffix: &'static str,
    read: fn(&str) -> Option<Value>,
) -> Form {
    Form { kind: Kind::Number, unit, suffix, read }
}

const FORMS: [Form; 9] = [
    Form {
        kind: Kind::Flag,
        unit: "",
        suffix: "",
        read: |text| Some(Value::Flag(text.parse().ok()?)),
    },
    Form {
        kind: Kind::Integer,
        unit: "",
        suffix: "",
        read: |text| Some(Value::Integer(text.parse().ok()?)),
    },
    quantity("", "", |text| finite(text.parse().ok()?)),
    quantity(SECONDS, "_s", |text| finite(text.parse::<Duration>().ok()?.as_secs_f64())),
    quantity(BITS_PER_SECOND, "_bits_per_s", |text| {
        finite(text.parse::<Rate>().ok()?.bits_per_sec() as f64)
    }),
    quantity(BYTES, "_bytes", |text| finite(text.parse::<Bytes>().ok()?.0 as f64)),
    quantity("packets", "_packets", |text| match text.parse().ok()? {
        Length::Packets(packets) => finite(packets as f64),
        Length::Bytes(_) => None,
    }),
    quantity("segments", "_segments", |text| match text.parse().ok()? {
        Size::Segments(segments) => finite(segments as f64),
        Size::Bytes(_) => None,
    }),
    Form {
        kind: Kind::Text,
        unit: "",
        suffix: "",
        read: |text| Some(Value::Text(text.to_owned())),
    },
];

fn finite(number: f64) -> Option<Value> {
    number.is_finite().then_some(Value::Number(number))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The kind and suffix of a column with these values, and the first value.
    fn read(values: &[&str]) -> (Kind, &'static str, Value) {
        let form = Form::of_all(values);
        (form.kind, form.suffix, (form.read)(values[0]).unwrap())
    }

    #[test]
    fn quantities_are_in_the_unit_that_the_name_says() {
        let number = |value, suffix| (Kind::Number, suffix, Value::Number(value));
        assert_eq!(read(&["500 us", "2 s"]), number(0.0005, "_s"));
        assert_eq!(read(&["10 Mbit/s", "1 Gbit/s"]), number(1e7, "_bits_per_s"));
        assert_eq!(read(&["64 KiB", "1 B"]), number(65536.0, "_bytes"));
        assert_eq!(read(&["200 pkt"]), number(200.0, "_packets"));
        assert_eq!(read(&["3 seg"]), number(3.0, "_segments"));
        assert_eq!(read(&["1", "0.5"]), number(1.0, ""));
    }

    #[test]
    fn numbers_and_switches_keep_their_kind_and_a_mixture_is_text() {
        assert_eq!(read(&["8", "16"]), (Kind::Integer, "", Value::Integer(8)));
        assert_eq!(read(&["true", "false"]), (Kind::Flag, "", Value::Flag(true)));
        let text = |text: &str| (Kind::Text, "", Value::Text(text.to_owned()));
        assert_eq!(read(&["10 ms", "3 seg"]), text("10 ms"));
        assert_eq!(read(&["nan", "1"]), text("nan"));
    }
}
