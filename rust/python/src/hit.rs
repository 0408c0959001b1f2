//! `Hit`: a result of a search.

use hedgerow_engine::chunks::Texts;
use hedgerow_engine::index::Hit;
use hedgerow_engine::retrieval::{ExplainedHit, Explanation};
use pyo3::exceptions::PyKeyError;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple, PyType};

use crate::calling;
use crate::chunk;
use crate::json;
use crate::text::Text;
use crate::value;

/// A chunk that a search found, and why it has its rank (spec/index.md, "Ranking").
///
/// Hits are ordered by `score`, higher is better; `bm25_rank` is the position in the BM25 ranking,
/// from 0; `vector_similarity` and `rerank_score` are None if no vector or no reranker took part.
/// `metadata` gives a new dict each time.
///
/// `keys()` and `hit["path"]` read it as a mapping, so that `dict(hit)` is `to_dict()`.
#[pyclass(name = "Hit", module = "hedgerow", frozen, eq, mapping)]
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

/// The fields, in the order of `to_dict`.
const FIELDS: [&str; 13] = [
    "id",
    "path",
    "ordinal",
    "title",
    "summary",
    "tags",
    "content",
    "metadata",
    "score",
    "bm25_rank",
    "vector_similarity",
    "rerank_score",
    "explanation",
];

type HitState<'py> = (
    [String; 5],
    i64,
    Vec<String>,
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

    /// The chunk's position among the chunks of its path, from 0.
    #[getter]
    fn ordinal(&self) -> i64 {
        self.hit.ordinal
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

    /// The chunk's tags, as a tuple of str.
    #[getter]
    fn tags<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        PyTuple::new(py, &self.hit.tags)
    }

    /// The chunk's content.
    #[getter]
    fn content(&self) -> &str {
        &self.hit.content
    }

    /// The chunk's metadata, as a new dict.
    #[getter]
    fn metadata<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        json::dict(py, &self.hit.metadata)
    }

    /// The score that orders hits; higher is better.
    #[getter]
    fn score(&self) -> f64 {
        self.hit.score
    }

    /// The position in the BM25 ranking, from 0, or None.
    #[getter]
    fn bm25_rank(&self) -> Option<usize> {
        self.hit.bm25_rank
    }

    /// The cosine with the query's vector, or None.
    #[getter]
    fn vector_similarity(&self) -> Option<f64> {
        self.hit.vector_similarity
    }

    /// The score that a reranker gave, or None.
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
            .map(|explanation| json::dict(py, &explanation.to_json()))
            .transpose()
    }

    /// A short paragraph that says why the hit has its rank.
    fn explain(&self) -> String {
        match &self.explanation {
            Some(explanation) => explanation.to_string(),
            None => self.hit.explain(),
        }
    }

    /// Return every field by its name, as in JSON: tags are a list, and missing values are None.
    fn to_dict<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let dict = PyDict::new(py);
        for field in FIELDS {
            dict.set_item(field, self.field(py, field)?)?;
        }
        Ok(dict)
    }

    /// The names of the fields, in the order of `to_dict`.
    #[allow(clippy::unused_self, reason = "a method in Python")]
    fn keys(&self) -> Vec<&'static str> {
        FIELDS.to_vec()
    }

    fn __getitem__<'py>(
        &self,
        py: Python<'py>,
        key: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let name: Option<&str> = key.extract().ok();
        match FIELDS.iter().find(|field| Some(**field) == name) {
            Some(field) => self.field(py, field),
            None => Err(PyKeyError::new_err(format!(
                "a hit has no {}; its fields are {}",
                value::repr(key),
                FIELDS.join(", ")
            ))),
        }
    }

    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        let shown = |text: &str| value::shown(py, text);
        Ok(format!(
            "Hit(id={}, path={}, score={}, title={}, content={})",
            shown(&self.hit.id)?,
            shown(&self.hit.path)?,
            self.hit.score.into_pyobject(py)?.repr()?,
            shown(&self.hit.title)?,
            shown(&self.hit.content)?,
        ))
    }

    /// The hit for a notebook.
    fn _repr_html_<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        calling::call_named(slf.py(), "hedgerow._html", "of_hit", (slf,), None)
    }

    /// How pydantic reads and writes hits: as dicts of `to_dict`.
    #[classmethod]
    fn __get_pydantic_core_schema__<'py>(
        class: &Bound<'py, PyType>,
        _source: &Bound<'py, PyAny>,
        handler: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let given = (class, handler);
        calling::call_named(class.py(), "hedgerow._pydantic", "schema_of", given, None)
    }

    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> PyResult<(Bound<'py, PyAny>, HitState<'py>)> {
        let Self { hit, explanation } = slf.get();
        let explanation = explanation.as_ref().map(serde_json::to_string);
        let texts = [&hit.id, &hit.path, &hit.title, &hit.summary, &hit.content];
        let metadata = json::dict(slf.py(), &hit.metadata)?;
        let state = (
            texts.map(Clone::clone),
            hit.ordinal,
            hit.tags.clone(),
            metadata,
            hit.score,
            hit.bm25_rank,
            hit.vector_similarity,
            hit.rerank_score,
            explanation.transpose().map_err(value::unreadable)?,
        );
        Ok((slf.get_type().getattr("_restore")?, state))
    }

    /// Make a hit of what pickle kept of it.
    #[staticmethod]
    #[allow(clippy::too_many_arguments, reason = "a hit has that many fields")]
    fn _restore(
        texts: [Text; 5],
        ordinal: i64,
        tags: Vec<String>,
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
            ordinal,
            title,
            summary,
            tags,
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

impl PyHit {
    /// Return one of [`FIELDS`].
    fn field<'py>(&self, py: Python<'py>, name: &str) -> PyResult<Bound<'py, PyAny>> {
        let hit = &self.hit;
        Ok(match name {
            "id" => hit.id.as_str().into_pyobject(py)?.into_any(),
            "path" => hit.path.as_str().into_pyobject(py)?.into_any(),
            "ordinal" => hit.ordinal.into_pyobject(py)?.into_any(),
            "title" => hit.title.as_str().into_pyobject(py)?.into_any(),
            "summary" => hit.summary.as_str().into_pyobject(py)?.into_any(),
            "tags" => hit.tags.as_slice().into_pyobject(py)?.into_any(),
            "content" => hit.content.as_str().into_pyobject(py)?.into_any(),
            "metadata" => self.metadata(py)?.into_any(),
            "score" => hit.score.into_pyobject(py)?.into_any(),
            "bm25_rank" => hit.bm25_rank.into_pyobject(py)?.into_any(),
            "vector_similarity" => hit.vector_similarity.into_pyobject(py)?.into_any(),
            "rerank_score" => hit.rerank_score.into_pyobject(py)?.into_any(),
            _ => self.explanation(py)?.into_pyobject(py)?.into_any(),
        })
    }
}
