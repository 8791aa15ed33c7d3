//! The tables of a study, as data.

use shortflow_measure::Estimate;

use crate::quantity::Data;
use crate::spec::{ColumnSpec, RowSpec, TableSpec};

/// A table of measures.
#[derive(Debug, Clone, PartialEq)]
pub struct Table {
    /// Its name.
    pub name: String,
    /// What it shows.
    pub title: String,
    /// What each column shows.
    pub columns: Vec<String>,
    /// What each row is called, and its cells; one is empty where nothing was measured.
    pub rows: Vec<(String, Vec<Option<Estimate>>)>,
}

/// The table that `spec` describes; rows whose point was not run are left out.
pub fn table(spec: &TableSpec, data: &Data) -> Table {
    Table {
        name: spec.name.clone(),
        title: spec.title.clone(),
        columns: spec.columns.iter().map(|column| column.label.clone()).collect(),
        rows: spec.rows.iter().filter_map(|row| cells(row, &spec.columns, data)).collect(),
    }
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
    use super::*;
    use crate::quantity::tests::replica;

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
        data.insert("droptail", 24.0, vec![replica(&[100]), replica(&[300])]);
        data.insert("droptail", 30.0, vec![replica(&[900]), replica(&[900])]);
        data.insert("fifo", 1.0, vec![replica(&[400]), replica(&[600])]);
        let table = table(&toml::from_str(TABLE).unwrap(), &data);
        assert_eq!(table.columns, ["mean (s)", "over DropTail", "delay (s)"]);
        let mean = |cell: &Option<Estimate>| cell.map(|cell| (cell.mean * 1e6).round() / 1e6);
        let rows: Vec<_> = table
            .rows
            .iter()
            .map(|(label, cells)| (label.as_str(), cells.iter().map(mean).collect::<Vec<_>>()))
            .collect();
        assert_eq!(
            rows,
            [
                ("DropTail", vec![Some(0.2), Some(1.0), None]),
                ("FIFO", vec![Some(0.5), Some(3.0), None]),
            ]
        );
        let interval = table.rows[0].1[0].unwrap().half_width().unwrap();
        assert!((interval - 12.706 * 0.1).abs() < 1e-3, "t(0.975, 1) · 0.1 s: {interval}");
    }
}
