//! How a `Store` is made, and how its methods call the engine.

use std::sync::Arc;

use hedgerow_graph::graph::Store;
use hedgerow_graph::pipeline::{self, Pipeline};
use pyo3::prelude::*;

use crate::engine_handle::EngineHandle;
use crate::errors;
use crate::index::PyIndex;
use crate::notices;
use crate::pipeline::PipelineLike;
use crate::store::PyStore;

impl PyStore {
    /// Call the engine, and log its notices.
    pub(crate) fn call<T: Send>(
        &self,
        py: Python<'_>,
        engine: impl FnOnce() -> hedgerow_engine::Result<T> + Send,
    ) -> PyResult<T> {
        notices::call_detached(py, self.store.index(), engine)
    }

    /// Like `call`, for a call that may hold the write lock.
    pub(crate) fn write<T: Send>(
        &self,
        py: Python<'_>,
        bytes: Option<usize>,
        engine: impl FnOnce() -> hedgerow_engine::Result<T> + Send,
    ) -> PyResult<T> {
        notices::call_writing(py, self.store.index(), bytes, engine)
    }

    /// The handle of a store, and of the index in its file.
    pub(crate) fn of(py: Python<'_>, store: Store) -> PyResult<Self> {
        let index = Py::new(py, PyIndex::of(Arc::clone(store.index())))?;
        Ok(Self {
            store: EngineHandle::new(store),
            index,
        })
    }

    /// The pipeline to run, parsed with the types that nodes of this store may have.
    pub fn parsed(
        &self,
        py: Python<'_>,
        pipeline: PipelineLike,
        terms: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Pipeline> {
        pipeline.parsed(terms, |text, terms| {
            errors::call_detached(py, || pipeline::parse_for(&self.store, text, terms))
        })
    }
}
