//! `Candidate`: an item to rank.

use hedgerow_engine::ErrorCode;
use hedgerow_engine::chunks::Texts;
use hedgerow_engine::index::Hit;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple, PyType};

use crate::json;
use crate::value::{self, Argument};

/// A document as one ranking knows it, to be fused with others (spec/retrieval.md, "Fusion").
///
/// Candidates with the same `id` are the same document; `bm25_rank` is the position in a BM25
/// ranking (an int from 0) and `vector_similarity` a cosine, None where there is none.
/// `metadata` is JSON with str keys. Wherever a Candidate is taken, a Hit or a mapping with
/// these keys is too. Immutable; `metadata` gives a new dict each time.
///
/// Raises InvalidInputError for values of another shape.
#[pyclass(name = "Candidate", module = "hedgerow", frozen, eq)]
#[derive(Clone, PartialEq)]
pub struct PyCandidate(pub Hit);

type CandidateArguments<'py> = (
    String,
    String,
    String,
    String,
    String,
    Option<usize>,
    Option<f64>,
    Bound<'py, PyDict>,
    Vec<String>,
    i64,
);

#[pymethods]
impl PyCandidate {
    #[new]
    #[pyo3(
        signature = (id, path, title=None, summary=None, content=None, bm25_rank=None, vector_similarity=None, metadata=None, tags=None, ordinal=None),
        text_signature = "(id, path, title='', summary='', content='', bm25_rank=None, vector_similarity=None, metadata=None, tags=(), ordinal=0)"
    )]
    #[allow(
        clippy::too_many_arguments,
        reason = "a candidate has that many fields"
    )]
    fn new(
        id: &Bound<'_, PyAny>,
        path: &Bound<'_, PyAny>,
        title: Option<&Bound<'_, PyAny>>,
        summary: Option<&Bound<'_, PyAny>>,
        content: Option<&Bound<'_, PyAny>>,
        bm25_rank: Option<&Bound<'_, PyAny>>,
        vector_similarity: Option<&Bound<'_, PyAny>>,
        metadata: Option<&Bound<'_, PyAny>>,
        tags: Option<&Bound<'_, PyAny>>,
        ordinal: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Self> {
        let text = |name, given: Option<&Bound<'_, PyAny>>| {
            given.map_or_else(|| Ok(String::new()), |given| field(name).text(given))
        };
        let texts = Texts {
            id: field("id").text(id)?,
            path: field("path").text(path)?,
            ordinal: ordinal.map_or(Ok(0), |ordinal| field("ordinal").ordinal(ordinal))?,
            title: text("title", title)?,
            summary: text("summary", summary)?,
            tags: tags.map_or_else(|| Ok(Vec::new()), |tags| field("tags").texts(tags))?,
            content: text("content", content)?,
            metadata: field("metadata").json_object(metadata)?,
        };
        Ok(Self(Hit {
            bm25_rank: bm25_rank
                .map(|rank| field("bm25_rank").rank(rank))
                .transpose()?,
            vector_similarity: vector_similarity
                .map(|similarity| field("vector_similarity").number(similarity))
                .transpose()?,
            ..texts.into()
        }))
    }

    /// The id; candidates with the same id are the same document.
    #[getter]
    fn id(&self) -> &str {
        &self.0.id
    }

    /// Where it comes from; decides between equal scores.
    #[getter]
    fn path(&self) -> &str {
        &self.0.path
    }

    /// The title, or "".
    #[getter]
    fn title(&self) -> &str {
        &self.0.title
    }

    /// The summary, or "".
    #[getter]
    fn summary(&self) -> &str {
        &self.0.summary
    }

    /// The content, or "".
    #[getter]
    fn content(&self) -> &str {
        &self.0.content
    }

    /// The tags, as a tuple of str.
    #[getter]
    fn tags<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        PyTuple::new(py, &self.0.tags)
    }

    /// The position among the chunks of its path, from 0.
    #[getter]
    fn ordinal(&self) -> i64 {
        self.0.ordinal
    }

    /// The position in the BM25 ranking, from 0, or None.
    #[getter]
    fn bm25_rank(&self) -> Option<usize> {
        self.0.bm25_rank
    }

    /// The cosine with the query's vector, or None.
    #[getter]
    fn vector_similarity(&self) -> Option<f64> {
        self.0.vector_similarity
    }

    /// The metadata, as a new dict.
    #[getter]
    fn metadata<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        json::dict(py, &self.0.metadata)
    }

    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        let shown = |text: &str| value::shown(py, text);
        Ok(format!(
            "Candidate(id={}, path={}, title={}, bm25_rank={}, vector_similarity={})",
            shown(&self.0.id)?,
            shown(&self.0.path)?,
            shown(&self.0.title)?,
            self.0.bm25_rank.into_pyobject(py)?.repr()?,
            self.0.vector_similarity.into_pyobject(py)?.repr()?,
        ))
    }

    fn __reduce__<'py>(
        slf: &Bound<'py, Self>,
    ) -> PyResult<(Bound<'py, PyType>, CandidateArguments<'py>)> {
        let candidate = slf.get();
        let metadata = candidate.metadata(slf.py())?;
        let Hit {
            texts,
            bm25_rank,
            vector_similarity: similarity,
            ..
        } = &candidate.0;
        let Texts {
            id,
            path,
            title,
            summary,
            content,
            tags,
            ordinal,
            ..
        } = texts.as_ref().clone();
        let arguments = (
            id,
            path,
            title,
            summary,
            content,
            *bm25_rank,
            *similarity,
            metadata,
            tags,
            ordinal,
        );
        Ok((slf.get_type(), arguments))
    }
}

/// A field of a candidate that is being checked.
fn field(name: &str) -> Argument<'_> {
    Argument {
        name,
        code: ErrorCode::InvalidCandidate,
    }
}
