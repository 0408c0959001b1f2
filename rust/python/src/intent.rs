//! `Intent`: what a query asks for.

use hedgerow_engine::retrieval::Intent;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyType};

use crate::errors;
use crate::text::Text;

/// What a query asks for; neither, either or both (spec/retrieval.md, "Intents").
///
/// `preference`: advice or a recommendation. `concrete_fact`: a number, a list, or what the
/// asker did.
#[pyclass(name = "Intent", module = "hedgerow", frozen, eq, hash)]
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct PyIntent(Intent);

#[pymethods]
#[allow(
    clippy::trivially_copy_pass_by_ref,
    reason = "methods of Python objects take a reference"
)]
impl PyIntent {
    #[new]
    #[pyo3(signature = (preference=false, concrete_fact=false))]
    fn new(preference: bool, concrete_fact: bool) -> Self {
        Self(Intent {
            preference,
            concrete_fact,
        })
    }

    /// Whether advice or a recommendation is asked for.
    #[getter]
    fn preference(&self) -> bool {
        self.0.preference
    }

    /// Whether a fact is to be looked up.
    #[getter]
    fn concrete_fact(&self) -> bool {
        self.0.concrete_fact
    }

    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        Ok(format!(
            "Intent(preference={}, concrete_fact={})",
            PyBool::new(py, self.0.preference).repr()?,
            PyBool::new(py, self.0.concrete_fact).repr()?,
        ))
    }

    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> (Bound<'py, PyType>, (bool, bool)) {
        let Intent {
            preference,
            concrete_fact,
        } = slf.get().0;
        (slf.get_type(), (preference, concrete_fact))
    }
}

/// The intent of a query, an Intent (spec/retrieval.md, "Intents").
///
/// The patterns are English; a query in another language has no intent.
#[pyfunction]
pub fn detect_intent(query: Text) -> PyResult<PyIntent> {
    errors::call(|| Intent::detect(&query)).map(PyIntent)
}
