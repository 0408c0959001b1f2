//! The notes of a sync in a file, and its upkeep, for Python.

use pyo3::prelude::*;

use crate::errors;
use crate::index::PyIndex;
use crate::text::Text;

/// Rewrite the file, so that no deleted byte is left in it.
#[pyfunction]
pub fn _vacuum(py: Python<'_>, index: &Bound<'_, PyIndex>) -> PyResult<()> {
    let index = &index.get().index;
    errors::call_writing(py, None, || index.vacuum())
}

/// Return the note about the sync under a name.
#[pyfunction]
pub fn _sync_note(
    py: Python<'_>,
    index: &Bound<'_, PyIndex>,
    name: Text,
) -> PyResult<Option<String>> {
    let index = &index.get().index;
    errors::call_detached(py, || index.sync_note(&name))
}
