//! Tables as files.

use std::io::{self, Write};

use arrow_array::cast::AsArray;
use arrow_array::types::{Float64Type, Int64Type};
use arrow_array::{Array, RecordBatch, RecordBatchReader};
use arrow_ipc::writer::FileWriter;
use arrow_schema::DataType;
use parquet::arrow::ArrowWriter;
use parquet::basic::Compression;
use parquet::file::properties::WriterProperties;

use crate::error::Error;
use crate::reader::Reader;

/// The format of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// Apache Parquet, compressed with Snappy.
    Parquet,
    /// Values separated by commas; unknown ones are empty.
    Csv,
    /// The file format of Apache Arrow, also called IPC or Feather 2.
    Arrow,
}

impl Format {
    /// All formats.
    pub const ALL: [Format; 3] = [Format::Parquet, Format::Csv, Format::Arrow];

    /// Its name, also the ending of files.
    pub const fn name(self) -> &'static str {
        match self {
            Format::Parquet => "parquet",
            Format::Csv => "csv",
            Format::Arrow => "arrow",
        }
    }
}

/// Writes a table. The same table gives the same bytes.
///
/// # Errors
/// When the table cannot be read, or the file not be written.
pub fn write(table: Reader, format: Format, file: &mut (dyn Write + Send)) -> Result<(), Error> {
    match format {
        Format::Parquet => write_parquet(table, file),
        Format::Csv => write_csv(table, file),
        Format::Arrow => write_arrow(table, file),
    }
}

fn write_parquet(table: Reader, file: &mut (dyn Write + Send)) -> Result<(), Error> {
    let properties = WriterProperties::builder()
        .set_compression(Compression::SNAPPY)
        .set_created_by("shortflow".to_owned())
        .build();
    let mut writer = ArrowWriter::try_new(file, table.schema(), Some(properties))?;
    for batch in table {
        writer.write(&batch?)?;
    }
    writer.close()?;
    Ok(())
}

fn write_arrow(table: Reader, file: &mut (dyn Write + Send)) -> Result<(), Error> {
    let mut writer = FileWriter::try_new(file, &table.schema())?;
    for batch in table {
        writer.write(&batch?)?;
    }
    writer.finish()?;
    Ok(())
}

fn write_csv(table: Reader, file: &mut (dyn Write + Send)) -> Result<(), Error> {
    let mut rows = csv::Writer::from_writer(file);
    let schema = table.schema();
    rows.write_record(schema.fields().iter().map(|field| field.name()))
        .map_err(io::Error::other)?;
    for batch in table {
        write_rows(&batch?, &mut rows).map_err(io::Error::other)?;
    }
    rows.flush()?;
    Ok(())
}

fn write_rows<W: Write>(batch: &RecordBatch, rows: &mut csv::Writer<W>) -> Result<(), csv::Error> {
    for at in 0..batch.num_rows() {
        for column in batch.columns() {
            match column.data_type() {
                _ if column.is_null(at) => rows.write_field("")?,
                DataType::Utf8 => rows.write_field(column.as_string::<i32>().value(at))?,
                DataType::Boolean => {
                    rows.write_field(if column.as_boolean().value(at) { "true" } else { "false" })?;
                }
                DataType::Int64 => {
                    rows.write_field(column.as_primitive::<Int64Type>().value(at).to_string())?;
                }
                // As short as possible with the same bits when it is read.
                _ => {
                    rows.write_field(column.as_primitive::<Float64Type>().value(at).to_string())?
                }
            }
        }
        rows.write_record(None::<&[u8]>)?;
    }
    Ok(())
}
