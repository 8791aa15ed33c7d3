//! Plans from the tables of other tools.
//!
//! LibreQoS keeps customers in `ShapedDevices.csv`, one row for each device of a circuit, and sites in `network.json`.
//! A plain table has one row for each customer. Both are read by the names of their columns. What is not taken over
//! is a warning.

mod circuits;
mod columns;
mod sites;
mod written;

use std::sync::Arc;

use shortflow_text::{Diagnostics, Source};

use crate::findings::Findings;
use crate::model::Rates;

/// The tables of another tool.
#[derive(Debug)]
pub struct Tables {
    /// Devices or customers, as CSV.
    pub devices: Source,
    /// The tree of sites, as JSON.
    pub network: Option<Source>,
    /// The rates of the line; `None` for the sum of the sites' rates.
    pub line: Option<Rates>,
}

/// The two files of plans.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Imported {
    /// `plans.toml`.
    pub plans: String,
    /// `customers.csv`.
    pub customers: String,
    /// What was not taken over, or changed.
    pub warnings: Diagnostics,
}

/// The name of the file of plans.
pub const PLANS: &str = "plans.toml";
/// The name of the table of customers, which the plans name.
pub const CUSTOMERS: &str = "customers.csv";

/// Makes plans of the tables of another tool.
///
/// # Errors
/// All mistakes in the tables, with their places.
pub fn import(tables: Tables) -> Result<Imported, Diagnostics> {
    let mut findings = Findings::default();
    let tree = match tables.network {
        Some(network) => sites::read(&Arc::new(network), &mut findings),
        None => sites::Tree::default(),
    };
    let devices = Arc::new(tables.devices);
    let circuits = circuits::read(&devices, &tree, &mut findings);
    let line = written::line(tables.line, &tree, &devices, &mut findings);
    let circuits = written::without_impossible_guarantees(circuits, &tree, line, &mut findings);
    let warnings = findings.checked()?;
    let (plans, customers) = (written::plans(&tree, line), written::customers(&circuits, &tree));
    Ok(Imported { plans, customers, warnings })
}
