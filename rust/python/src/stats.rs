//! `IndexStats`, the class of `hedgerow.results`.

use hedgerow_engine::index::IndexStats;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};

use crate::calling;

/// Return the counts of an index, as Python sees them.
pub fn to_python(py: Python<'_>, stats: IndexStats) -> PyResult<Bound<'_, PyAny>> {
    let fields = PyDict::new(py);
    fields.set_item("chunks", stats.chunks)?;
    fields.set_item("paths", stats.paths)?;
    fields.set_item("size_bytes", stats.size_bytes)?;
    fields.set_item("tokenizer", stats.tokenizer.as_str())?;
    fields.set_item("schema_version", stats.schema_version)?;
    fields.set_item("sqlite_version", stats.sqlite_version)?;
    fields.set_item("dimensions", stats.dimensions)?;
    fields.set_item("embedder", stats.embedder)?;
    fields.set_item("vectors", stats.vectors)?;
    fields.set_item("vector_bytes", stats.vector_bytes)?;
    fields.set_item("vector_recall", stats.vector_recall)?;
    fields.set_item("ranking_bytes", stats.ranking_bytes)?;
    fields.set_item("ranking_reason", stats.ranking_reason)?;
    fields.set_item("text_bytes", stats.text_bytes)?;
    fields.set_item("fuzzy_bytes", stats.fuzzy_bytes)?;
    fields.set_item("metadata_index", PyTuple::new(py, stats.metadata_index)?)?;
    fields.set_item("filter_bytes", stats.filter_bytes)?;
    let class = py.import("hedgerow.results")?.getattr("IndexStats")?;
    calling::call(&class, (), Some(&fields))
}
