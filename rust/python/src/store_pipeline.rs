//! Pipelines for a store, which knows more types of nodes than the language does.

use hedgerow_graph::pipeline::{self, Pipeline};
use pyo3::prelude::*;

use crate::errors;
use crate::pipeline::PipelineLike;
use crate::store::PyStore;

impl PyStore {
    /// The pipeline that is meant, with the types that nodes of this store may be of.
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
