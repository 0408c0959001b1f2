//! `Chunk`: what an index stores.

use hedgerow_engine::ErrorCode;
use hedgerow_engine::chunks::Chunk;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple, PyType};

use crate::errors;
use crate::value::{self, Argument};
use crate::vector;

/// One searchable piece of knowledge (spec/index.md, "Chunks").
///
/// `id` names it in an index, `path` says where it comes from and may be shared, `ordinal` is
/// its place among the chunks of its path (from 0). `path`, `title`, `summary`, `tags` and
/// `content` are searched; `tags` and `metadata` (JSON with str keys) can be filtered by.
/// `embedding` is its vector: a buffer of floats, such as a numpy array, or a sequence of
/// numbers; empty, or all zeros, it says that there is none to be had (spec/index.md, "Vectors").
/// Immutable; `metadata` gives a new dict each time, `embedding` a new array.
///
/// Raises InvalidInputError for a value that cannot be stored exactly.
#[pyclass(name = "Chunk", module = "hedgerow", frozen, eq)]
#[derive(Clone, PartialEq)]
pub struct PyChunk(pub Chunk);

type ChunkArguments<'py> = (
    String,
    String,
    String,
    String,
    String,
    Bound<'py, PyTuple>,
    Bound<'py, PyDict>,
    i64,
    Option<Bound<'py, PyAny>>,
);

#[pymethods]
impl PyChunk {
    #[new]
    #[pyo3(
        signature = (id, path, content, title=None, summary=None, tags=None, metadata=None, ordinal=None, embedding=None),
        text_signature = "(id, path, content, title='', summary='', tags=(), metadata=None, ordinal=0, embedding=None)"
    )]
    #[allow(clippy::too_many_arguments, reason = "a chunk has that many fields")]
    fn new(
        id: &Bound<'_, PyAny>,
        path: &Bound<'_, PyAny>,
        content: &Bound<'_, PyAny>,
        title: Option<&Bound<'_, PyAny>>,
        summary: Option<&Bound<'_, PyAny>>,
        tags: Option<&Bound<'_, PyAny>>,
        metadata: Option<&Bound<'_, PyAny>>,
        ordinal: Option<&Bound<'_, PyAny>>,
        embedding: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Self> {
        Ok(Self(Chunk {
            id: field("id").text(id)?,
            path: field("path").text(path)?,
            content: field("content").text(content)?,
            title: title.map_or_else(|| Ok(String::new()), |title| field("title").text(title))?,
            summary: summary.map_or_else(
                || Ok(String::new()),
                |summary| field("summary").text(summary),
            )?,
            tags: tags.map_or_else(|| Ok(Vec::new()), |tags| field("tags").texts(tags))?,
            metadata: field("metadata").json_object(metadata)?,
            ordinal: ordinal.map_or(Ok(0), self::ordinal)?,
            embedding: embedding
                .map(|embedding| vector::vector(embedding, field("embedding")))
                .transpose()?,
        }))
    }

    /// Its name in an index.
    #[getter]
    fn id(&self) -> &str {
        &self.0.id
    }

    /// Where it comes from.
    #[getter]
    fn path(&self) -> &str {
        &self.0.path
    }

    /// Its text.
    #[getter]
    fn content(&self) -> &str {
        &self.0.content
    }

    /// Its title, or "".
    #[getter]
    fn title(&self) -> &str {
        &self.0.title
    }

    /// Its summary, or "".
    #[getter]
    fn summary(&self) -> &str {
        &self.0.summary
    }

    /// Its tags, as a tuple of str.
    #[getter]
    fn tags<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        PyTuple::new(py, &self.0.tags)
    }

    /// Its metadata, as a new dict.
    #[getter]
    fn metadata<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        value::dict(py, &self.0.metadata)
    }

    /// Its place among the chunks of its path.
    #[getter]
    fn ordinal(&self) -> i64 {
        self.0.ordinal
    }

    /// Its vector, as a new array.array of float32; None when it has none.
    ///
    /// An index gives it back with length 1.
    #[getter]
    fn embedding<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyAny>>> {
        let embedding = self.0.embedding.as_ref();
        embedding
            .map(|vector| vector::array(py, vector))
            .transpose()
    }

    /// The same chunk with another vector.
    fn _with_embedding(&self, embedding: &Bound<'_, PyAny>) -> PyResult<Self> {
        Ok(Self(Chunk {
            embedding: Some(vector::vector(embedding, field("embedding"))?),
            ..self.0.clone()
        }))
    }

    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        let shown = |text: &str| value::shown(py, text);
        Ok(format!(
            "Chunk(id={}, path={}, ordinal={}, title={}, content={})",
            shown(&self.0.id)?,
            shown(&self.0.path)?,
            self.0.ordinal,
            shown(&self.0.title)?,
            shown(&self.0.content)?,
        ))
    }

    fn __reduce__<'py>(
        slf: &Bound<'py, Self>,
    ) -> PyResult<(Bound<'py, PyType>, ChunkArguments<'py>)> {
        let py = slf.py();
        let chunk = slf.get();
        let Chunk {
            id,
            path,
            content,
            title,
            summary,
            ordinal,
            ..
        } = chunk.0.clone();
        let (tags, metadata) = (chunk.tags(py)?, chunk.metadata(py)?);
        let embedding = chunk.embedding(py)?;
        let arguments = (
            id, path, content, title, summary, tags, metadata, ordinal, embedding,
        );
        Ok((slf.get_type(), arguments))
    }
}

/// A field of a chunk, under check.
pub fn field(name: &str) -> Argument<'_> {
    Argument {
        name,
        code: ErrorCode::InvalidChunk,
    }
}

fn ordinal(object: &Bound<'_, PyAny>) -> PyResult<i64> {
    let ordinal: Option<i64> = object.extract().ok();
    ordinal
        .filter(|ordinal| *ordinal >= 0)
        .ok_or_else(|| field("ordinal").error("must be an int from 0 to 2**63 - 1"))
}

/// The chunks of any iterable.
pub fn chunks(object: &Bound<'_, PyAny>) -> PyResult<Vec<Py<PyChunk>>> {
    let Ok(items) = object.try_iter() else {
        return Err(field("chunks").wrong("must be an iterable of Chunk", object));
    };
    items
        .enumerate()
        .map(|(place, item)| {
            let item = item?;
            match item.cast::<PyChunk>() {
                Ok(chunk) => Ok(chunk.clone().unbind()),
                Err(_) => Err(field(&format!("chunks[{place}]")).wrong("must be a Chunk", &item)),
            }
        })
        .collect()
}

/// About how many bytes chunks take in the file.
pub fn bytes(chunks: &[Py<PyChunk>]) -> usize {
    let of_one = |chunk: &Py<PyChunk>| {
        let chunk = &chunk.get().0;
        let texts = [&chunk.title, &chunk.summary, &chunk.content].map(String::len);
        let vector = chunk
            .embedding
            .as_ref()
            .map_or(0, |vector| 4 * vector.len());
        errors::ITEM + texts.iter().sum::<usize>() + vector
    };
    chunks.iter().map(of_one).sum()
}

/// The engine's side of chunks.
pub fn inner(chunks: &[Py<PyChunk>]) -> Vec<&Chunk> {
    chunks.iter().map(|chunk| &chunk.get().0).collect()
}
