//! Tables of a row of a sweep.

use std::iter::repeat_n;
use std::sync::Arc;

use arrow_array::{ArrayRef, Int64Array, RecordBatch, RecordBatchReader, StringArray};
use arrow_schema::{ArrowError, DataType, Field, FieldRef, Schema, SchemaRef};
use shortflow_tables::Reader;

/// The column of the point, which a row of a sweep lacks: it has one point.
const POINT: &str = "point";
const POLICY: &str = "policy";

/// A table with the number of its row in the design, and with the policy as the sweep names it.
pub(crate) struct RowReader {
    reader: Reader,
    schema: SchemaRef,
    /// The columns of the table that are kept.
    kept: Vec<usize>,
    row: i64,
    policy: Option<String>,
}

impl RowReader {
    /// The table of a row; without `policy` its policy keeps its name.
    pub(crate) fn new(reader: Reader, row: i64, policy: Option<String>) -> RowReader {
        let schema = reader.schema();
        let fields = schema.fields();
        let kept: Vec<usize> = (0..fields.len()).filter(|at| fields[*at].name() != POINT).collect();
        let number: FieldRef = Arc::new(Field::new("row", DataType::Int64, true));
        let fields = [number].into_iter().chain(kept.iter().map(|at| fields[*at].clone()));
        let schema = Arc::new(Schema::new(fields.collect::<Vec<_>>()));
        RowReader { reader, schema, kept, row, policy }
    }

    fn batch(&self, found: &RecordBatch) -> Result<RecordBatch, ArrowError> {
        let rows = found.num_rows();
        let mut columns: Vec<ArrayRef> = vec![Arc::new(Int64Array::from_value(self.row, rows))];
        for at in &self.kept {
            let policy =
                self.policy.as_ref().filter(|_| found.schema_ref().field(*at).name() == POLICY);
            columns.push(match policy {
                Some(name) => Arc::new(StringArray::from_iter_values(repeat_n(name, rows))),
                None => found.column(*at).clone(),
            });
        }
        RecordBatch::try_new(self.schema.clone(), columns)
    }
}

impl Iterator for RowReader {
    type Item = Result<RecordBatch, ArrowError>;

    fn next(&mut self) -> Option<Self::Item> {
        let found = self.reader.next()?;
        Some(found.and_then(|batch| self.batch(&batch)))
    }
}

impl RecordBatchReader for RowReader {
    fn schema(&self) -> SchemaRef {
        self.schema.clone()
    }
}
