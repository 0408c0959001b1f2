//! `Hit`: what a search finds.

use hedgerow_engine::chunks::Texts;
use hedgerow_engine::index::Hit;
use hedgerow_engine::retrieval::{ExplainedHit, Explanation};
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
pub struct PyHit {
    pub hit: Hit,
    explanation: Option<Box<Explanation>>,
}

impl From<Hit> for PyHit {
    fn from(hit: Hit) -> Self {
        Self {
            hit,
            explanation: None,
        }
    }
}

impl From<ExplainedHit> for PyHit {
    fn from(found: ExplainedHit) -> Self {
        Self {
            hit: found.hit,
            explanation: Some(Box::new(found.explanation)),
        }
    }
}

type HitState<'py> = (
    [String; 5],
    Bound<'py, PyDict>,
    f64,
    Option<usize>,
    Option<f64>,
    Option<f64>,
    Option<String>,
);

#[pymethods]
impl PyHit {
    /// The chunk's id.
    #[getter]
    fn id(&self) -> &str {
        &self.hit.id
    }

    /// The chunk's path.
    #[getter]
    fn path(&self) -> &str {
        &self.hit.path
    }

    /// The chunk's title.
    #[getter]
    fn title(&self) -> &str {
        &self.hit.title
    }

    /// The chunk's summary.
    #[getter]
    fn summary(&self) -> &str {
        &self.hit.summary
    }

    /// The chunk's content.
    #[getter]
    fn content(&self) -> &str {
        &self.hit.content
    }

    /// The chunk's metadata, as a new dict.
    #[getter]
    fn metadata<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        value::dict(py, &self.hit.metadata)
    }

    /// What the order is by; higher is better.
    #[getter]
    fn score(&self) -> f64 {
        self.hit.score
    }

    /// The place in the BM25 ranking, from 0, or None.
    #[getter]
    fn bm25_rank(&self) -> Option<usize> {
        self.hit.bm25_rank
    }

    /// The cosine with the query's vector, or None.
    #[getter]
    fn vector_similarity(&self) -> Option<f64> {
        self.hit.vector_similarity
    }

    /// What a reranker gave, or None.
    #[getter]
    fn rerank_score(&self) -> Option<f64> {
        self.hit.rerank_score
    }

    /// The numbers behind the score, by name (spec/retrieval.md, "Explanations"); None for a hit
    /// of a plain search of the index.
    #[getter]
    fn explanation<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyDict>>> {
        let explanation = self.explanation.as_ref();
        explanation
            .map(|explanation| value::dict(py, &explanation.to_json()))
            .transpose()
    }

    /// A short paragraph that says why the hit stands where it does.
    fn explain(&self) -> String {
        match &self.explanation {
            Some(explanation) => explanation.to_string(),
            None => self.hit.explain(),
        }
    }

    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        let shown = |text: &str| value::shown(py, text);
        Ok(format!(
            "Hit(id={}, path={}, title={}, score={}, bm25_rank={})",
            shown(&self.hit.id)?,
            shown(&self.hit.path)?,
            shown(&self.hit.title)?,
            self.hit.score.into_pyobject(py)?.repr()?,
            self.hit.bm25_rank.into_pyobject(py)?.repr()?,
        ))
    }

    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> PyResult<(Bound<'py, PyAny>, HitState<'py>)> {
        let Self { hit, explanation } = slf.get();
        let explanation = explanation.as_ref().map(serde_json::to_string);
        let texts = [&hit.id, &hit.path, &hit.title, &hit.summary, &hit.content];
        let metadata = value::dict(slf.py(), &hit.metadata)?;
        let state = (
            texts.map(Clone::clone),
            metadata,
            hit.score,
            hit.bm25_rank,
            hit.vector_similarity,
            hit.rerank_score,
            explanation.transpose().map_err(value::unreadable)?,
        );
        Ok((slf.get_type().getattr("_restore")?, state))
    }

    /// Make a hit again from what pickle kept of it.
    #[staticmethod]
    #[allow(clippy::too_many_arguments, reason = "a hit has that many fields")]
    fn _restore(
        texts: [Text; 5],
        metadata: &Bound<'_, PyAny>,
        score: f64,
        bm25_rank: Option<usize>,
        vector_similarity: Option<f64>,
        rerank_score: Option<f64>,
        explanation: Option<&str>,
    ) -> PyResult<Self> {
        let explanation = explanation.map(serde_json::from_str).transpose();
        let [id, path, title, summary, content] = texts.map(|text| text.to_owned());
        let texts = Texts {
            id,
            path,
            title,
            summary,
            content,
            metadata: chunk::field("metadata").json_object(Some(metadata))?,
        };
        let hit = Hit {
            texts: texts.into(),
            score,
            bm25_rank,
            vector_similarity,
            rerank_score,
        };
        Ok(Self {
            hit,
            explanation: explanation.map_err(value::unreadable)?,
        })
    }
}
