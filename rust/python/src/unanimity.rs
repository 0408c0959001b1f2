//! `Unanimity`: that both legs agree on the head.

use hedgerow_engine::ErrorCode;
use hedgerow_engine::retrieval::unanimity::DEFAULT_AGREE_MIN;
use hedgerow_engine::retrieval::{self, Unanimity};
use pyo3::prelude::*;
use pyo3::types::{PyTuple, PyType};

use crate::errors;
use crate::value::Argument;

/// Two legs that found the same head on their own (spec/retrieval.md, "Unanimity").
///
/// `ids`: the first three ids of the BM25 leg, a tuple. `agreements`: at how many of these
/// positions both legs have the same id.
#[pyclass(name = "Unanimity", module = "hedgerow", frozen, eq, hash)]
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct PyUnanimity(Unanimity);

type UnanimityArguments<'py> = (Bound<'py, PyTuple>, usize);

#[pymethods]
impl PyUnanimity {
    #[new]
    fn new(ids: &Bound<'_, PyAny>, agreements: usize) -> PyResult<Self> {
        let ids = ids_of("ids", ids)?;
        Ok(Self(Unanimity { ids, agreements }))
    }

    /// The first three ids of the BM25 leg, as a tuple of str.
    #[getter]
    fn ids<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        PyTuple::new(py, &self.0.ids)
    }

    /// At how many positions both legs have the same id.
    #[getter]
    fn agreements(&self) -> usize {
        self.0.agreements
    }

    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        Ok(format!(
            "Unanimity(ids={}, agreements={})",
            self.ids(py)?.repr()?,
            self.0.agreements
        ))
    }

    fn __reduce__<'py>(
        slf: &Bound<'py, Self>,
    ) -> PyResult<(Bound<'py, PyType>, UnanimityArguments<'py>)> {
        let arguments = (slf.get().ids(slf.py())?, slf.get().0.agreements);
        Ok((slf.get_type(), arguments))
    }
}

/// Whether two legs agree on the head: a Unanimity, or None (spec/retrieval.md, "Unanimity").
///
/// The first three of each leg's ids, best first, are compared position by position; at least
/// `agree_min` of them must agree, any real number. None also when a leg has less than three.
///
/// Raises InvalidInputError for ids that are no list or tuple of str, and for an `agree_min`
/// that is no number.
#[pyfunction]
#[pyo3(
    signature = (bm25_ids, vector_ids, agree_min=None),
    text_signature = "(bm25_ids, vector_ids, agree_min=2)"
)]
pub fn unanimity(
    bm25_ids: &Bound<'_, PyAny>,
    vector_ids: &Bound<'_, PyAny>,
    agree_min: Option<&Bound<'_, PyAny>>,
) -> PyResult<Option<PyUnanimity>> {
    let bm25 = ids_of("bm25_ids", bm25_ids)?;
    let vector = ids_of("vector_ids", vector_ids)?;
    let argument = Argument {
        name: "agree_min",
        code: ErrorCode::InvalidNumber,
    };
    let agree_min = agree_min.map_or(Ok(DEFAULT_AGREE_MIN), |number| argument.real(number))?;
    errors::call(|| Ok(retrieval::unanimity(&bm25, &vector, agree_min)))
        .map(|found| found.map(PyUnanimity))
}

fn ids_of(name: &str, object: &Bound<'_, PyAny>) -> PyResult<Vec<String>> {
    let argument = Argument {
        name,
        code: ErrorCode::InvalidId,
    };
    argument.texts(object)
}
