//! Rows of devices, as one customer for each circuit.

use std::collections::BTreeMap;
use std::sync::Arc;

use shortflow_text::{Source, Spot};
use shortflow_units::Rate;

use super::columns::{Column, Known, known};
use super::sites::{Tree, mbit};
use crate::csv::{Field, Table};
use crate::findings::{Findings, place};
use crate::model::{Plans, Rates};
use crate::prefix::{Prefix, PrefixError};

/// A customer.
#[derive(Debug)]
pub(super) struct Circuit {
    pub(super) name: String,
    pub(super) addresses: Vec<Prefix>,
    pub(super) plan: Rates,
    pub(super) at_least: Option<Rates>,
    pub(super) site: Option<usize>,
    pub(super) spot: Spot,
}

pub(super) fn read(source: &Arc<Source>, tree: &Tree, findings: &mut Findings) -> Vec<Circuit> {
    let table = Table::parse(Arc::clone(source));
    let columns = known(&table, findings);
    if !findings.is_sound() {
        return Vec::new();
    }
    let mut reader =
        Reader { table: &table, columns, tree, findings, all: Vec::new(), by_id: BTreeMap::new() };
    table.rows.iter().for_each(|row| reader.row(row));
    let Reader { mut all, findings, .. } = reader;
    named_apart(&mut all);
    unique_addresses(&mut all, findings);
    if all.is_empty() && findings.is_sound() {
        let spot = table.row_spot(&table.columns);
        findings.mistake(
            &spot,
            "there is no row",
            "write a row for each customer below the columns",
        );
    }
    all
}

struct Reader<'r> {
    table: &'r Table,
    columns: Vec<Known>,
    tree: &'r Tree,
    findings: &'r mut Findings,
    all: Vec<Circuit>,
    by_id: BTreeMap<String, usize>,
}

