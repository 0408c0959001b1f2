//! The SQLite errors that mean a damaged file.

use rusqlite::{Error, ErrorCode};

/// How the messages begin for which SQLite and FTS5 have no code. Our statements name only tables and
/// columns that this version of the schema has, and FTS5 reads a definition that we wrote: so
/// something else, or a bad disk, wrote over it.
const BEGINNINGS: [&str; 11] = [
    "no such table: ",
    "no such column: ",
    "no such function: ",
    "no such module: ",
    "no such tokenizer: ",
    "error in view ",
    "invalid fts5 file format ",
    "malformed ",
    "parse error in ",
    "unrecognized option: ",
    "vtable constructor failed: ",
];
/// Parts of other such messages.
const PARTS: [&str; 2] = [" has no column named ", "because it is a view"];

/// Whether an error reports damage: no healthy file causes it.
pub(super) fn is_reported_by(error: &Error) -> bool {
    match error {
        // Values of another type or shape than ours, and rows missing that we always write.
        Error::FromSqlConversionFailure(..)
        | Error::IntegralValueOutOfRange(..)
        | Error::InvalidColumnType(..)
        | Error::Utf8Error(..)
        | Error::QueryReturnedNoRows
        | Error::QueryReturnedMoreThanOneRow => true,
        _ => match error.sqlite_error_code() {
            // Our writes satisfy the constraints of our tables, unless an index of the file
            // disagrees with its table.
            Some(
                ErrorCode::DatabaseCorrupt
                | ErrorCode::ConstraintViolation
                | ErrorCode::TypeMismatch,
            ) => true,
            _ => is_of_the_schema(error),
        },
    }
}

fn is_of_the_schema(error: &Error) -> bool {
    let (Error::SqliteFailure(_, Some(message)) | Error::SqlInputError { msg: message, .. }) =
        error
    else {
        return false;
    };
    BEGINNINGS.iter().any(|text| message.starts_with(text))
        || PARTS.iter().any(|text| message.contains(text))
}
