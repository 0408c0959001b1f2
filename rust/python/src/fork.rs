//! Functions that Python calls around a fork.

use hedgerow_engine::{retrieval, storage};
use pyo3::prelude::*;

use crate::{errors, interrupt};

/// Called before a fork: no connection to a file may be open then.
#[pyfunction]
pub fn _before_fork(py: Python<'_>) -> PyResult<()> {
    errors::call_detached(py, || {
        retrieval::prepare();
        storage::before_fork();
        Ok(())
    })
}

/// Called after a fork, by parent and child.
#[pyfunction]
pub fn _after_fork(py: Python<'_>) -> PyResult<()> {
    // In the child the thread that forked is the main one.
    interrupt::note_main_thread(py);
    errors::call(|| {
        storage::after_fork();
        Ok(())
    })
}
