//! How an `Index` is made, and how its methods call the engine.

use std::sync::Arc;

use hedgerow_engine::ErrorCode;
use hedgerow_engine::bm25::Ranking;
use hedgerow_engine::index::{Index, Methods};
use hedgerow_engine::query::MatchOptions;
use hedgerow_engine::text::tokenizer::TokenizerKind;
use hedgerow_engine::vectors::{Resident, Vectors};
use pyo3::prelude::*;

use crate::aliases::Aliases;
use crate::compile;
use crate::engine_handle::EngineHandle;
use crate::errors;
use crate::filters::FiltersLike;
use crate::hit::PyHit;
use crate::index::PyIndex;
use crate::notices;
use crate::query::QueryOrText;
use crate::stopwords::StopWordsLike;
use crate::value::{Argument, Limit};
use crate::vector::Dimensions;

impl PyIndex {
    /// Call the engine, and log its notices.
    pub(crate) fn call<T: Send>(
        &self,
        py: Python<'_>,
        engine: impl FnOnce() -> hedgerow_engine::Result<T> + Send,
    ) -> PyResult<T> {
        notices::call_detached(py, &self.index, engine)
    }

    /// Like `call`, for a call that may hold the write lock.
    pub(crate) fn write<T: Send>(
        &self,
        py: Python<'_>,
        bytes: Option<usize>,
        engine: impl FnOnce() -> hedgerow_engine::Result<T> + Send,
    ) -> PyResult<T> {
        notices::call_writing(py, &self.index, bytes, engine)
    }

    /// The index of a store, on the store's own handle.
    pub fn of(index: Arc<Index>) -> Self {
        Self {
            index: EngineHandle::new(index),
            tokenizer: TokenizerKind::default(),
            dimensions: None,
        }
    }

    /// Another object with the handle of this one.
    pub(crate) fn shared(&self) -> Self {
        Self {
            index: EngineHandle::new(Arc::clone(&self.index)),
            tokenizer: self.tokenizer,
            dimensions: self.dimensions,
        }
    }

    /// The handle that `make` opens, with these options set on it.
    pub(crate) fn made(
        py: Python<'_>,
        dimensions: Option<Dimensions>,
        tokenizer: &str,
        (ranking, vectors, resident): (&str, &str, &str),
        stopwords: Option<StopWordsLike>,
        metadata_index: Option<&Bound<'_, PyAny>>,
        make: impl FnOnce(TokenizerKind, Methods) -> hedgerow_engine::Result<Index> + Send,
    ) -> PyResult<Self> {
        let dimensions = dimensions.map(|dimensions| dimensions.0);
        let argument = Argument {
            name: "metadata_index",
            code: ErrorCode::InvalidOption,
        };
        let keys = metadata_index.map_or_else(|| Ok(Vec::new()), |given| argument.texts(given))?;
        errors::call_writing(py, None, || {
            let asked = TokenizerKind::parse(tokenizer)?;
            let methods = Methods {
                ranking: Ranking::from_option("ranking", ranking)?,
                vectors: Vectors::parse(vectors)?,
                resident: Resident::from_option("resident", resident)?,
            };
            let mut index = make(asked, methods)?;
            if let Some(StopWordsLike(stopwords)) = stopwords {
                index.choose_stopwords(stopwords)?;
            }
            if let Some(dimensions) = dimensions {
                index.expect_dimensions(dimensions)?;
            }
            let keys: Vec<&str> = keys.iter().map(String::as_str).collect();
            index.index_metadata(&keys)?;
            Ok(Self {
                index: EngineHandle::new(Arc::new(index)),
                tokenizer: asked,
                dimensions,
            })
        })
        .inspect(|opened| notices::log_opened(py, &opened.index))
    }

    /// Return the results of `Index.search_bm25`. `operator` joins words.
    #[allow(clippy::too_many_arguments, reason = "as many as `search_bm25` has")]
    pub(crate) fn found_by_words(
        &self,
        py: Python<'_>,
        text: &QueryOrText,
        limit: Limit,
        aliases: Option<Aliases<'_>>,
        filters: Option<FiltersLike>,
        matching: &str,
        operator: Option<&str>,
    ) -> PyResult<Vec<PyHit>> {
        let filters = filters.map(|filters| filters.0).unwrap_or_default();
        let aliases = aliases.as_ref().map(Aliases::table);
        let hits = self.call(py, || {
            let options = MatchOptions {
                aliases,
                default_operator: compile::joined_by(operator)?,
                matching: compile::matching(matching)?,
                ..MatchOptions::default()
            };
            text.with(self.index.stopwords(), |query| {
                self.index.search_bm25(query, limit.0, &filters, &options)
            })
        })?;
        Ok(hits.into_iter().map(PyHit::from).collect())
    }
}
