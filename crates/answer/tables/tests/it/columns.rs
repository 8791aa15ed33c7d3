//! Names, kinds and units of columns.

use arrow_array::RecordBatchReader;
use arrow_schema::DataType;
use shortflow_tables::{Table, Transfers, read};

use crate::bench::{in_memory, texts, whole};

#[test]
fn each_table_begins_with_what_identifies_the_case() {
    let run = in_memory();
    for table in Table::ALL {
        let schema = read(table, &run.results.runs, Transfers::InFolders).unwrap().schema();
        let names: Vec<&str> = schema.fields().iter().map(|one| one.name().as_str()).collect();
        let case = ["policy", "engine", "point", "line_bits_per_s", "wait_s"];
        assert_eq!(names[..5], case, "{}", table.name());
        let has_replicas = names[5..7] == ["replica", "seed"];
        assert_eq!(has_replicas, !matches!(table, Table::Summary | Table::Failures), "{names:?}");
    }
}

#[test]
fn a_swept_setting_is_a_number_in_the_unit_that_its_field_says() {
    let run = in_memory();
    let batch = whole(Table::Bulk, &run.results.runs, Transfers::InFolders);
    let schema = batch.schema();
    let line = schema.field_with_name("line_bits_per_s").unwrap();
    assert_eq!(line.data_type(), &DataType::Float64);
    assert_eq!(line.metadata()["unit"], "bit/s");
    assert_eq!(line.metadata()["setting"], "line");
    // Four points with two replicas of two flows.
    let four = |value: &str| vec![value.to_owned(); 4];
    let lines = texts(&batch, "line_bits_per_s");
    let expected = [four("2000000"), four("2000000"), four("4000000"), four("4000000")];
    assert_eq!(lines, expected.concat());
    let waits = texts(&batch, "wait_s");
    assert_eq!(waits, [four("0.005"), four("0.02"), four("0.005"), four("0.02")].concat());
    assert_eq!(texts(&batch, "replica")[..4], ["0", "0", "1", "1"]);
    assert!(texts(&batch, "seed").iter().all(|seed| seed == "7"));
}

#[test]
fn the_page_about_tables_has_each_column() {
    let page = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../docs/tables.md");
    let page = std::fs::read_to_string(page).unwrap();
    for table in Table::ALL {
        let schema = read(table, &[], Transfers::InFolders).unwrap().schema();
        for field in schema.fields() {
            let name = format!("`{}`", field.name());
            assert!(page.contains(&name), "{} has {name}", table.name());
        }
    }
}
