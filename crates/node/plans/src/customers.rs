//! Customers as written, in the file of plans or in a table.

use std::sync::Arc;

use shortflow_text::{Document, Source, Spot, suggestion};
use shortflow_units::Rate;

use crate::csv::{Field, Table};
use crate::file::{Addresses, CustomerFile, RatesFile};
use crate::findings::{Findings, Located};
use crate::model::Rates;

/// A customer whose addresses and site are not checked yet.
#[derive(Debug)]
pub(crate) struct Written {
    pub(crate) name: Located<String>,
    pub(crate) addresses: Vec<Located<String>>,
    pub(crate) plan: Located<Rates>,
    pub(crate) at_least: Option<Located<Rates>>,
    pub(crate) site: Option<Located<String>>,
    /// All of it.
    pub(crate) spot: Spot,
}

/// The columns of a table of customers.
pub(crate) const COLUMNS: [&str; 7] =
    ["name", "addresses", "down", "up", "at_least_down", "at_least_up", "site"];
/// Those that every table has.
const REQUIRED: usize = 4;
/// Columns that say which packets are a customer's, in a way that does not exist here.
const UNSUPPORTED: [&str; 4] = ["vlan", "pppoe", "pppoe_session", "mac"];

/// How messages refuse a VLAN or a session of PPPoE.
const BY_ADDRESS: &str = "customers are recognised by their addresses: write the addresses of this customer in `addresses`";

/// Those in the file of plans.
pub(crate) fn in_document(
    document: &Document,
    written: Vec<CustomerFile>,
    findings: &mut Findings,
) -> Vec<Written> {
    let one = |(index, customer): (usize, CustomerFile)| {
        let path = format!("customer.{index}");
        let key = |name: &str| format!("{path}.{name}");
        let unsupported = [
            ("vlan", customer.vlan.is_some()),
            ("pppoe_session", customer.pppoe_session.is_some()),
        ];
        for (name, _) in unsupported.into_iter().filter(|(_, is_given)| *is_given) {
            let what = format!("plans do not support `{name}`");
            findings.mistake(&document.spot(&key(name)), what, BY_ADDRESS);
        }
        let addresses = match customer.addresses {
            Addresses::One(text) => {
                let spot = document.spot(&key("addresses"));
                each_in(&text).map(|one| Located::new(one, spot.clone())).collect()
            }
            Addresses::Many(all) => {
                let at = |(place, text)| {
                    Located::of_key(text, document, &format!("{path}.addresses.{place}"))
                };
                all.into_iter().enumerate().map(at).collect()
            }
        };
        let at_least = customer.at_least.map(|RatesFile { down, up }| {
            Located::of_key(Rates { down, up }, document, &key("at_least"))
        });
        Written {
            name: Located::of_key(customer.name, document, &key("name")),
            addresses,
            plan: Located::of_key(
                Rates { down: customer.down, up: customer.up },
                document,
                &key("down"),
            ),
            at_least,
            site: customer.site.map(|site| Located::of_key(site, document, &key("site"))),
            spot: document.spot(&path),
        }
    };
    written.into_iter().enumerate().map(one).collect()
}

/// Those of a table.
pub(crate) fn in_table(source: Arc<Source>, findings: &mut Findings) -> Vec<Written> {
    let table = Table::parse(source);
    if !has_its_columns(&table, findings) {
        return Vec::new();
    }
    let of = COLUMNS.map(|name| table.column(name));
    table.rows.iter().filter_map(|row| written(&table, row, &of, findings)).collect()
}

fn has_its_columns(table: &Table, findings: &mut Findings) -> bool {
    for column in &table.columns {
        let name = column.text.as_str();
        if UNSUPPORTED.iter().any(|one| one.eq_ignore_ascii_case(name)) {
            let what = format!("plans do not support the column `{name}`");
            findings.mistake(&table.spot(column), what, BY_ADDRESS);
        } else if !COLUMNS.iter().any(|one| one.eq_ignore_ascii_case(name)) {
            let what = format!("unknown column `{name}`");
            findings.mistake(&table.spot(column), what, suggestion(name, "columns", &COLUMNS));
        }
    }
    for name in COLUMNS.into_iter().take(REQUIRED).filter(|name| table.column(name).is_none()) {
        let help = format!("write a first line with the columns {}", COLUMNS.join(","));
        findings.mistake(&table.row_spot(&table.columns), format!("missing column `{name}`"), help);
    }
    findings.is_sound()
}

fn written(
    table: &Table,
    row: &[Field],
    of: &[Option<usize>; 7],
    findings: &mut Findings,
) -> Option<Written> {
    let spot = table.row_spot(row);
    if let Some(extra) = row.get(table.columns.len()..).and_then(<[Field]>::first) {
        let what = format!("{} fields, but {} columns", row.len(), table.columns.len());
        let help = "put fields that contain commas between quotation marks";
        findings.mistake(&table.spot(extra), what, help);
        return None;
    }
    let field = |column: usize| row.get(of[column]?).filter(|field| !field.text.is_empty());
    let [name, addresses, down, up, least_down, least_up, site] = [0, 1, 2, 3, 4, 5, 6].map(field);
    for (column, _) in [name, addresses, down, up].iter().enumerate().filter(|(_, it)| it.is_none())
    {
        let what = format!("missing `{}`", COLUMNS[column]);
        findings.mistake(&spot, what, format!("columns: {}", COLUMNS.join(",")));
    }
    let mut rate = |field: &Field| match field.text.parse::<Rate>() {
        Ok(rate) => Some(rate),
        Err(error) => {
            findings.mistake(
                &table.spot(field),
                format!("invalid rate `{}`", field.text),
                error.to_string(),
            );
            None
        }
    };
    let plan = (rate(down?), rate(up?));
    let at_least = match (least_down, least_up) {
        (None, None) => None,
        (least_down, least_up) => {
            let of =
                |field: Option<&Field>, rate: &mut dyn FnMut(&Field) -> Option<Rate>| match field {
                    Some(field) => rate(field),
                    None => Some(Rate::ZERO),
                };
            let rates = Rates { down: of(least_down, &mut rate)?, up: of(least_up, &mut rate)? };
            let place = table.spot(least_down.or(least_up)?);
            Some(Located::new(rates, place))
        }
    };
    Some(Written {
        name: Located::new(name?.text.clone(), table.spot(name?)),
        addresses: each_address(table, addresses?),
        plan: Located::new(Rates { down: plan.0?, up: plan.1? }, table.spot(down?)),
        at_least,
        site: site.map(|site| Located::new(site.text.clone(), table.spot(site))),
        spot,
    })
}

fn each_address(table: &Table, field: &Field) -> Vec<Located<String>> {
    let spot = table.spot(field);
    each_in(&field.text).map(|text| Located::new(text, spot.clone())).collect()
}

/// The addresses of a field: between spaces, commas or semicolons.
fn each_in(text: &str) -> impl Iterator<Item = String> + '_ {
    let texts = text.split([' ', ',', ';', '\t', '\n']);
    texts.filter(|text| !text.is_empty()).map(str::to_owned)
}
