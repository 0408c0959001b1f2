//! Pieces of the ranking that work on text alone.

use hedgerow_engine::retrieval::retry;
use hedgerow_engine::text::{slug, trigram};
use pyo3::prelude::*;
use pyo3::types::PyFrozenSet;

use crate::errors;
use crate::text::Text;

/// The text with punctuation and symbols as spaces (spec/retrieval.md, "Retry ladder").
#[pyfunction]
pub fn sanitise_query(text: Text) -> PyResult<String> {
    errors::call(|| Ok(retry::sanitise_query(&text)))
}

/// The longest word the retry ladder would search for, or None (spec/retrieval.md).
#[pyfunction]
pub fn strongest_term(text: Text) -> PyResult<Option<String>> {
    errors::call(|| Ok(retry::strongest_term(&text)))
}

/// The distinct words the fuzzy rung compares with slugs (spec/retrieval.md).
#[pyfunction]
pub fn query_tokens(text: Text) -> PyResult<Vec<String>> {
    errors::call(|| Ok(retry::query_tokens(&text)))
}

/// The `$`-padded trigrams of every word, three UTF-16 units each (spec/retrieval.md).
///
/// A gram that cuts a surrogate pair is no text and left out here.
#[pyfunction]
pub fn trigrams(py: Python<'_>, text: Text) -> PyResult<Bound<'_, PyFrozenSet>> {
    PyFrozenSet::new(py, errors::call(|| Ok(trigram::printable_grams(&text)))?)
}

/// The words of the last segment of a path, without `.md` (spec/retrieval.md).
#[pyfunction]
pub fn slug_text(path: Text) -> PyResult<String> {
    errors::call(|| Ok(slug::slug_text(&path)))
}
