//! Embedding chunks: finding those without a vector, and storing vectors.

use hedgerow_engine::vectors::Embedder;
use pyo3::prelude::*;

use crate::chunk::{self, PyChunk};
use crate::errors;
use crate::index::PyIndex;
use crate::text::Text;
use crate::vector;

/// Add the functions of this file to the module.
pub fn add_functions(module: &Bound<'_, PyModule>) -> PyResult<()> {
    for function in [
        wrap_pyfunction!(_upsert_from, module)?,
        wrap_pyfunction!(_unembedded, module)?,
        wrap_pyfunction!(_unembedded_page, module)?,
        wrap_pyfunction!(_is_embedded, module)?,
        wrap_pyfunction!(_has_vectors, module)?,
        wrap_pyfunction!(_is_replaced, module)?,
        wrap_pyfunction!(_set_embeddings, module)?,
        wrap_pyfunction!(_check_embedder, module)?,
        wrap_pyfunction!(_embedder_of, module)?,
        wrap_pyfunction!(_begin_staging, module)?,
        wrap_pyfunction!(_unstaged_page, module)?,
        wrap_pyfunction!(_stage_embeddings, module)?,
        wrap_pyfunction!(_replace_by_staged, module)?,
    ] {
        module.add_function(function)?;
    }
    Ok(())
}

/// Store chunks with embeddings of this embedder, which must be that of the index; returns the
/// number of distinct ids.
#[pyfunction]
#[pyo3(signature = (index, chunks, embedder=None, details=None))]
pub fn _upsert_from(
    py: Python<'_>,
    index: &Bound<'_, PyIndex>,
    chunks: &Bound<'_, PyAny>,
    embedder: Option<Text>,
    details: Option<Text>,
) -> PyResult<usize> {
    let chunks = chunk::chunks(chunks)?;
    let index = &index.get().index;
    let embedder = of(embedder.as_deref(), details.as_deref());
    errors::call_writing(py, Some(chunk::bytes(&chunks)), || {
        index.upsert_from(&chunk::inner(&chunks), embedder)
    })
}

/// The positions of the chunks that would have no vector after an upsert.
#[pyfunction]
pub fn _unembedded(
    py: Python<'_>,
    index: &Bound<'_, PyIndex>,
    chunks: &Bound<'_, PyAny>,
) -> PyResult<Vec<usize>> {
    let chunks = chunk::chunks(chunks)?;
    let index = &index.get().index;
    errors::call_detached(py, || index.unembedded(&chunk::inner(&chunks)))
}

/// Up to `limit` stored chunks without a vector, and where the next page begins (at first 0).
#[pyfunction]
pub fn _unembedded_page(
    py: Python<'_>,
    index: &Bound<'_, PyIndex>,
    after: i64,
    limit: u32,
) -> PyResult<(Vec<PyChunk>, i64)> {
    let index = &index.get().index;
    let page = errors::call_detached(py, || index.unembedded_page(after, limit))?;
    Ok((page.chunks.into_iter().map(PyChunk).collect(), page.after))
}

/// Whether every stored chunk has been embedded.
#[pyfunction]
pub fn _is_embedded(py: Python<'_>, index: &Bound<'_, PyIndex>) -> PyResult<bool> {
    let index = &index.get().index;
    errors::call_detached(py, || index.is_embedded())
}

/// Whether another file is where that of an index was, also in the same inode. It costs a look at the file.
#[pyfunction]
pub fn _is_replaced(py: Python<'_>, index: &Bound<'_, PyIndex>) -> PyResult<bool> {
    let index = &index.get().index;
    errors::call_detached(py, || Ok(index.database().location().is_replaced()))
}

/// Whether any stored chunk has a vector.
#[pyfunction]
pub fn _has_vectors(py: Python<'_>, index: &Bound<'_, PyIndex>) -> PyResult<bool> {
    let index = &index.get().index;
    errors::call_detached(py, || index.has_vectors())
}

/// Store vectors of existing chunks; return the number of chunks with unchanged texts that took
/// theirs.
#[pyfunction]
#[pyo3(signature = (index, chunks, vectors, embedder=None, details=None))]
pub fn _set_embeddings(
    py: Python<'_>,
    index: &Bound<'_, PyIndex>,
    chunks: &Bound<'_, PyAny>,
    vectors: &Bound<'_, PyAny>,
    embedder: Option<Text>,
    details: Option<Text>,
) -> PyResult<usize> {
    let chunks = chunk::chunks(chunks)?;
    let vectors = vector::vectors(vectors, "vectors")?;
    let index = &index.get().index;
    let embedder = of(embedder.as_deref(), details.as_deref());
    errors::call_writing(py, None, || {
        index.set_embeddings(&chunk::inner(&chunks), &vectors, embedder)
    })
}

/// Begin to stage the vectors of an embedder, or continue; return the number of staged vectors.
#[pyfunction]
#[pyo3(signature = (index, embedder=None, details=None))]
pub fn _begin_staging(
    py: Python<'_>,
    index: &Bound<'_, PyIndex>,
    embedder: Option<Text>,
    details: Option<Text>,
) -> PyResult<u64> {
    let index = &index.get().index;
    let embedder = of(embedder.as_deref(), details.as_deref());
    errors::call_writing(py, None, || index.begin_staging(embedder))
}

/// Up to `limit` stored chunks without a staged vector, and where the next page begins (at first
/// 0).
#[pyfunction]
pub fn _unstaged_page(
    py: Python<'_>,
    index: &Bound<'_, PyIndex>,
    after: i64,
    limit: u32,
) -> PyResult<(Vec<PyChunk>, i64)> {
    let index = &index.get().index;
    let page = errors::call_detached(py, || index.unstaged_page(after, limit))?;
    Ok((page.chunks.into_iter().map(PyChunk).collect(), page.after))
}

/// Stage vectors of existing chunks; return the number of chunks with unchanged texts that took
/// theirs.
#[pyfunction]
pub fn _stage_embeddings(
    py: Python<'_>,
    index: &Bound<'_, PyIndex>,
    chunks: &Bound<'_, PyAny>,
    vectors: &Bound<'_, PyAny>,
) -> PyResult<usize> {
    let chunks = chunk::chunks(chunks)?;
    let vectors = vector::vectors(vectors, "vectors")?;
    let index = &index.get().index;
    errors::call_writing(py, None, || {
        index.stage_embeddings(&chunk::inner(&chunks), &vectors)
    })
}

/// Replace all vectors with the staged ones; return their number.
#[pyfunction]
pub fn _replace_by_staged(py: Python<'_>, index: &Bound<'_, PyIndex>) -> PyResult<usize> {
    let index = &index.get().index;
    errors::call_writing(py, None, || index.replace_by_staged())
}

/// Return the name of the embedder of the vectors, its details, and their dimensions; None if
/// unknown.
#[pyfunction]
pub fn _embedder_of(
    py: Python<'_>,
    index: &Bound<'_, PyIndex>,
) -> PyResult<(Option<String>, Option<String>, Option<usize>)> {
    let index = &index.get().index;
    let space = errors::call_detached(py, || index.space())?;
    Ok((space.embedder, space.details, space.dimensions))
}

fn of<'a>(name: Option<&'a str>, details: Option<&'a str>) -> Option<Embedder<'a>> {
    name.map(|name| Embedder { name, details })
}

/// Refuse an embedder other than that of the vectors, if that is known.
#[pyfunction]
pub fn _check_embedder(py: Python<'_>, index: &Bound<'_, PyIndex>, embedder: Text) -> PyResult<()> {
    let index = &index.get().index;
    errors::call_detached(py, || index.check_embedder(&embedder))
}
