//! What the engine reports in addition to the results of calls, for Python's log.

use hedgerow_engine::Result;
use hedgerow_engine::index::Index;
use hedgerow_engine::storage::Level;
use pyo3::prelude::*;

use crate::{calling, errors};

/// [`errors::call_detached`] for work on an index, after which what waits is logged.
pub fn call_detached<T: Send>(
    py: Python<'_>,
    index: &Index,
    engine: impl FnOnce() -> Result<T> + Send,
) -> PyResult<T> {
    let result = errors::call_detached(py, engine);
    log(py, index);
    result
}

/// [`errors::call_writing`] for work on an index, after which what waits is logged.
pub fn call_writing<T: Send>(
    py: Python<'_>,
    index: &Index,
    bytes: Option<usize>,
    engine: impl FnOnce() -> Result<T> + Send,
) -> PyResult<T> {
    let result = errors::call_writing(py, bytes, engine);
    log(py, index);
    result
}

/// Log what an index has to report; where that fails, the call that found it goes on.
pub fn log(py: Python<'_>, index: &Index) {
    let notices = index.take_notices();
    if notices.is_empty() {
        return;
    }
    let logged = || -> PyResult<()> {
        let get_logger = py.import("logging")?.getattr("getLogger")?;
        let logger = calling::call(&get_logger, ("hedgerow",), None)?;
        for notice in &notices {
            let level = match notice.level {
                Level::Info => "info",
                Level::Warning => "warning",
            };
            calling::call(&logger.getattr(level)?, ("%s", &notice.message), None)?;
        }
        Ok(())
    };
    if let Err(error) = logged() {
        error.write_unraisable(py, None);
    }
}
