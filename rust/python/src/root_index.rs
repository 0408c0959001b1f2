//! The sync of the index of a root.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use hedgerow_engine::{Error, ErrorCode};
use hedgerow_memory::conflict::conflict_line;
use hedgerow_memory::folder::Signature;
use hedgerow_memory::root_index;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use crate::errors;
use crate::folder::PyLedger;
use crate::index::PyIndex;
use crate::text::Text;

/// How long `progress` is not called again.
const PROGRESS: Duration = Duration::from_millis(100);

/// Read files of a root, each as (path, signature), into its index; returns how many files were added
/// and changed. `progress(done, total)` counts files.
#[pyfunction]
#[pyo3(signature = (index, ledger, folder, files, progress=None))]
pub fn _sync_root(
    py: Python<'_>,
    index: &Bound<'_, PyIndex>,
    ledger: &Bound<'_, PyLedger>,
    folder: PathBuf,
    files: Vec<(String, String)>,
    progress: Option<Py<PyAny>>,
) -> PyResult<(usize, usize)> {
    let (index, ledger) = (&index.get().index, &ledger.get().0);
    let signed = |(path, text): (String, String)| match text.parse() {
        Ok(signature) => Ok((path, signature)),
        Err(_) => Err(PyValueError::new_err(format!(
            "{path} has no signature: {text:?}"
        ))),
    };
    let files = files
        .into_iter()
        .map(signed)
        .collect::<PyResult<Vec<(String, Signature)>>>()?;
    let (mut raised, mut reported) = (None, None::<Instant>);
    let mut report = |done, total| {
        let is_due = reported.is_none_or(|at| at.elapsed() >= PROGRESS);
        let Some(callback) = progress.as_ref().filter(|_| done == total || is_due) else {
            return Ok(());
        };
        reported = Some(Instant::now());
        raised = Python::attach(|py| callback.call1(py, (done, total)).err());
        match raised {
            Some(_) => Err(Error::new(ErrorCode::Interrupted, "progress raised")),
            None => Ok(()),
        }
    };
    let synced = errors::call_writing(py, None, || {
        root_index::sync_files(index, ledger, &folder, &files, &mut report)
    });
    match raised {
        Some(error) => Err(error),
        None => synced.map(|synced| (synced.added, synced.changed)),
    }
}

/// The line, from 1, of the first conflict that git left in a text; None if there is none.
#[pyfunction]
pub fn _conflict_line(lines: Vec<Text>) -> Option<usize> {
    let lines: Vec<&str> = lines.iter().map(|line| &**line).collect();
    conflict_line(&lines)
}
