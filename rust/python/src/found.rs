//! `Found`: a search up to its reranker, which is written in Python.

use std::time::Duration;

use hedgerow_engine::retrieval::{Found, RerankScore};
use pyo3::prelude::*;

use crate::errors;
use crate::hit::PyHit;
use crate::results;

/// What a search found, waiting for a reranker or not.
#[pyclass(name = "Found", module = "hedgerow._engine")]
pub struct PyFound(pub Found);

#[pymethods]
impl PyFound {
    /// Whether a reranker is to be called.
    #[getter]
    fn wants_reranker(&self) -> bool {
        self.0.trace.rerank_skipped_reason.is_none()
    }

    /// Whether no leg could answer.
    #[getter]
    fn failed(&self) -> bool {
        self.0.failed
    }

    /// What the leg that failed reported, as an exception, or None.
    #[getter]
    fn error(&self) -> Option<PyErr> {
        self.0.error.clone().map(errors::to_py)
    }

    /// What the search has done so far, a Trace.
    #[getter]
    fn trace<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        results::trace(py, &self.0.trace)
    }

    /// The id and the text of each of the first hits.
    fn documents(&self, head: usize) -> Vec<(&str, String)> {
        self.0.rerank_documents(head)
    }

    /// Put the first hits in the order of a reranker's positions and scores.
    fn rerank(
        &mut self,
        head: usize,
        scores: Vec<(i64, f64)>,
        provider: String,
        seconds: f64,
    ) -> PyResult<()> {
        let scores: Vec<RerankScore> = scores
            .into_iter()
            .filter_map(|(position, score)| {
                let position = usize::try_from(position).ok()?;
                Some(RerankScore {
                    index: position,
                    score,
                })
            })
            .collect();
        errors::call(|| {
            self.0.rerank(head, &scores, &provider, time(seconds));
            Ok(())
        })
    }

    /// Leave the hits in their order, because the reranker failed.
    fn rerank_failed(&mut self, seconds: f64) {
        self.0.rerank_failed(time(seconds));
    }

    /// The best hits.
    fn results(&self, top_k: usize) -> Vec<PyHit> {
        let best = self.0.hits.iter().take(top_k);
        best.map(|found| PyHit::from(found.clone())).collect()
    }
}

fn time(seconds: f64) -> Duration {
    Duration::try_from_secs_f64(seconds).unwrap_or_default()
}
