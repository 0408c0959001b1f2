//! A run of `hedgerow index`: files and folders into an index.

use std::sync::{Mutex, PoisonError};

use hedgerow_engine::{Error, ErrorCode};
use hedgerow_memory::sync::{FilesRun, FoundFile, LONGEST_QUEUE, Report};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use crate::errors;
use crate::folder::{PyLedger, SkipTuple, tuple_of};
use crate::index::PyIndex;
use crate::text::Text;

/// A run over files into an index.
#[pyclass(frozen, module = "hedgerow._engine", name = "_FilesRun")]
pub struct PyFilesRun(Mutex<Report>);

/// The path of the chunks, the absolute path, the signature, and whether the file was named itself.
type FileTuple = (String, String, String, bool);
/// Files read and removed, chunks added, changed, unchanged and removed, and skipped parts.
type FileCounts = (usize, usize, usize, usize, usize, usize, Vec<SkipTuple>);

#[pymethods]
impl PyFilesRun {
    #[new]
    fn new() -> Self {
        Self(Mutex::default())
    }

    /// Read the files that changed, write the differences, and drop files that are gone.
    ///
    /// `progress(done, total)` is called after each file.
    #[pyo3(signature = (index, ledger, found, gone, progress=None, longest_queue=LONGEST_QUEUE))]
    #[allow(clippy::too_many_arguments, reason = "the parts of a run")]
    fn run(
        &self,
        py: Python<'_>,
        index: &Bound<'_, PyIndex>,
        ledger: &Bound<'_, PyLedger>,
        found: Vec<FileTuple>,
        gone: Vec<Text>,
        progress: Option<Py<PyAny>>,
        longest_queue: usize,
    ) -> PyResult<()> {
        let (index, ledger) = (&*index.get().index, &ledger.get().0);
        let found = found
            .into_iter()
            .map(file)
            .collect::<PyResult<Vec<FoundFile>>>()?;
        let gone: Vec<String> = gone.iter().map(|path| path.to_string()).collect();
        let mut raised = None;
        let mut report = |done: usize, total: usize| {
            let Some(callback) = &progress else {
                return Ok(());
            };
            raised = Python::attach(|py| callback.call1(py, (done, total)).err());
            match raised {
                Some(_) => Err(Error::new(ErrorCode::Interrupted, "progress raised")),
                None => Ok(()),
            }
        };
        let result = errors::call_writing(py, None, || {
            let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            FilesRun::new(index, ledger, &mut kept, longest_queue).run(&found, &gone, &mut report)
        });
        match raised {
            Some(error) => Err(error),
            None => result,
        }
    }

    /// Return the report so far; it is correct even if the run ended with an error.
    fn report(&self) -> FileCounts {
        let report = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        (
            report.files,
            report.removed_files,
            report.added,
            report.changed,
            report.unchanged,
            report.removed,
            report.skips().into_iter().map(tuple_of).collect(),
        )
    }
}

fn file((path, file, signature, is_named): FileTuple) -> PyResult<FoundFile> {
    let Ok(signature) = signature.parse() else {
        let message = format!("{file} has no signature: {signature:?}");
        return Err(PyValueError::new_err(message));
    };
    Ok(FoundFile {
        path,
        file,
        signature,
        is_named,
    })
}
