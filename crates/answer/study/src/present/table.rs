//! The tables of a study, as data.

use shortflow_measure::Estimate;
use shortflow_measure::tables as data;

use crate::runs::Data;
use crate::spec::{ColumnSpec, RowSpec, TableSpec};

/// A table of measures and its name.
#[derive(Debug, Clone, PartialEq)]
pub struct Table {
    /// Its name.
    pub name: String,
    /// The table; a cell is empty where nothing was measured.
    pub data: data::Table,
}

/// The table that `spec` describes; rows whose point was not run are omitted.
pub fn table(spec: &TableSpec, data: &Data) -> Table {
    let columns: Vec<String> = spec.columns.iter().map(|column| column.label.clone()).collect();
    let rows = spec.rows.iter().filter_map(|row| cells(row, &spec.columns, data)).collect();
    Table { name: spec.name.clone(), data: data::Table::of_estimates(&spec.title, &columns, rows) }
}

fn cells(
    row: &RowSpec,
    columns: &[ColumnSpec],
    data: &Data,
) -> Option<(String, Vec<Option<Estimate>>)> {
    let (x, _) = data.point(&row.run, row.x)?;
    let cell = |column: &ColumnSpec| data.estimate(&column.of.or_of(&row.run), x, None).ok();
    Some((row.label.clone(), columns.iter().map(cell).collect()))
}

#[cfg(test)]
mod tests {
    use shortflow_measure::tables::{Cell, Label};

    use super::*;
    use crate::runs::data::tests::replica;

    const TABLE: &str = r#"
name = "pages"
title = "What pages took"
rows = [
    { label = "DropTail", run = "droptail", x = 24 },
    { label = "FIFO", run = "fifo" },
    { label = "left out by --quick", run = "droptail", x = 48 },
]
columns = [
    { label = "mean (s)", of = { workload = "web" } },
    { label = "over DropTail", of = { workload = "web", over = "droptail", over_x = 24, form = "ratio" } },
    { label = "delay (s)", of = { workload = "web", measure = "delay" } },
]
"#;

    #[test]
    fn a_cell_is_the_columns_quantity_of_the_rows_run_at_its_point() {
        let mut data = Data::default();
        data.extend("droptail", 24.0, vec![replica(&[100]), replica(&[300])]);
        data.extend("droptail", 30.0, vec![replica(&[900]), replica(&[900])]);
        data.extend("fifo", 1.0, vec![replica(&[400]), replica(&[600])]);
        let table = table(&toml::from_str(TABLE).unwrap(), &data).data;
        let heads: Vec<&str> = table.columns.iter().map(|column| column.head.as_str()).collect();
        assert_eq!(heads, ["mean (s)", "over DropTail", "delay (s)"]);
        let mean = |cell: &Cell| match cell {
            Cell::Figure(estimate) => Some((estimate.mean * 1e6).round() / 1e6),
            _ => None,
        };
        let rows: Vec<_> = table
            .rows
            .iter()
            .map(|row| (row.labels[0].clone(), row.cells.iter().map(mean).collect::<Vec<_>>()))
            .collect();
        assert_eq!(
            rows,
            [
                (Label::from("DropTail"), vec![Some(0.2), Some(1.0), None]),
                (Label::from("FIFO"), vec![Some(0.5), Some(3.0), None]),
            ]
        );
        let Cell::Figure(first) = table.rows[0].cells[0] else { panic!("{table:?}") };
        let interval = first.half_width().unwrap();
        assert!((interval - 12.706 * 0.1).abs() < 1e-3, "t(0.975, 1) · 0.1 s: {interval}");
    }
}
