//! The arguments of a search: its options, and the vectors of its queries.

use std::num::NonZeroU32;

use hedgerow_engine::chunks::{Filters, GroupBy};
use hedgerow_engine::retrieval::{Embedding, Mode, Recency, Request, Reranker};
use pyo3::prelude::*;

use crate::chunk::PyChunk;
use crate::errors;
use crate::filters::{FiltersLike, PyFilters};
use crate::text::Text;
use crate::vector;

/// The text of a query with its dates if it has any, those dates, and the day of the question in days since 1970, if it
/// is known.
pub type DatedQuery = (Option<Text>, Vec<String>, Option<i32>);

/// The options shared by all queries of one call, checked before any is embedded.
#[pyclass(name = "SearchOptions", module = "hedgerow._engine", frozen)]
pub struct PySearchOptions {
    mode: Mode,
    candidate_k: usize,
    wanted: usize,
    reranker: Reranker,
    skip_retry_ladder: bool,
    filters: Filters,
    group_by: Option<String>,
    asker: Option<String>,
    /// In days.
    half_life: Option<NonZeroU32>,
}

#[pymethods]
impl PySearchOptions {
    /// The filters of the search.
    #[getter]
    fn filters(&self) -> PyFilters {
        self.filters.clone().into()
    }

    /// Check the options. `wanted` is the number of hits whose texts are read. `reranks` is whether
    /// the reranker may run; None without a reranker.
    #[new]
    #[allow(clippy::too_many_arguments, reason = "as many as a search has")]
    fn new(
        mode: &str,
        candidate_k: usize,
        wanted: usize,
        reranks: Option<bool>,
        skip_retry_ladder: bool,
        filters: Option<FiltersLike>,
        group_by: Option<&str>,
        asker: Option<Text>,
        half_life: Option<NonZeroU32>,
    ) -> PyResult<Self> {
        Ok(Self {
            mode: errors::call(|| Mode::from_option("mode", mode))?,
            candidate_k,
            wanted,
            reranker: match reranks {
                Some(true) => Reranker::Ready,
                Some(false) => Reranker::Off,
                None => Reranker::Absent,
            },
            skip_retry_ladder,
            filters: filters.map(|filters| filters.0).unwrap_or_default(),
            group_by: group_by
                .map(|name| errors::call(|| group(name)).map(|_| name.to_owned()))
                .transpose()?,
            asker: asker.map(|name| name.to_string()),
            half_life,
        })
    }
}

impl PySearchOptions {
    /// The request of a query with these options.
    pub fn request<'a>(
        &'a self,
        query: &'a str,
        dated: Option<&'a DatedQuery>,
        vector: &'a Embedded,
    ) -> Request<'a> {
        Request {
            query,
            augmented: dated.and_then(|(text, ..)| text.as_ref().map(|text| &**text)),
            date_hints: dated.map_or(&[], |(_, hints, _)| hints),
            asker: self.asker.as_deref(),
            today: dated.and_then(|(_, _, day)| *day),
            recency: self.recency(dated),
            mode: self.mode,
            embedding: vector.embedding(),
            candidate_k: self.candidate_k,
            wanted: self.wanted,
            reranker: self.reranker,
            skip_retry_ladder: self.skip_retry_ladder,
            filters: &self.filters,
            group_by: self.group_by.as_deref().and_then(|name| group(name).ok()),
        }
    }

    fn recency(&self, dated: Option<&DatedQuery>) -> Option<Recency> {
        let (_, _, day) = dated?;
        Some(Recency {
            half_life: self.half_life?.get(),
            day: (*day)?,
        })
    }
}

fn group(name: &str) -> hedgerow_engine::Result<GroupBy<'_>> {
    GroupBy::from_option("group_by", name)
}

/// The name of the group of a chunk outside of searches; for `path`, its path.
#[pyfunction]
pub fn _group(group_by: &str, chunk: &Bound<'_, PyChunk>) -> PyResult<String> {
    errors::call(|| Ok(group(group_by)?.group(&chunk.get().0)))
}

/// The embedder's result for one query.
pub enum Embedded {
    Absent,
    Failed,
    Vector(Vec<f32>),
    Wrong(PyErr),
}

impl Embedded {
    pub fn embedding(&self) -> Embedding<'_> {
        match self {
            Self::Absent => Embedding::Absent,
            Self::Failed | Self::Wrong(_) => Embedding::Failed,
            Self::Vector(vector) if vector.is_empty() => Embedding::Empty,
            Self::Vector(vector) => Embedding::Vector(vector),
        }
    }

    pub fn error(&self, py: Python<'_>) -> Option<PyErr> {
        match self {
            Self::Wrong(error) => Some(error.clone_ref(py)),
            Self::Absent | Self::Failed | Self::Vector(_) => None,
        }
    }
}

pub fn embedded(vectors: &Bound<'_, PyAny>, queries: usize) -> PyResult<Vec<Embedded>> {
    if vectors.is_none() {
        return Ok((0..queries).map(|_| Embedded::Absent).collect());
    }
    if vectors.extract::<&str>().is_ok() {
        return Ok((0..queries).map(|_| Embedded::Failed).collect());
    }
    let vectors = vector::each_vector(vectors, "the embeddings of the queries")?;
    let vectors = vectors.into_iter().map(|vector| match vector {
        Ok(vector) => Embedded::Vector(vector),
        Err(error) => Embedded::Wrong(error),
    });
    Ok(vectors.collect())
}
