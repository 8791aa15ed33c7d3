//! Files of tables, read back.

use std::io::{Cursor, Write};

use arrow_array::{RecordBatch, RecordBatchReader};
use arrow_ipc::reader::FileReader;
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use shortflow_tables::{Format, Table, Transfers, read, write};

use crate::bench::{in_memory, texts, whole};

fn written(table: Table, format: Format) -> (RecordBatch, Vec<u8>) {
    let run = in_memory();
    let transfers = || Transfers::InMemory(run.transfers.clone());
    let mut file = Vec::new();
    write(read(table, &run.results.runs, transfers()).unwrap(), format, &mut file).unwrap();
    (whole(table, &run.results.runs, transfers()), file)
}

#[test]
fn a_parquet_file_holds_the_table_with_units() {
    let (table, bytes) = written(Table::Transfers, Format::Parquet);
    let mut file = tempfile::tempfile().unwrap();
    file.write_all(&bytes).unwrap();
    let file = ParquetRecordBatchReaderBuilder::try_new(file).unwrap();
    let mut file = file.with_batch_size(1 << 20).build().unwrap();
    let found = file.next().unwrap().unwrap();
    assert_eq!(found.columns(), table.columns());
    assert_eq!(file.schema().fields(), table.schema().fields());
    let unit = |name| file.schema().field_with_name(name).unwrap().metadata()["unit"].clone();
    assert_eq!([unit("wait_s"), unit("reply_bytes")], ["s", "B"]);
}

#[test]
fn an_arrow_file_holds_the_table() {
    for table in [Table::Transfers, Table::Summary] {
        let (table, file) = written(table, Format::Arrow);
        let mut file = FileReader::try_new(Cursor::new(file), None).unwrap();
        assert_eq!(file.next().unwrap().unwrap(), table);
    }
}

#[test]
fn a_csv_file_holds_the_table_as_text() {
    let (table, file) = written(Table::Datagrams, Format::Csv);
    let mut file = csv::Reader::from_reader(&file[..]);
    let columns: Vec<String> = file.headers().unwrap().iter().map(str::to_owned).collect();
    let rows: Vec<csv::StringRecord> = file.records().map(Result::unwrap).collect();
    // Calls at four points in two replicas.
    assert_eq!(rows.len(), 8);
    for (at, name) in columns.iter().enumerate() {
        let found: Vec<&str> = rows.iter().map(|row| &row[at]).collect();
        let expected = texts(&table, name);
        let expected: Vec<&str> =
            expected.iter().map(|text| if text == "-" { "" } else { text }).collect();
        assert_eq!(found, expected, "{name}");
    }
}

#[test]
fn a_table_without_rows_is_a_file_with_columns() {
    for format in Format::ALL {
        let mut file = Vec::new();
        write(read(Table::Bulk, &[], Transfers::InFolders).unwrap(), format, &mut file).unwrap();
        assert!(file.len() > 50, "{}: {} bytes", format.name(), file.len());
    }
}
