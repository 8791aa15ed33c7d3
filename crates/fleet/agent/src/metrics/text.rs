//! The text format of Prometheus, version 0.0.4.

use std::collections::BTreeMap;
use std::fmt;

use serde_json::Value;

/// What a family's values are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// A value that only grows, or restarts at zero.
    Counter,
    /// What goes up and down.
    Gauge,
    /// How often something was up to how much.
    Histogram,
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Kind::Counter => "counter",
            Kind::Gauge => "gauge",
            Kind::Histogram => "histogram",
        })
    }
}

/// Metrics of one name.
#[derive(Debug)]
pub(super) struct Family {
    pub(super) name: &'static str,
    pub(super) kind: Kind,
    /// What a value says, in a sentence.
    pub(super) help: &'static str,
}

/// Names and values of labels that distinguish the metrics of a family.
pub(super) type Labels<'a> = &'a [(&'static str, &'a str)];

/// Families in the order in which they came first, each with its values.
#[derive(Debug, Default)]
pub(super) struct Exposition {
    families: Vec<(&'static Family, BTreeMap<String, f64>)>,
    /// The lines of histograms, which have an order of their own.
    histograms: Vec<(&'static Family, Vec<String>)>,
}

impl Exposition {
    /// Adds a value. Two with the same labels are one, their sum: a scrape that has the same twice is refused as a whole.
    pub(super) fn add(&mut self, family: &'static Family, labels: Labels, value: f64) {
        let known = self.families.iter().position(|(known, _)| known.name == family.name);
        let at = known.unwrap_or_else(|| {
            self.families.push((family, BTreeMap::new()));
            self.families.len() - 1
        });
        *self.families[at].1.entry(written(labels)).or_default() += value;
    }

    /// Adds a histogram, as [`Histogram::json`](super::Histogram::json) says it; each with labels of its own.
    pub(super) fn add_histogram(&mut self, family: &'static Family, labels: Labels, of: &Value) {
        let name = family.name;
        let numbers =
            |key: &str| of[key].as_array().into_iter().flatten().filter_map(Value::as_f64);
        let count = of["count"].as_f64().unwrap_or_default();
        let bounds = numbers("bounds").map(|bound| bound.to_string()).chain(["+Inf".to_owned()]);
        let buckets = bounds.zip(numbers("up_to").chain([count])).map(|(bound, up_to)| {
            let all = [labels, &[("le", &bound)]].concat();
            format!("{name}_bucket{} {up_to}\n", written(&all))
        });
        let (labels, sum) = (written(labels), of["sum"].as_f64().unwrap_or_default());
        let whole =
            [format!("{name}_sum{labels} {sum}\n"), format!("{name}_count{labels} {count}\n")];
        let lines: String = buckets.chain(whole).collect();
        match self.histograms.iter_mut().find(|(known, _)| known.name == name) {
            Some((_, all)) => all.push(lines),
            None => self.histograms.push((family, vec![lines])),
        }
    }
}

impl fmt::Display for Exposition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (Family { name, kind, help }, values) in &self.families {
            writeln!(f, "# HELP {name} {help}\n# TYPE {name} {kind}")?;
            values.iter().try_for_each(|(labels, value)| writeln!(f, "{name}{labels} {value}"))?;
        }
        for (Family { name, kind, help }, all) in &self.histograms {
            write!(f, "# HELP {name} {help}\n# TYPE {name} {kind}\n{}", all.concat())?;
        }
        Ok(())
    }
}

fn written(labels: Labels) -> String {
    let one = |(name, value): &(&str, &str)| {
        let value = value.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n");
        format!("{name}=\"{value}\"")
    };
    let all: Vec<String> = labels.iter().map(one).collect();
    if all.is_empty() { String::new() } else { format!("{{{}}}", all.join(",")) }
}

#[cfg(test)]
mod tests {
    use super::*;

    static A: Family = Family { name: "a_total", kind: Kind::Counter, help: "Of a." };
    static B: Family = Family { name: "b", kind: Kind::Gauge, help: "Of b." };

    #[test]
    fn values_stand_below_their_family_and_what_a_text_may_not_have_is_escaped() {
        let mut all = Exposition::default();
        all.add(&A, &[("class", "say \"no\"\\\n")], 1e15);
        all.add(&B, &[], 0.5);
        all.add(&A, &[("class", "b"), ("device", "eth0")], 2.0);
        all.add(&A, &[("class", "b"), ("device", "eth0")], 3.0);
        let golden = r#"# HELP a_total Of a.
# TYPE a_total counter
a_total{class="b",device="eth0"} 5
a_total{class="say \"no\"\\\n"} 1000000000000000
# HELP b Of b.
# TYPE b gauge
b 0.5
"#;
        assert_eq!(all.to_string(), golden);
    }
}
