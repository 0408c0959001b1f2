//! Logging the engine's notices in addition to the results of calls.

use hedgerow_engine::Result;
use hedgerow_engine::index::Index;
use hedgerow_engine::storage::{FormatState, NoticeLevel};
use pyo3::prelude::*;
use pyo3::types::PyString;

use crate::{calling, errors};

/// [`errors::call_detached`] for work on an index, whose notices are logged afterwards.
pub fn call_detached<T: Send>(
    py: Python<'_>,
    index: &Index,
    engine: impl FnOnce() -> Result<T> + Send,
) -> PyResult<T> {
    let result = errors::call_detached(py, engine);
    log(py, index);
    result
}

/// [`errors::call_writing`] for work on an index, whose notices are logged afterwards.
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

/// The logger of everything that an index or a store reports.
const LOGGER: &str = "hedgerow.index";

/// Log that a file was opened, and whether it was made or migrated.
pub fn log_opened(py: Python<'_>, index: &Index) {
    let Some(path) = index.path() else {
        return;
    };
    let path = path.display();
    let (level, message) = match index.database().opened() {
        FormatState::Current if index.read_only() => ("debug", format!("opened {path}, read-only")),
        FormatState::Current => ("debug", format!("opened {path}")),
        FormatState::New => ("info", format!("made {path}")),
        FormatState::Migrated { steps, time } => {
            let seconds = time.as_secs_f64();
            (
                "info",
                format!("migrated {path} in {seconds:.2} s: {steps}"),
            )
        }
    };
    log_lines(py, &[(level, message)]);
}

/// Log the notices of an index. A failure is reported as unraisable, and the call continues.
pub fn log(py: Python<'_>, index: &Index) {
    let readings = index.take_readings().into_iter().map(|reading| {
        let (what, seconds) = (reading.what, reading.time.as_secs_f64());
        (
            "debug",
            format!("read the {what} into memory in {seconds:.2} s"),
        )
    });
    let mut lines: Vec<(&str, String)> = readings.collect();
    lines.extend(index.take_notices().into_iter().map(|notice| {
        let level = match notice.level {
            NoticeLevel::Info => "info",
            NoticeLevel::Warning => "warning",
        };
        (level, notice.message)
    }));
    log_lines(py, &lines);
}

fn log_lines(py: Python<'_>, lines: &[(&str, String)]) {
    if lines.is_empty() {
        return;
    }
    let logged = || -> PyResult<()> {
        let get_logger = py.import("logging")?.getattr("getLogger")?;
        let logger = calling::call(&get_logger, (LOGGER,), None)?;
        for (level, message) in lines {
            let method = logger.getattr(PyString::new(py, level))?;
            calling::call(&method, ("%s", message), None)?;
        }
        Ok(())
    };
    if let Err(error) = logged() {
        error.write_unraisable(py, None);
    }
}
