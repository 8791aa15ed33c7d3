//! Columns of other tools, by their names.

use crate::csv::{Field, Table};
use crate::findings::Findings;

/// What a column has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Column {
    /// A number or name of the circuit; rows with the same one are one customer.
    Id,
    Name,
    Site,
    Address,
    Down,
    Up,
    DownAtLeast,
    UpAtLeast,
    /// A number of a VLAN or of a session, by which plans do not recognise customers.
    Tag,
    /// Something that does not change what packets get.
    Remark,
    /// Which queue, of those that LibreQoS has.
    Queue,
}

/// The names of columns, without case and punctuation. Those of rates may end in a unit.
const NAMES: [(Column, &[&str]); 11] = [
    (Column::Id, &["circuitid", "id", "customerid", "subscriberid", "accountid"]),
    (Column::Name, &["circuitname", "name", "customer", "customername", "subscriber", "account"]),
    (Column::Site, &["parentnode", "site", "ap", "accesspoint", "tower", "node"]),
    (
        Column::Address,
        &["ipv4", "ipv6", "address", "addresses", "ip", "ips", "prefix", "prefixes", "subnet"],
    ),
    (Column::Down, &["downloadmax", "down", "download", "downmax", "downrate"]),
    (Column::Up, &["uploadmax", "up", "upload", "upmax", "uprate"]),
    (Column::DownAtLeast, &["downloadmin", "downmin", "atleastdown", "downatleast"]),
    (Column::UpAtLeast, &["uploadmin", "upmin", "atleastup", "upatleast"]),
    (Column::Tag, &["vlan", "vlanid", "pppoe", "pppoesession"]),
    (Column::Remark, &["deviceid", "devicename", "mac", "comment", "notes"]),
    (Column::Queue, &["sqm"]),
];

/// A column that is read.
#[derive(Debug, Clone, Copy)]
pub(super) struct Known {
    pub(super) at: usize,
    pub(super) column: Column,
    /// Whether numbers in it are Mbit/s.
    pub(super) is_mbit: bool,
}

/// The columns that are read. Others are named in warnings.
pub(super) fn known(table: &Table, findings: &mut Findings) -> Vec<Known> {
    let mut known = Vec::new();
    for (at, field) in table.columns.iter().enumerate() {
        match recognised(field) {
            Some((column, is_mbit)) => known.push(Known { at, column, is_mbit }),
            None => {
                let what = format!("column `{}` is not taken over", field.text);
                let help =
                    "its name is not known; columns that matter: addresses, rates, names and sites";
                findings.warning(&table.spot(field), what, help);
            }
        }
    }
    let is_there = |column: Column| known.iter().any(|one| one.column == column);
    for (column, name, help) in [
        (Column::Address, "addresses", "name a column `IPv4`, `IPv6` or `addresses`"),
        (Column::Down, "rates down", "name a column `Download Max Mbps`, or `down` with units"),
        (Column::Up, "rates up", "name a column `Upload Max Mbps`, or `up` with units"),
    ] {
        if !is_there(column) {
            let spot = table.row_spot(&table.columns);
            findings.mistake(&spot, format!("there is no column of {name}"), help);
        }
    }
    if !is_there(Column::Id) && !is_there(Column::Name) {
        let spot = table.row_spot(&table.columns);
        let help = "name a column `Circuit ID`, `Circuit Name` or `name`";
        findings.mistake(&spot, "there is no column of names", help);
    }
    known
}

fn recognised(field: &Field) -> Option<(Column, bool)> {
    let simple: String =
        field.text.to_lowercase().chars().filter(|c| c.is_ascii_alphanumeric()).collect();
    let without_unit = ["mbps", "mbits", "mbit"].iter().find_map(|unit| simple.strip_suffix(unit));
    let name = without_unit.unwrap_or(&simple);
    let found = NAMES.iter().find(|(_, names)| names.contains(&name))?;
    Some((found.0, without_unit.is_some()))
}
