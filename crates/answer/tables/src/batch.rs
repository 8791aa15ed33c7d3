//! Columns and rows of a table, and record batches from them.

use std::collections::HashMap;
use std::sync::Arc;

use arrow_array::builder::{BooleanBuilder, Float64Builder, Int64Builder, StringBuilder};
use arrow_array::{ArrayRef, RecordBatch};
use arrow_schema::{DataType, Field, Schema, SchemaRef};

/// What a column holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Text,
    Integer,
    Number,
    Flag,
}

/// A column that a table has in any case: its name, what it holds, and its unit, which is empty if it has none.
pub(crate) type Fixed = (&'static str, Kind, &'static str);

/// A text, such as a name.
pub(crate) const fn text(name: &'static str) -> Fixed {
    (name, Kind::Text, "")
}

/// A number of things, or the number of one thing.
pub(crate) const fn integer(name: &'static str) -> Fixed {
    (name, Kind::Integer, "")
}

/// A number without unit.
pub(crate) const fn number(name: &'static str) -> Fixed {
    (name, Kind::Number, "")
}

/// Yes or no.
pub(crate) const fn flag(name: &'static str) -> Fixed {
    (name, Kind::Flag, "")
}

/// A time.
pub(crate) const fn seconds(name: &'static str) -> Fixed {
    (name, Kind::Number, SECONDS)
}

/// A size.
pub(crate) const fn bytes(name: &'static str) -> Fixed {
    (name, Kind::Integer, BYTES)
}

/// A rate.
pub(crate) const fn bits_per_second(name: &'static str) -> Fixed {
    (name, Kind::Number, BITS_PER_SECOND)
}

pub(crate) const SECONDS: &str = "s";
pub(crate) const BYTES: &str = "B";
pub(crate) const BITS_PER_SECOND: &str = "bit/s";

/// A value in a row.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Cell<'a> {
    Text(&'a str),
    Integer(i64),
    Number(f64),
    Flag(bool),
    /// It is unknown, or does not apply.
    Nothing,
}

impl<'a> From<&'a str> for Cell<'a> {
    fn from(text: &'a str) -> Self {
        Cell::Text(text)
    }
}

impl From<f64> for Cell<'_> {
    fn from(number: f64) -> Self {
        Cell::Number(number)
    }
}

impl From<bool> for Cell<'_> {
    fn from(flag: bool) -> Self {
        Cell::Flag(flag)
    }
}

macro_rules! integers {
    ($($integer:ty),*) => { $(
        impl From<$integer> for Cell<'_> {
            fn from(integer: $integer) -> Self {
                // No count of packets or bytes of a run comes near the end of the range.
                Cell::Integer(i64::try_from(integer).unwrap_or(i64::MAX))
            }
        }
    )* };
}
integers!(u16, u32, u64, usize);

impl<'a, T: Into<Cell<'a>>> From<Option<T>> for Cell<'a> {
    fn from(value: Option<T>) -> Self {
        value.map_or(Cell::Nothing, Into::into)
    }
}

/// The field of a column. Of a setting, its key.
pub(crate) fn field(name: &str, kind: Kind, unit: &str, setting: Option<&str>) -> Field {
    let data_type = match kind {
        Kind::Text => DataType::Utf8,
        Kind::Integer => DataType::Int64,
        Kind::Number => DataType::Float64,
        Kind::Flag => DataType::Boolean,
    };
    let about = [(UNIT, Some(unit).filter(|unit| !unit.is_empty())), (SETTING, setting)];
    let about =
        about.into_iter().filter_map(|(key, value)| Some((key.to_owned(), value?.to_owned())));
    Field::new(name, data_type, true).with_metadata(about.collect::<HashMap<_, _>>())
}

/// The metadata of a field with a unit.
const UNIT: &str = "unit";

/// The metadata of a field with a swept setting: its key.
const SETTING: &str = "setting";

/// Rows that become a record batch.
#[derive(Debug)]
pub(crate) struct Rows {
    schema: SchemaRef,
    columns: Vec<Column>,
    rows: usize,
}

#[derive(Debug)]
enum Column {
    Text(StringBuilder),
    Integer(Int64Builder),
    Number(Float64Builder),
    Flag(BooleanBuilder),
}

impl Rows {
    /// The most rows of a batch: enough for speed, few enough for memory.
    pub(crate) const MAX: usize = 1 << 16;

    pub(crate) fn new(schema: &SchemaRef) -> Rows {
        let columns = schema.fields().iter().map(|field| match field.data_type() {
            DataType::Utf8 => Column::Text(StringBuilder::new()),
            DataType::Int64 => Column::Integer(Int64Builder::new()),
            DataType::Float64 => Column::Number(Float64Builder::new()),
            DataType::Boolean => Column::Flag(BooleanBuilder::new()),
            other => unreachable!("no column holds {other}"),
        });
        Rows { schema: schema.clone(), columns: columns.collect(), rows: 0 }
    }

    /// Adds a row: the cells of its case, then its own.
    pub(crate) fn push(&mut self, case: &[Cell<'_>], own: &[Cell<'_>]) {
        assert_eq!(case.len() + own.len(), self.columns.len(), "a cell for each column");
        for (column, cell) in self.columns.iter_mut().zip(case.iter().chain(own)) {
            column.push(*cell);
        }
        self.rows += 1;
    }

    pub(crate) fn is_full(&self) -> bool {
        self.rows >= Rows::MAX
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.rows == 0
    }

    /// The rows so far as a batch; none are left.
    pub(crate) fn take(&mut self) -> RecordBatch {
        let columns: Vec<ArrayRef> = self.columns.iter_mut().map(Column::take).collect();
        self.rows = 0;
        RecordBatch::try_new(self.schema.clone(), columns).expect("columns of the schema")
    }
}

impl Column {
    fn push(&mut self, cell: Cell<'_>) {
        match (self, cell) {
            (Column::Text(column), Cell::Text(text)) => column.append_value(text),
            (Column::Text(column), Cell::Nothing) => column.append_null(),
            (Column::Integer(column), Cell::Integer(integer)) => column.append_value(integer),
            (Column::Integer(column), Cell::Nothing) => column.append_null(),
            (Column::Number(column), Cell::Number(number)) => column.append_value(number),
            (Column::Number(column), Cell::Nothing) => column.append_null(),
            (Column::Flag(column), Cell::Flag(flag)) => column.append_value(flag),
            (Column::Flag(column), Cell::Nothing) => column.append_null(),
            (column, cell) => unreachable!("{cell:?} in {column:?}"),
        }
    }

    fn take(&mut self) -> ArrayRef {
        match self {
            Column::Text(column) => Arc::new(column.finish()),
            Column::Integer(column) => Arc::new(column.finish()),
            Column::Number(column) => Arc::new(column.finish()),
            Column::Flag(column) => Arc::new(column.finish()),
        }
    }
}

/// The schema of columns for a case and of these columns.
pub(crate) fn schema(case: Vec<Field>, own: &[Fixed]) -> SchemaRef {
    let own = own.iter().map(|(name, kind, unit)| field(name, *kind, unit, None));
    Arc::new(Schema::new(case.into_iter().chain(own).collect::<Vec<_>>()))
}
