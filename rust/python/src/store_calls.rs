//! How a `Store` is made, and how its methods call the engine.

use std::collections::HashSet;
use std::sync::Arc;

use hedgerow_graph::graph::Store;
use hedgerow_graph::pipeline::{self, Options, Pipeline};
use hedgerow_memory::sync::Nodes;
use pyo3::prelude::*;

use crate::engine_handle::EngineHandle;
use crate::errors;
use crate::index::PyIndex;
use crate::node::{self, time};
use crate::notices;
use crate::pipeline::{PipelineLike, ranked};
use crate::results;
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

    /// Run a pipeline on all nodes, or on those with some keys, with the links of `files` between them if they
    /// are given.
    #[allow(clippy::too_many_arguments, reason = "those of a query")]
    pub(crate) fn run<'py>(
        &self,
        py: Python<'py>,
        pipeline: PipelineLike,
        now: Option<&Bound<'py, PyAny>>,
        terms: Option<&Bound<'py, PyAny>>,
        legs: Option<&Bound<'py, PyAny>>,
        explain: bool,
        within: Option<HashSet<String>>,
        files: Option<&Nodes>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let pipeline = self.parsed(py, pipeline, terms)?;
        let files = files.filter(|_| pipeline.needs().edges);
        let links = files.map(|files| {
            let (edges, _) = files.edges(None);
            let link = |((source, target, _), strength)| (source, target, strength);
            edges.into_iter().map(link).collect()
        });
        let options = Options {
            now: now.map_or_else(|| Ok(node::now()), |now| node::seconds(now, time("now")))?,
            legs: legs.map(|legs| ranked(legs, &pipeline)).transpose()?,
            explain,
            within,
            links,
            ..Options::default()
        };
        let outcome = self.call(py, || pipeline::run(&self.store, &pipeline, &options))?;
        results::query_result(py, outcome)
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
