//! `Hit`: what a search finds.

use hedgerow_engine::index::Hit;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::chunk;
use crate::text::Text;
use crate::value;

/// A chunk that a search found, and why it stands where it does (spec/index.md, "Ranking").
///
/// `score` is what the order is by, higher is better; `bm25_rank` the place in the BM25
/// ranking from 0; `vector_similarity` and `rerank_score` are None where no vector or no
/// reranker took part. `metadata` gives a new dict each time.
#[pyclass(name = "Hit", module = "hedgerow", frozen, eq)]
#[derive(Clone, PartialEq)]
pub struct PyHit(pub Hit);

type HitState<'py> = (
    [String; 5],
    Bound<'py, PyDict>,
    f64,
    Option<usize>,
    Option<f64>,
    Option<f64>,
);

#[pymethods]
impl PyHit {
    /// The chunk's id.
    #[getter]
    fn id(&self) -> &str {
        &self.0.id
    }

    /// The chunk's path.
    #[getter]
    fn path(&self) -> &str {
        &self.0.path
    }

    /// The chunk's title.
    #[getter]
    fn title(&self) -> &str {
        &self.0.title
    }

    /// The chunk's summary.
    #[getter]
    fn summary(&self) -> &str {
        &self.0.summary
    }

    /// The chunk's content.
    #[getter]
    fn content(&self) -> &str {
        &self.0.content
    }

    /// The chunk's metadata, as a new dict.
    #[getter]
    fn metadata<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        value::dict(py, &self.0.metadata)
    }

    /// What the order is by; higher is better.
    #[getter]
    fn score(&self) -> f64 {
        self.0.score
    }

    /// The place in the BM25 ranking, from 0, or None.
    #[getter]
    fn bm25_rank(&self) -> Option<usize> {
        self.0.bm25_rank
    }

    /// The cosine with the query's vector, or None.
    #[getter]
    fn vector_similarity(&self) -> Option<f64> {
        self.0.vector_similarity
    }

    /// What a reranker gave, or None.
    #[getter]
    fn rerank_score(&self) -> Option<f64> {
        self.0.rerank_score
    }

    /// One sentence that says why the hit stands where it does.
    fn explain(&self) -> String {
        self.0.explain()
    }

    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        let shown = |text: &str| value::shown(py, text);
        Ok(format!(
            "Hit(id={}, path={}, title={}, score={}, bm25_rank={})",
            shown(&self.0.id)?,
            shown(&self.0.path)?,
            shown(&self.0.title)?,
            self.0.score.into_pyobject(py)?.repr()?,
            self.0.bm25_rank.into_pyobject(py)?.repr()?,
        ))
    }

    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> PyResult<(Bound<'py, PyAny>, HitState<'py>)> {
        let hit = slf.get().0.clone();
        let texts = [hit.id, hit.path, hit.title, hit.summary, hit.content];
        let metadata = value::dict(slf.py(), &hit.metadata)?;
        let state = (
            texts,
            metadata,
            hit.score,
            hit.bm25_rank,
            hit.vector_similarity,
            hit.rerank_score,
        );
        Ok((slf.get_type().getattr("_restore")?, state))
    }

    /// Make a hit again from what pickle kept of it.
    #[staticmethod]
    fn _restore(
        texts: [Text; 5],
        metadata: &Bound<'_, PyAny>,
        score: f64,
        bm25_rank: Option<usize>,
        vector_similarity: Option<f64>,
        rerank_score: Option<f64>,
    ) -> PyResult<Self> {
        let [id, path, title, summary, content] = texts.map(|text| text.to_owned());
        Ok(Self(Hit {
            id,
            path,
            title,
            summary,
            content,
            metadata: chunk::field("metadata").json_object(Some(metadata))?,
            score,
            bm25_rank,
            vector_similarity,
            rerank_score,
        }))
    }
}
