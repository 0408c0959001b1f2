//! `TrigramIndex`: fuzzy matching of words with slugs.

use hedgerow_engine::ErrorCode;
use hedgerow_engine::retrieval::TrigramIndex;
use pyo3::prelude::*;

use crate::chunk::PyChunk;
use crate::errors;
use crate::results;
use crate::source::Source;
use crate::value::{Argument, Limit};

/// The slugs of many chunks by their trigrams, for words that are nearly right
/// (spec/retrieval.md, "Fuzzy matching").
///
/// `chunks` is any iterable of Chunk, Candidate, Hit or mappings with "id" and "path"; an
/// empty id is skipped, and of a repeated one the first counts. Only ids, paths and trigrams
/// are kept. It never changes, so threads may share it; it pickles, and `len` counts chunks.
///
/// Raises InvalidInputError, with the position, for anything else among the chunks.
#[pyclass(name = "TrigramIndex", module = "hedgerow", frozen)]
pub struct PyTrigramIndex(TrigramIndex);

/// The ids and paths an index is made of.
type Entries = Vec<(String, String)>;

#[pymethods]
impl PyTrigramIndex {
    #[new]
    fn new(py: Python<'_>, chunks: &Bound<'_, PyAny>) -> PyResult<Self> {
        let argument = Argument {
            name: "chunks",
            code: ErrorCode::InvalidChunk,
        };
        let Ok(items) = chunks.try_iter() else {
            return Err(argument.wrong("must be an iterable of Chunk", chunks));
        };
        let entries: Entries = items
            .enumerate()
            .map(|(position, item)| entry(position, &item?))
            .collect::<PyResult<_>>()?;
        Self::_restore(py, entries)
    }

    /// The chunks most similar to any of the tokens, best first, at most `limit` TrigramHits.
    ///
    /// Similarity is Jaccard's, over the trigrams of a token and of a slug; from 0.3 on it is a
    /// hit. Ties go by path, then id, in UTF-16 order.
    ///
    /// Raises InvalidInputError for tokens that are not a list or tuple of str, and for a limit
    /// below 1.
    fn search<'py>(
        &self,
        py: Python<'py>,
        tokens: &Bound<'py, PyAny>,
        limit: Limit,
    ) -> PyResult<Vec<Bound<'py, PyAny>>> {
        let tokens = Argument {
            name: "tokens",
            code: ErrorCode::InvalidToken,
        }
        .texts(tokens)?;
        let hits = errors::call_detached(py, || self.0.search(&tokens, limit.0))?;
        hits.iter()
            .map(|hit| results::trigram_hit(py, hit))
            .collect()
    }

    fn __len__(&self) -> usize {
        self.0.entries().len()
    }

    fn __repr__(&self) -> String {
        format!("<TrigramIndex of {} chunks>", self.__len__())
    }

    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> PyResult<(Bound<'py, PyAny>, (Entries,))> {
        let owned = |(id, path): (&str, &str)| (id.to_owned(), path.to_owned());
        let entries = slf.get().0.entries().map(owned).collect();
        Ok((slf.get_type().getattr("_restore")?, (entries,)))
    }

    /// Make an index of the ids and paths that pickle kept of it.
    #[staticmethod]
    fn _restore(py: Python<'_>, entries: Entries) -> PyResult<Self> {
        errors::call_detached(py, || TrigramIndex::new(entries)).map(Self)
    }
}

/// The id and the path of a chunk.
fn entry(position: usize, item: &Bound<'_, PyAny>) -> PyResult<(String, String)> {
    if let Ok(chunk) = item.cast::<PyChunk>() {
        let chunk = &chunk.get().0;
        return Ok((chunk.id.clone(), chunk.path.clone()));
    }
    let name = format!("chunks[{position}]");
    let Some(source) = Source::find(&name, item)? else {
        let argument = Argument {
            name: &name,
            code: ErrorCode::InvalidChunk,
        };
        return Err(argument.wrong("must be a Chunk, a Candidate, a Hit or a mapping", item));
    };
    Ok((source.hit().id.clone(), source.hit().path.clone()))
}
