//! The options an `Index` was opened with, for its repr and for pickle.

use std::path::{Path, PathBuf};

use hedgerow_engine::ErrorCode;
use hedgerow_engine::bm25::Ranking;
use hedgerow_engine::index::Index;
use hedgerow_engine::query::StopWords;
use hedgerow_engine::storage::Durability;
use hedgerow_engine::text::tokenizer::TokenizerKind;
use hedgerow_engine::vectors::{Resident, Vectors};
use pyo3::prelude::*;

use crate::errors;
use crate::stopwords;

/// The state of a handle in a pickle: the arguments of `open`.
pub type OpenArguments = (
    PathBuf,
    Option<usize>,
    &'static str,
    bool,
    &'static str,
    &'static str,
    &'static str,
    Option<String>,
    &'static str,
);

/// Refuse ":memory:", which names no file: the error leads to `in_memory` of the class.
pub fn check_path(path: &Path, class: &str) -> PyResult<()> {
    if path.as_os_str() != ":memory:" {
        return Ok(());
    }
    let message = format!("path must name a file, not \":memory:\"; use {class}.in_memory()");
    Err(errors::error(ErrorCode::InvalidOption, message))
}

/// Return the state of a handle on a file in a pickle. An index in memory is refused.
pub fn arguments(
    index: &Index,
    tokenizer: TokenizerKind,
    dimensions: Option<usize>,
) -> PyResult<OpenArguments> {
    let Some(path) = index.path() else {
        return Err(errors::error(
            ErrorCode::NotPicklable,
            "an index in memory cannot be pickled; use Index.open with a file, or send a backup \
             of it",
        ));
    };
    Ok((
        path.clone(),
        dimensions,
        tokenizer.as_str(),
        index.read_only(),
        index.ranking().as_str(),
        index.vectors().as_str(),
        index.resident().as_str(),
        // A handle that writes has stored them in the file.
        (index.read_only()).then(|| index.stopwords().to_string()),
        index.database().location().durability().as_str(),
    ))
}

/// The call that opens such an index, without the options that have their defaults.
pub fn repr(py: Python<'_>, index: &Index, dimensions: Option<usize>) -> PyResult<String> {
    let mut options = Vec::new();
    if let Some(dimensions) = dimensions {
        options.push(format!("dimensions={dimensions}"));
    }
    options.push(format!("tokenizer='{}'", index.tokenizer().as_str()));
    if index.path().is_some() {
        let read_only = if index.read_only() { "True" } else { "False" };
        options.push(format!("read_only={read_only}"));
    }
    if index.ranking() != Ranking::Auto {
        options.push(format!("ranking='{}'", index.ranking().as_str()));
    }
    if index.vectors() != Vectors::Exact {
        options.push(format!("vectors='{}'", index.vectors().as_str()));
    }
    if index.resident() != Resident::All {
        options.push(format!("resident='{}'", index.resident().as_str()));
    }
    if *index.stopwords() != StopWords::default() {
        let stopwords = stopwords::to_py(py, index.stopwords())?.repr()?;
        options.push(format!("stopwords={stopwords}"));
    }
    let durability = index.database().location().durability();
    if durability != Durability::default() {
        options.push(format!("durability='{}'", durability.as_str()));
    }
    let options = options.join(", ");
    Ok(match index.path() {
        None => format!("Index.in_memory({options})"),
        Some(path) => {
            let path = path.as_os_str().into_pyobject(py)?.repr()?;
            format!("Index.open({path}, {options})")
        }
    })
}
