//! A table, batch by batch.

use std::fmt;

use arrow_array::{RecordBatch, RecordBatchReader};
use arrow_schema::{ArrowError, SchemaRef};

use crate::batch::Rows;

/// A table as a sequence of record batches. It owns what it reads from.
pub struct Reader {
    schema: SchemaRef,
    batches: Batches,
}

/// The batches of a table.
pub(crate) type Batches = Box<dyn Iterator<Item = Result<RecordBatch, ArrowError>> + Send>;

impl Reader {
    pub(crate) fn new(schema: SchemaRef, batches: Batches) -> Reader {
        Reader { schema, batches }
    }

    /// A reader of rows in memory, which `fill` puts there.
    pub(crate) fn from_rows(schema: SchemaRef, fill: impl FnOnce(&mut Rows)) -> Reader {
        let mut rows = Rows::new(&schema);
        fill(&mut rows);
        let batch = (!rows.is_empty()).then(|| Ok(rows.take()));
        Reader { schema, batches: Box::new(batch.into_iter()) }
    }
}

impl fmt::Debug for Reader {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "a reader of {:?}", self.schema.fields())
    }
}

impl Iterator for Reader {
    type Item = Result<RecordBatch, ArrowError>;

    fn next(&mut self) -> Option<Self::Item> {
        self.batches.next()
    }
}

impl RecordBatchReader for Reader {
    fn schema(&self) -> SchemaRef {
        self.schema.clone()
    }
}
