//! `_StaticTable`: vectors of texts from a table of word pieces.

use hedgerow_engine::static_table::StaticTable;
use pyo3::prelude::*;

use crate::errors;
use crate::vector;

/// A tokenizer and its table, from the contents of their files. Threads may share it.
#[pyclass(name = "_StaticTable", module = "hedgerow._engine", frozen)]
pub struct PyStaticTable(StaticTable);

#[pymethods]
impl PyStaticTable {
    #[new]
    fn new(py: Python<'_>, tokenizer: &[u8], tensors: &[u8]) -> PyResult<Self> {
        let table = py.detach(|| errors::call(|| StaticTable::new(tokenizer, tensors)))?;
        Ok(Self(table))
    }

    /// The number of dimensions of each vector.
    #[getter]
    fn dimensions(&self) -> usize {
        self.0.dimensions()
    }

    /// Return one vector per text and the number of truncated texts. The vector of a text without known
    /// word pieces is empty.
    fn embed<'py>(
        &self,
        py: Python<'py>,
        texts: Vec<String>,
    ) -> PyResult<(Vec<Bound<'py, PyAny>>, usize)> {
        let (rows, cut) = py.detach(|| errors::call(|| Ok(self.0.embed_all(&texts))))?;
        let arrays = rows
            .iter()
            .map(|row| vector::array(py, row))
            .collect::<PyResult<_>>()?;
        Ok((arrays, cut))
    }
}
