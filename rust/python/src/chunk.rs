//! `Chunk`: what an index stores.

use hedgerow_engine::ErrorCode;
use hedgerow_engine::chunks::Chunk;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyMapping, PyString, PyTuple, PyType};

use crate::errors;
use crate::fields::Fields;
use crate::json;
use crate::value::{self, Argument};
use crate::vector;

/// A searchable piece of knowledge (spec/index.md, "Chunks").
///
/// `id` names it in an index, `path` says where it comes from and may be shared, `ordinal` is its
/// position among the chunks of its path (from 0). `path`, `title`, `summary`, `tags` and `content`
/// are searched; `tags` and `metadata` (JSON with str keys) can be filtered by. `embedding` is its
/// vector: a buffer of floats, such as a numpy array, or a sequence of numbers. An empty one, or
/// one of zeros, means that the chunk can have none (spec/index.md, "Vectors"). Immutable;
/// `metadata` gives a new dict each time, `embedding` a new array.
///
/// Pass the fields by name, `Chunk(id=..., path=..., content=...)`: path and content are both
/// texts, and no error reports swapped ones. `Chunk.from_dict` takes a mapping.
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
            ordinal: ordinal.map_or(Ok(0), |ordinal| field("ordinal").ordinal(ordinal))?,
            embedding: embedding
                .map(|embedding| vector::vector(embedding, field("embedding")))
                .transpose()?,
        }))
    }

    /// The name of the chunk in an index.
    #[getter]
    fn id(&self) -> &str {
        &self.0.id
    }

    /// Where it comes from.
    #[getter]
    fn path(&self) -> &str {
        &self.0.path
    }

    /// The text.
    #[getter]
    fn content(&self) -> &str {
        &self.0.content
    }

    /// The title, or "".
    #[getter]
    fn title(&self) -> &str {
        &self.0.title
    }

    /// The summary, or "".
    #[getter]
    fn summary(&self) -> &str {
        &self.0.summary
    }

    /// The tags, as a tuple of str.
    #[getter]
    fn tags<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        PyTuple::new(py, &self.0.tags)
    }

    /// The metadata, as a new dict.
    #[getter]
    fn metadata<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        json::dict(py, &self.0.metadata)
    }

    /// The position among the chunks of its path.
    #[getter]
    fn ordinal(&self) -> i64 {
        self.0.ordinal
    }

    /// The vector, as a new array.array of float32; None without a vector.
    ///
    /// An index returns it with length 1.
    #[getter]
    fn embedding<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyAny>>> {
        let embedding = self.0.embedding.as_ref();
        embedding
            .map(|vector| vector::array(py, vector))
            .transpose()
    }

    /// Every field by its name, as JSON has them: tags and the embedding are lists.
    fn to_dict<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let Chunk {
            id,
            path,
            ordinal,
            title,
            summary,
            tags,
            content,
            metadata,
            embedding,
        } = &self.0;
        let dict = PyDict::new(py);
        dict.set_item("id", id)?;
        dict.set_item("path", path)?;
        dict.set_item("ordinal", ordinal)?;
        dict.set_item("title", title)?;
        dict.set_item("summary", summary)?;
        dict.set_item("tags", tags)?;
        dict.set_item("content", content)?;
        dict.set_item("metadata", json::dict(py, metadata)?)?;
        dict.set_item("embedding", embedding)?;
        Ok(dict)
    }

    /// The chunk of a mapping with the keys of `to_dict`; "id" and "content" are required.
    ///
    /// Without "path" the id is the path. A value of None counts as left out. Raises
    /// InvalidInputError for an unknown key, with the key that was probably meant, and for a value
    /// that cannot be stored.
    #[staticmethod]
    fn from_dict(fields: &Bound<'_, PyAny>) -> PyResult<Self> {
        match fields.cast::<PyMapping>() {
            Ok(mapping) => of_mapping("fields", mapping),
            Err(_) => Err(field("fields").wrong("must be a mapping", fields)),
        }
    }

    /// Return the chunk with another vector.
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

/// A field of a chunk that is being checked.
pub fn field(name: &str) -> Argument<'_> {
    Argument {
        name,
        code: ErrorCode::InvalidChunk,
    }
}

/// The keys that a chunk may have as a mapping.
const KEYS: [&str; 9] = [
    "id",
    "path",
    "ordinal",
    "title",
    "summary",
    "tags",
    "content",
    "metadata",
    "embedding",
];

/// The chunk of a mapping, which errors call `name`.
fn of_mapping(name: &str, mapping: &Bound<'_, PyMapping>) -> PyResult<PyChunk> {
    let fields = Fields::new(field(name), &KEYS, mapping)?;
    let text = |key| fields.get(key, |argument, value| argument.text(value));
    let id = fields.required("id", |argument, value| argument.text(value))?;
    Ok(PyChunk(Chunk {
        path: text("path")?.unwrap_or_else(|| id.clone()),
        id,
        content: fields.required("content", |argument, value| argument.text(value))?,
        title: text("title")?.unwrap_or_default(),
        summary: text("summary")?.unwrap_or_default(),
        tags: fields
            .get("tags", |argument, value| argument.texts(value))?
            .unwrap_or_default(),
        metadata: fields
            .get("metadata", |argument, value| {
                argument.json_object(Some(value))
            })?
            .unwrap_or_default(),
        ordinal: fields
            .get("ordinal", |argument, value| argument.ordinal(value))?
            .unwrap_or_default(),
        embedding: fields.get("embedding", |argument, value| {
            vector::vector(value, argument)
        })?,
    }))
}

/// The chunks of any iterable of chunks and mappings.
pub fn chunks(object: &Bound<'_, PyAny>) -> PyResult<Vec<Py<PyChunk>>> {
    const WANTED: &str = "must be an iterable of Chunk or mappings";
    if object.cast::<PyMapping>().is_ok() {
        return Err(field("chunks").error("is one mapping; give a list of them"));
    }
    if object.is_instance_of::<PyString>() {
        return Err(field("chunks").wrong(WANTED, object));
    }
    let Ok(items) = object.try_iter() else {
        return Err(field("chunks").wrong(WANTED, object));
    };
    items
        .enumerate()
        .map(|(position, item)| {
            let item = item?;
            if let Ok(chunk) = item.cast::<PyChunk>() {
                return Ok(chunk.clone().unbind());
            }
            let name = format!("chunks[{position}]");
            match item.cast::<PyMapping>() {
                Ok(mapping) => Py::new(item.py(), of_mapping(&name, mapping)?),
                Err(_) => Err(field(&name).wrong("must be a Chunk or a mapping", &item)),
            }
        })
        .collect()
}

/// The chunks of any iterable of chunks and mappings, to be embedded.
#[pyfunction]
pub fn _chunks(chunks: &Bound<'_, PyAny>) -> PyResult<Vec<Py<PyChunk>>> {
    self::chunks(chunks)
}

/// Return the approximate bytes of chunks in the file.
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

/// The chunks as the engine has them.
pub fn inner(chunks: &[Py<PyChunk>]) -> Vec<&Chunk> {
    chunks.iter().map(|chunk| &chunk.get().0).collect()
}