impl Reader<'_> {
    fn fields<'f>(
        &self,
        row: &'f [Field],
        column: Column,
    ) -> impl Iterator<Item = (&'f Field, Known)> {
        let columns: Vec<Known> =
            self.columns.iter().filter(|known| known.column == column).copied().collect();
        let field = move |known: Known| Some((row.get(known.at)?, known));
        columns.into_iter().filter_map(field).filter(|(field, _)| !field.text.is_empty())
    }

    fn row(&mut self, row: &[Field]) {
        let spot = self.table.row_spot(row);
        let text = |column| self.fields(row, column).next().map(|(field, _)| field.text.clone());
        let (id, name, site) = (text(Column::Id), text(Column::Name), text(Column::Site));
        let Some(name) = name.clone().or_else(|| id.clone()) else {
            self.findings.mistake(&spot, "this row has no name", "write a name or an id");
            return;
        };
        for (field, _) in self.fields(row, Column::Queue).collect::<Vec<_>>() {
            let what = format!("the queue `{}` of `{name}` is not taken over", field.text);
            self.findings.warning(&self.table.spot(field), what, "plans have the queue `fq-codel`");
        }
        for (field, known) in self.fields(row, Column::Tag).collect::<Vec<_>>() {
            let column = &self.table.columns[known.at].text;
            let what = format!("`{column}` {} of `{name}` is not taken over", field.text);
            let help = "plans recognise customers by their addresses";
            self.findings.warning(&self.table.spot(field), what, help);
        }
        let Some(circuit) = self.circuit(row, name, site, spot) else { return };
        let first = id.as_ref().and_then(|id| self.by_id.get(id).copied());
        if let Some(first) = first {
            self.merge(first, circuit);
            return;
        }
        if let Some(id) = id {
            self.by_id.insert(id, self.all.len());
        }
        self.all.push(circuit);
    }

    fn circuit(
        &mut self,
        row: &[Field],
        name: String,
        site: Option<String>,
        spot: Spot,
    ) -> Option<Circuit> {
        let [down, up] = [Column::Down, Column::Up].map(|column| self.rate(row, column));
        let [least_down, least_up] =
            [Column::DownAtLeast, Column::UpAtLeast].map(|column| self.rate(row, column));
        let (Some(down), Some(up)) = (down?, up?) else {
            let help = "write a rate in each direction";
            self.findings.mistake(&spot, format!("`{name}` has no plan"), help);
            return None;
        };
        let (least_down, least_up) = (least_down?, least_up?);
        let mut at_least = (least_down.is_some() || least_up.is_some()).then(|| Rates {
            down: least_down.unwrap_or(Rate::ZERO),
            up: least_up.unwrap_or(Rate::ZERO),
        });
        if let Some(least) = at_least.as_mut().filter(|least| least.down > down || least.up > up) {
            *least = Rates { down: least.down.min(down), up: least.up.min(up) };
            let what = format!("the guaranteed rate of `{name}` is above its plan");
            self.findings.warning(&spot, what, "the plan is taken instead");
        }
        let addresses = self.addresses(row, &name);
        if addresses.is_empty() {
            let help = "customers are recognised by their addresses";
            self.findings.warning(
                &spot,
                format!("`{name}` has no address and is not taken over"),
                help,
            );
            return None;
        }
        let site = site.and_then(|title| {
            self.tree.find(&title).unwrap_or_else(|| {
                let what = format!("unknown site `{title}` of `{name}`");
                self.findings.warning(&spot, what, "the customer is directly behind the line");
                None
            })
        });
        Some(Circuit { name, addresses, plan: Rates { down, up }, at_least, site, spot })
    }

    /// The rate in a column: the outer `None` for a mistake, the inner one where nothing is written.
    fn rate(&mut self, row: &[Field], column: Column) -> Option<Option<Rate>> {
        let Some((field, known)) = self.fields(row, column).next() else { return Some(None) };
        let number = field.text.parse::<f64>().ok().filter(|_| known.is_mbit);
        let rate = match number {
            Some(number) if is_least(column) && number == 0.0 => Some(Rate::ZERO),
            Some(number) => mbit(number),
            None => field.text.parse().ok().filter(|rate| *rate >= Plans::MIN_RATE),
        };
        if rate.is_none() {
            let help = match known.is_mbit {
                true => "write Mbit/s as a number from 0.064",
                false => {
                    "write a rate with its unit, as in `25 Mbit/s`, or end the column's name in `Mbps`"
                }
            };
            let what = format!("invalid rate `{}`", field.text);
            self.findings.mistake(&self.table.spot(field), what, help);
        }
        rate.map(Some)
    }

    fn addresses(&mut self, row: &[Field], name: &str) -> Vec<Prefix> {
        let mut addresses = Vec::new();
        for (field, _) in self.fields(row, Column::Address).collect::<Vec<_>>() {
            let spot = self.table.spot(field);
            for text in field.text.split([',', ' ', ';']).filter(|text| !text.is_empty()) {
                match text.parse::<Prefix>() {
                    Ok(prefix) => addresses.push(prefix),
                    Err(PrefixError::HostBits(prefix)) => {
                        let what = format!("`{text}` of `{name}` becomes {prefix}");
                        let help = "bits behind the prefix are set";
                        self.findings.warning(&spot, what, help);
                        addresses.push(prefix);
                    }
                    Err(error) => {
                        let what = format!("invalid address `{text}`");
                        self.findings.mistake(&spot, what, error.to_string());
                    }
                }
            }
        }
        addresses
    }

    /// Another device of the same circuit.
    fn merge(&mut self, first: usize, other: Circuit) {
        let circuit = &mut self.all[first];
        let is_same = circuit.plan == other.plan
            && circuit.at_least == other.at_least
            && circuit.site == other.site;
        if !is_same {
            let what = format!("this device of `{}` has another plan or site", circuit.name);
            let help = format!("that in {} is taken", place(&circuit.spot));
            self.findings.warning(&other.spot, what, help);
        }
        circuit.addresses.extend(other.addresses);
    }
}

fn is_least(column: Column) -> bool {
    matches!(column, Column::DownAtLeast | Column::UpAtLeast)
}

/// Numbers customers whose names are equal.
fn named_apart(all: &mut [Circuit]) {
    let mut taken: BTreeMap<String, u32> = BTreeMap::new();
    for circuit in all {
        let count = taken.entry(circuit.name.clone()).or_default();
        *count += 1;
        if *count > 1 {
            circuit.name = format!("{} ({count})", circuit.name);
        }
    }
}

/// Takes an address for the first customer that has it.
fn unique_addresses(all: &mut [Circuit], findings: &mut Findings) {
    let mut owners: BTreeMap<Prefix, (String, Spot)> = BTreeMap::new();
    for circuit in all {
        let Circuit { name, addresses, spot, .. } = circuit;
        addresses.retain(|prefix| match owners.get(prefix) {
            Some((other, first)) => {
                if other != name {
                    let what = format!("address {prefix} of `{name}` is given twice");
                    let help = format!("`{other}` in {} keeps it", place(first));
                    findings.warning(spot, what, help);
                }
                false
            }
            None => {
                owners.insert(*prefix, (name.clone(), spot.clone()));
                true
            }
        });
        if addresses.is_empty() {
            findings.mistake(
                spot,
                format!("`{name}` has no address of its own"),
                "write another address",
            );
        }
    }
}
