//! The items to rank, in each accepted form.

use hedgerow_engine::ErrorCode;
use hedgerow_engine::chunks::Texts;
use hedgerow_engine::index::Hit;
use pyo3::prelude::*;
use pyo3::types::{PyIterator, PyMapping, PyString};

use crate::candidate::PyCandidate;
use crate::fields::Fields;
use crate::hit::PyHit;
use crate::value::Argument;

/// A candidate; its texts are in a Python object, or were read from a mapping.
pub enum Source {
    Candidate(Py<PyCandidate>),
    Hit(Py<PyHit>),
    Mapping { hit: Box<Hit>, has_score: bool },
}

impl Source {
    /// A Candidate, a Hit or a mapping, which errors call `name`.
    pub fn new(name: &str, object: &Bound<'_, PyAny>) -> PyResult<Self> {
        Self::find(name, object)?
            .ok_or_else(|| argument(name).wrong("must be a Candidate, a Hit or a mapping", object))
    }

    /// Like `of`, but None for anything else.
    pub fn find(name: &str, object: &Bound<'_, PyAny>) -> PyResult<Option<Self>> {
        if let Ok(hit) = object.cast::<PyHit>() {
            return Ok(Some(Self::Hit(hit.clone().unbind())));
        }
        if let Ok(candidate) = object.cast::<PyCandidate>() {
            return Ok(Some(Self::Candidate(candidate.clone().unbind())));
        }
        match object.cast::<PyMapping>() {
            Ok(mapping) => read(argument(name), mapping).map(Some),
            Err(_) => Ok(None),
        }
    }

    /// [`Source::new`] with a score, which a Candidate does not have.
    pub fn with_score(name: &str, object: &Bound<'_, PyAny>) -> PyResult<Self> {
        match Self::new(name, object)? {
            Self::Candidate(_)
            | Self::Mapping {
                has_score: false, ..
            } => {
                Err(argument(name)
                    .error("has no score; give a Hit, or a mapping with the key 'score'"))
            }
            scored => Ok(scored),
        }
    }

    /// Many of them, from any iterable but a mapping or a `str`.
    pub fn many(
        name: &str,
        object: &Bound<'_, PyAny>,
        one: impl Fn(&str, &Bound<'_, PyAny>) -> PyResult<Self>,
    ) -> PyResult<Vec<Self>> {
        items(name, object)?
            .enumerate()
            .map(|(position, item)| one(&format!("{name}[{position}]"), &item?))
            .collect()
    }

    /// Lists of many, from any iterable of iterables.
    pub fn lists(name: &str, object: &Bound<'_, PyAny>) -> PyResult<Vec<Vec<Self>>> {
        items(name, object)?
            .enumerate()
            .map(|(position, list)| Self::many(&format!("{name}[{position}]"), &list?, Self::new))
            .collect()
    }

    /// Return the engine's item.
    pub fn hit(&self) -> &Hit {
        match self {
            Self::Candidate(candidate) => &candidate.get().0,
            Self::Hit(hit) => &hit.get().hit,
            Self::Mapping { hit, .. } => hit,
        }
    }
}

fn argument(name: &str) -> Argument<'_> {
    Argument {
        name,
        code: ErrorCode::InvalidCandidate,
    }
}

/// Return the items of an iterable. A mapping iterates over its keys, which callers never intend.
fn items<'py>(name: &str, object: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyIterator>> {
    let argument = argument(name);
    if object.cast::<PyMapping>().is_ok() {
        return Err(argument.error("is one mapping; give a list"));
    }
    if object.is_instance_of::<PyString>() {
        return Err(argument.error("is one str; give a list"));
    }
    object
        .try_iter()
        .map_err(|_| argument.wrong("must be a list", object))
}

/// The keys a mapping may have: those of a Candidate, a Hit and a Chunk.
const KEYS: [&str; 14] = [
    "id",
    "path",
    "title",
    "summary",
    "content",
    "bm25_rank",
    "vector_similarity",
    "score",
    "rerank_score",
    "metadata",
    "tags",
    "ordinal",
    "embedding",
    "explanation",
];

fn read(argument: Argument<'_>, mapping: &Bound<'_, PyMapping>) -> PyResult<Source> {
    let fields = Fields::new(argument, &KEYS, mapping)?;
    let text = |key| fields.get(key, |argument, value| argument.text(value));
    let number = |key| fields.get(key, |argument, value| argument.number(value));
    let score = number("score")?;
    let texts = Texts {
        id: fields.required("id", |argument, value| argument.text(value))?,
        path: fields.required("path", |argument, value| argument.text(value))?,
        ordinal: fields
            .get("ordinal", |argument, value| argument.ordinal(value))?
            .unwrap_or_default(),
        title: text("title")?.unwrap_or_default(),
        summary: text("summary")?.unwrap_or_default(),
        tags: fields
            .get("tags", |argument, value| argument.texts(value))?
            .unwrap_or_default(),
        content: text("content")?.unwrap_or_default(),
        metadata: fields
            .get("metadata", |argument, value| {
                argument.json_object(Some(value))
            })?
            .unwrap_or_default(),
    };
    Ok(Source::Mapping {
        has_score: score.is_some(),
        hit: Box::new(Hit {
            texts: texts.into(),
            score: score.unwrap_or_default(),
            bm25_rank: fields.get("bm25_rank", |argument, value| argument.rank(value))?,
            vector_similarity: number("vector_similarity")?,
            rerank_score: number("rerank_score")?,
        }),
    })
}
