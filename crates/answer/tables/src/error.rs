//! Why a table cannot be made.

use std::io;

use arrow_schema::ArrowError;
use parquet::errors::ParquetError;
use shortflow_measure::results;

/// Why a table cannot be made or written.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A file of results is missing or invalid.
    #[error(transparent)]
    Results(#[from] results::Error),
    /// What takes the table refuses it.
    #[error(transparent)]
    Write(#[from] io::Error),
}

impl From<Error> for ArrowError {
    fn from(error: Error) -> ArrowError {
        ArrowError::ExternalError(Box::new(error))
    }
}

/// Our own errors go through Arrow's as they are.
impl From<ArrowError> for Error {
    fn from(error: ArrowError) -> Error {
        match error {
            ArrowError::ExternalError(inner) => match inner.downcast::<Error>() {
                Ok(own) => *own,
                Err(other) => Error::Write(io::Error::other(other)),
            },
            ArrowError::IoError(_, error) => Error::Write(error),
            other => Error::Write(io::Error::other(other)),
        }
    }
}

impl From<ParquetError> for Error {
    fn from(error: ParquetError) -> Error {
        match error {
            ParquetError::External(inner) => match inner.downcast::<io::Error>() {
                Ok(error) => Error::Write(*error),
                Err(other) => Error::Write(io::Error::other(other)),
            },
            other => Error::Write(io::Error::other(other)),
        }
    }
}
