//! The text format of Prometheus, version 0.0.4.

use std::collections::BTreeMap;
use std::fmt;

/// What a family's values are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// What only grows, or begins anew at zero.
    Counter,
    /// What goes up and down.
    Gauge,
}

/// Metrics of one name.
#[derive(Debug)]
pub(super) struct Family {
    pub(super) name: &'static str,
    pub(super) kind: Kind,
    /// What a value says, in a sentence.
    pub(super) help: &'static str,
}

/// Names and values by which the metrics of a family are told apart.
pub(super) type Labels<'a> = &'a [(&'static str, &'a str)];

/// Families in the order in which they came first, each with its values.
#[derive(Debug, Default)]
pub(super) struct Exposition {
    families: Vec<(&'static Family, BTreeMap<String, f64>)>,
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
}

impl fmt::Display for Exposition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (Family { name, kind, help }, values) in &self.families {
            let kind = match kind {
                Kind::Counter => "counter",
                Kind::Gauge => "gauge",
            };
            writeln!(f, "# HELP {name} {help}\n# TYPE {name} {kind}")?;
            values.iter().try_for_each(|(labels, value)| writeln!(f, "{name}{labels} {value}"))?;
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
