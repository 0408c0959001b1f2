//! Errors that concern one leg of a search alone.

use crate::error::{Error, ErrorCode, ErrorKind, Result};

/// An error that concerns this leg alone. One that the caller can mend or caused, by closing the index
/// or by interrupting, is passed on, and so is memory that ran out.
pub(super) fn of_the_leg(error: Error) -> Result<Error> {
    let code = error.code();
    let caller = matches!(
        code.kind(),
        ErrorKind::InvalidInput | ErrorKind::QueryTooLarge
    );
    let gone = matches!(
        code,
        ErrorCode::IndexClosed
            | ErrorCode::IndexForked
            | ErrorCode::Interrupted
            | ErrorCode::OutOfMemory
    );
    if caller || gone {
        return Err(error);
    }
    Ok(error)
}
