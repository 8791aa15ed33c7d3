//! Formats rows as columns for a terminal.

/// Rows in columns, of which the first `texts` are texts and the others numbers.
pub fn columns(rows: &[Vec<String>], texts: usize) -> String {
    let columns = rows.first().map_or(0, Vec::len);
    let width = |column: usize| rows.iter().map(|row| row[column].chars().count()).max();
    let widths: Vec<usize> = (0..columns).map(|column| width(column).unwrap_or(0)).collect();
    let line = |row: &Vec<String>| {
        let cells = row.iter().zip(&widths).enumerate().map(|(column, (cell, width))| {
            if column < texts { format!("{cell:<width$}") } else { format!("{cell:>width$}") }
        });
        format!("  {}\n", cells.collect::<Vec<_>>().join("  ").trim_end())
    };
    rows.iter().map(line).collect()
}
