//! `Trace`: what a search did.

use hedgerow_engine::chunks::GroupBy;
use hedgerow_engine::retrieval::{SkippedReason, Stage, Trace};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::value;

/// What a search did, step by step (spec/trace.md).
///
/// `to_dict()` gives the documented form with keys in camelCase. Traces are equal when the
/// searches did the same, however long they took.
#[pyclass(name = "Trace", module = "hedgerow", frozen, eq)]
#[derive(Clone, PartialEq)]
pub struct PyTrace(pub Trace);

#[pymethods]
impl PyTrace {
    /// What ran: "bm25", "semantic" or "hybrid".
    #[getter]
    fn mode(&self) -> &'static str {
        self.0.mode.as_str()
    }

    /// How the legs became one ranking: "rrf" or "score".
    #[getter]
    fn fusion(&self) -> &'static str {
        self.0.fusion.as_str()
    }

    /// What stood for one document, "path", or None.
    #[getter]
    fn group_by(&self) -> Option<&'static str> {
        self.0.group_by.map(GroupBy::as_str)
    }

    /// The query as given.
    #[getter]
    fn original_query(&self) -> &str {
        &self.0.original_query
    }

    /// The text that was parsed where dates were added to it, else None.
    #[getter]
    fn augmented_query(&self) -> Option<&str> {
        self.0.augmented_query.as_deref()
    }

    /// Those dates.
    #[getter]
    fn date_hints(&self) -> Vec<&str> {
        self.0.date_hints.iter().map(String::as_str).collect()
    }

    /// The query in its normative form.
    #[getter]
    fn compiled_query(&self) -> &str {
        &self.0.compiled_query
    }

    /// What was searched for; "" when nothing was searchable.
    #[getter]
    fn match_query(&self) -> &str {
        &self.0.match_query
    }

    /// How long each leg may be.
    #[getter]
    fn candidate_k(&self) -> usize {
        self.0.candidate_k
    }

    /// The k of fusion.
    #[getter]
    fn rrf_k(&self) -> f64 {
        self.0.rrf_k
    }

    /// Every search by keywords, in order: tuples of strategy, query and hits.
    #[getter]
    fn attempts<'py>(&self, py: Python<'py>) -> PyResult<Vec<Bound<'py, PyAny>>> {
        let class = py.import("hedgerow.results")?.getattr("Attempt")?;
        let attempts = self.0.attempts.iter();
        attempts
            .map(|attempt| class.call1((attempt.strategy.as_str(), &attempt.query, attempt.hits)))
            .collect()
    }

    /// How many hits the BM25 leg has.
    #[getter]
    fn bm25_count(&self) -> usize {
        self.0.bm25_count
    }

    /// How many hits the vector leg has.
    #[getter]
    fn vector_count(&self) -> usize {
        self.0.vector_count
    }

    /// How many hits fusion left.
    #[getter]
    fn fused_count(&self) -> usize {
        self.0.fused_count
    }

    /// Whether vectors were asked for and keywords answered alone.
    #[getter]
    fn fell_back_to_bm25(&self) -> bool {
        self.0.fell_back_to_bm25
    }

    /// Whether a vector took part.
    #[getter]
    fn embedder_used(&self) -> bool {
        self.0.embedder_used
    }

    /// Whether a reranker put the head in order.
    #[getter]
    fn reranked(&self) -> bool {
        self.0.reranked
    }

    /// What that reranker is called, or None.
    #[getter]
    fn rerank_provider(&self) -> Option<&str> {
        self.0.rerank_provider.as_deref()
    }

    /// At how many of the first three places both legs agree, where that left the reranker out.
    #[getter]
    fn unanimity(&self) -> Option<usize> {
        self.0.unanimity
    }

    /// Why no reranker ran, or None.
    #[getter]
    fn rerank_skipped_reason(&self) -> Option<&'static str> {
        self.0.rerank_skipped_reason.map(SkippedReason::as_str)
    }

    /// The first stage that failed, or None.
    #[getter]
    fn error_stage(&self) -> Option<&'static str> {
        self.0.error_stage.map(Stage::as_str)
    }

    /// The milliseconds of each stage, by its name.
    #[getter]
    fn timings<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let timings = PyDict::new(py);
        for (stage, milliseconds) in self.0.timings.milliseconds() {
            timings.set_item(stage, milliseconds)?;
        }
        Ok(timings)
    }

    /// The trace as documented: JSON with keys in camelCase, without what is absent.
    fn to_dict<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        value::dict(py, &self.0.to_json())
    }

    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        Ok(format!(
            "Trace(mode='{}', match_query={}, bm25_count={}, vector_count={}, fused_count={})",
            self.0.mode.as_str(),
            value::shown(py, &self.0.match_query)?,
            self.0.bm25_count,
            self.0.vector_count,
            self.0.fused_count,
        ))
    }

    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> PyResult<(Bound<'py, PyAny>, (String,))> {
        let state = serde_json::to_string(&slf.get().0).map_err(value::unreadable)?;
        Ok((slf.get_type().getattr("_restore")?, (state,)))
    }

    /// Make a trace again from what pickle kept of it.
    #[staticmethod]
    fn _restore(state: &str) -> PyResult<Self> {
        serde_json::from_str(state)
            .map(Self)
            .map_err(value::unreadable)
    }
}
