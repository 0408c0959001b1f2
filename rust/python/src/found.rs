//! `Found`: a search up to its reranker, which is written in Python.

use std::time::Duration;

use hedgerow_engine::retrieval::{RerankScore, Reranking, SearchResult};
use pyo3::prelude::*;

use crate::errors;
use crate::hit::PyHit;
use crate::results;

/// The result of a search, before or without a reranker.
#[pyclass(name = "Found", module = "hedgerow._engine")]
pub struct PyFound(pub SearchResult);

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

    /// The error of the failed leg, as an exception, or None.
    #[getter]
    fn error(&self) -> Option<PyErr> {
        self.0.error.clone().map(errors::to_py)
    }

    /// The steps of the search so far, a Trace.
    #[getter]
    fn trace<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        results::trace(py, &self.0.trace)
    }

    /// The notices of the trace, which costs more.
    #[getter]
    fn notices(&self) -> &[String] {
        &self.0.trace.notices
    }

    /// The id, title, text and score of each of the first hits. The text is whole up to `chars`
    /// characters, or the short rerank text if that is None.
    fn documents(&self, head: usize, chars: Option<usize>) -> Vec<(&str, &str, String, f64)> {
        let documents = self.0.rerank_documents(head, chars).into_iter();
        documents
            .map(|one| (one.id, one.title, one.text, one.score))
            .collect()
    }

    /// Order the first hits by a reranker's scores, which are pairs of a position and a score.
    #[allow(clippy::too_many_arguments, reason = "called by one function of ours")]
    fn rerank(
        &mut self,
        head: usize,
        scores: Vec<(i64, f64)>,
        weight: f64,
        keeps_unscored: bool,
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
            let step = Reranking {
                head,
                weight,
                keeps_unscored,
                provider: &provider,
                time: time(seconds),
            };
            self.0.rerank(&scores, &step);
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
