//! Files, front matter and Markdown as Python reads them (spec/ingest.md).

use std::cell::RefCell;

use hedgerow_engine::ErrorCode;
use hedgerow_memory::edit::{self, Changes, EditError, ListChange, Place, Wanted};
use hedgerow_memory::folder::{self, SourceFile, Unreadable};
use hedgerow_memory::format::{
    self, FileChunks, FrontMatter, REPEATED_LIMIT, SharedFields, markdown_chunks, read_chunks,
};
use hedgerow_memory::skip::Skip;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyDict, PyTuple};
use serde_json::Value;

use crate::chunk::PyChunk;
use crate::json;
use crate::text::Text;
use crate::value::{self, Argument};
use crate::{calling, errors};

/// The code, the reason and the line of a part of a file that is left out.
type SkipParts = (String, String, Option<u64>);

fn skip_parts(skip: Skip) -> SkipParts {
    (skip.code, skip.reason, skip.line)
}

/// Call the reader; a panic becomes an exception of the engine.
fn read<T>(work: impl FnOnce() -> T) -> PyResult<T> {
    errors::call(|| Ok(work()))
}

/// The exception for a file that cannot be read.
fn unreadable(py: Python<'_>, error: &Unreadable) -> PyErr {
    let instantiate = || {
        let class = py.import("hedgerow.ingest.source")?;
        let class = class.getattr("UnreadableSourceError")?;
        PyResult::Ok(PyErr::from_value(
            class.call1((error.code, error.reason.as_str()))?,
        ))
    };
    instantiate().unwrap_or_else(|failure| failure)
}

/// The exception for front matter that has to be changed by hand.
fn not_changed(py: Python<'_>, error: &EditError) -> PyErr {
    let instantiate = || {
        let class = py.import("hedgerow.errors")?.getattr("HedgerowError")?;
        let arguments = PyDict::new(py);
        arguments.set_item("code", "invalid_front_matter")?;
        let raised = calling::call(&class, (error.message(),), Some(&arguments))?;
        PyResult::Ok(PyErr::from_value(raised))
    };
    instantiate().unwrap_or_else(|failure| failure)
}

/// The block at the head of a file (spec/ingest.md, "Front matter").
///
/// `fields` are all fields, in order. `body_start` is the index of the first line after the block, 0
/// if there is none. `problem` is the reason for which the block is not valid YAML, or is not read, or None;
/// `problem_line` is its line in the file. With a problem, `fields` are those that can be read by
/// themselves, and `unread` the indexes of the lines that cannot. Immutable.
#[pyclass(name = "FrontMatter", module = "hedgerow._engine", frozen, eq)]
pub struct PyFrontMatter {
    read: FrontMatter,
    fields: PyOnceLock<Py<PyDict>>,
}

impl PartialEq for PyFrontMatter {
    fn eq(&self, other: &Self) -> bool {
        self.read == other.read
    }
}

impl PyFrontMatter {
    pub fn read(&self) -> &FrontMatter {
        &self.read
    }
}

impl From<FrontMatter> for PyFrontMatter {
    fn from(read: FrontMatter) -> Self {
        Self {
            read,
            fields: PyOnceLock::new(),
        }
    }
}

#[pymethods]
impl PyFrontMatter {
    #[new]
    #[pyo3(signature = (fields=None, body_start=0))]
    fn new(fields: Option<&Bound<'_, PyAny>>, body_start: usize) -> PyResult<Self> {
        let fields = argument("fields").json_object(fields)?;
        Ok(Self::from(FrontMatter {
            fields,
            body_start,
            ..FrontMatter::default()
        }))
    }

    /// All fields by name, in order. Not to be changed.
    #[getter]
    fn fields(&self, py: Python<'_>) -> PyResult<Py<PyDict>> {
        let fields = self
            .fields
            .get_or_try_init(py, || json::dict(py, &self.read.fields).map(Bound::unbind))?;
        Ok(fields.clone_ref(py))
    }

    /// The index of the first line after the block; 0 if there is none.
    #[getter]
    fn body_start(&self) -> usize {
        self.read.body_start
    }

    /// The reason for which the block is not valid YAML, or is not read, or None.
    #[getter]
    fn problem(&self) -> Option<&str> {
        self.read.problem.as_deref()
    }

    /// The line of the problem in the file, counted from 1, or None.
    #[getter]
    fn problem_line(&self) -> Option<usize> {
        self.read.problem_line
    }

    /// The indexes of the lines of the file that could not be read.
    #[getter]
    fn unread<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        PyTuple::new(py, &self.read.unread)
    }

    /// Return the first of the keys that holds text or a number, on one line; else an empty text.
    #[pyo3(signature = (*keys))]
    fn text(&self, keys: Vec<String>) -> String {
        let keys: Vec<&str> = keys.iter().map(String::as_str).collect();
        self.read.text(&keys)
    }

    /// The `tags`, a list or one text with commas, without `#` and without repetition.
    #[getter]
    fn tags<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        PyTuple::new(py, self.read.tags())
    }

    /// The fields that a filter can use, as a new dict: scalars and lists of scalars.
    ///
    /// Without the title, tags and summary, which are fields of the chunk.
    #[getter]
    fn metadata<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        json::dict(py, &self.read.metadata())
    }

    /// Return all fields as plain JSON, with the items of lists as text.
    ///
    /// A short block with aliases can expand to a large value: one of too many parts, or nested too
    /// deep, is left out.
    fn to_dict<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        json::dict(py, &self.read.to_json())
    }

    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        let fields = value::repr(self.fields(py)?.bind(py));
        Ok(format!("FrontMatter({fields}, {})", self.read.body_start))
    }
}

fn argument(name: &str) -> Argument<'_> {
    Argument {
        name,
        code: ErrorCode::InvalidChunk,
    }
}

/// Lines as the reader takes them.
fn borrowed(lines: &[String]) -> Vec<&str> {
    lines.iter().map(String::as_str).collect()
}

/// Read the front matter of the lines of a file.
#[pyfunction]
pub fn read_front_matter(lines: Vec<String>) -> PyResult<PyFrontMatter> {
    read(|| FrontMatter::of_memory(&borrowed(&lines)).into())
}

/// Decode a file; raises UnreadableSourceError if it is not text.
#[pyfunction]
pub fn _decode(py: Python<'_>, data: &[u8]) -> PyResult<String> {
    let text = folder::decode(data).map(str::to_owned);
    text.map_err(|error| unreadable(py, &error))
}

/// Decode a file, with newlines as line ends; raises UnreadableSourceError if it is not text.
#[pyfunction]
pub fn _text_of(py: Python<'_>, data: &[u8]) -> PyResult<String> {
    folder::text_of(data).map_err(|error| unreadable(py, &error))
}

/// Return a title from a file's name.
#[pyfunction]
pub fn _title_from_name(path: &str) -> String {
    folder::title_from_name(path)
}

/// The chunks of one file, and between them the reports of parts that are left out: the code, the
/// reason and the line of each.
#[pyclass(module = "hedgerow._engine")]
pub struct FileChunkIterator(FileChunks);

#[pymethods]
impl FileChunkIterator {
    fn __iter__(slf: PyRef<'_, Self>) -> PyRef<'_, Self> {
        slf
    }

    fn __next__(&mut self, py: Python<'_>) -> PyResult<Option<Py<PyAny>>> {
        match read(|| self.0.next())? {
            None => Ok(None),
            Some(Err(error)) => Err(unreadable(py, &error)),
            Some(Ok(Ok(chunk))) => Ok(Some(Py::new(py, PyChunk(chunk))?.into_any())),
            Some(Ok(Err(skip))) => {
                let parts = skip_parts(skip).into_pyobject(py)?;
                Ok(Some(parts.into_any().unbind()))
            }
        }
    }
}

/// Read a file as chunks; `data` are its bytes if they have been read.
///
/// Raises UnreadableSourceError, perhaps after some chunks, if the file cannot be read.
#[pyfunction]
#[pyo3(signature = (path, file, data=None))]
pub fn _read_chunks(
    py: Python<'_>,
    path: &str,
    file: &str,
    data: Option<Vec<u8>>,
) -> PyResult<FileChunkIterator> {
    let source = SourceFile { path, file };
    let chunks = errors::call_detached(py, || Ok(read_chunks(&source, data.as_deref())))?;
    let chunks = chunks.map_err(|error| unreadable(py, &error))?;
    Ok(FileChunkIterator(chunks))
}

/// Return the chunks of the lines of a Markdown file whose front matter has been read.
///
/// Without `tags`, those of the front matter. Raises UnreadableSourceError if there is nothing to
/// make a chunk of, or if the fields repeated in every chunk come to more than `repeated_limit`
/// characters.
#[pyfunction]
#[pyo3(signature = (path, file, lines, front_matter, metadata, tags=None, aliases=vec![], repeated_limit=REPEATED_LIMIT))]
#[allow(clippy::too_many_arguments, reason = "a chunk has that many fields")]
pub fn _markdown_chunks(
    py: Python<'_>,
    path: &str,
    file: &str,
    lines: Vec<String>,
    front_matter: &PyFrontMatter,
    metadata: &Bound<'_, PyAny>,
    tags: Option<Vec<String>>,
    aliases: Vec<String>,
    repeated_limit: usize,
) -> PyResult<Vec<PyChunk>> {
    let metadata = argument("metadata").json_object(Some(metadata))?;
    let tags = tags.unwrap_or_else(|| front_matter.read.tags());
    let source = SourceFile { path, file };
    let chunks = errors::call_detached(py, || {
        let shared = SharedFields {
            metadata: &metadata,
            tags: &tags,
            aliases: &aliases,
            repeated_limit,
        };
        let lines = borrowed(&lines);
        Ok(markdown_chunks(&source, &lines, &front_matter.read, shared))
    })?;
    let chunks = chunks.map_err(|error| unreadable(py, &error))?;
    Ok(chunks.into_iter().map(PyChunk).collect())
}

/// Return a part of the text of a file: its text, its first and its last line, and the number of lines after it.
#[pyfunction]
pub fn _part_of(
    py: Python<'_>,
    text: Text,
    file: Text,
    section: Option<Text>,
    offset: usize,
    limit: Option<usize>,
    budget: Option<usize>,
) -> PyResult<(String, (usize, usize), usize)> {
    let wanted = Wanted {
        section: section.as_deref(),
        offset,
        limit,
        budget,
    };
    let part = errors::call_detached(py, || edit::part(&text, &file, wanted))?;
    Ok((part.text, part.lines, part.remaining))
}

/// Return the text of a file with another in a place: `content` of a section, `end`, `beginning`, or `once` in
/// the place of `old`.
#[pyfunction]
pub fn _edited(
    py: Python<'_>,
    text: Text,
    file: Text,
    section: Option<Text>,
    place: &str,
    new: Text,
    old: Option<Text>,
) -> PyResult<String> {
    let place = match (place, &old) {
        ("once", Some(old)) => Place::Of(old),
        ("content", _) => Place::Content,
        ("end", _) => Place::End,
        _ => Place::Beginning,
    };
    let section = section.as_deref();
    errors::call_detached(py, || edit::edited(&text, &file, section, place, &new))
}

/// Write a value as JSON on one line that YAML reads as the same value.
#[pyfunction]
pub fn _yaml_value(value: &Bound<'_, PyAny>) -> PyResult<String> {
    Ok(edit::yaml_value(&json("value", value)?))
}

pub(crate) fn json(name: &str, value: &Bound<'_, PyAny>) -> PyResult<Value> {
    let fields = PyDict::new(value.py());
    fields.set_item(name, value)?;
    let mut fields = argument("fields").json_object(Some(&fields))?;
    Ok(fields.remove(name).unwrap_or_default())
}

fn json_list(name: &str, values: &Bound<'_, PyAny>) -> PyResult<Vec<Value>> {
    match json(name, values)? {
        Value::Array(values) => Ok(values),
        _ => Err(argument(name).wrong("must be a list", values)),
    }
}

/// Write front matter with its fences, one key a line.
#[pyfunction]
pub fn _render_front_matter(fields: &Bound<'_, PyAny>) -> PyResult<String> {
    let fields = argument("fields").json_object(Some(fields))?;
    Ok(edit::render_front_matter(&fields))
}

/// A change of a list: its key, the items to append, the test of those to drop, and whether a list without
/// items is removed.
type ListParts<'py> = (String, Bound<'py, PyAny>, Option<Bound<'py, PyAny>>, bool);

/// Return a text with its front matter changed: lists, fields that are set, and fields that are removed.
///
/// All other characters stay. Raises HedgerowError, with the code `invalid_front_matter` and the reason as its
/// message, if the change has to be made by hand.
#[pyfunction]
pub fn _changed_front_matter(
    py: Python<'_>,
    text: Text,
    lists: Vec<ListParts<'_>>,
    fields: &Bound<'_, PyAny>,
    removed: Vec<String>,
) -> PyResult<String> {
    let failure = &RefCell::new(None);
    let drops: Vec<_> = lists
        .iter()
        .map(|(_, _, drop, _)| {
            move |item: &Value| {
                let dropped = drop.as_ref().map_or(Ok(false), |drop| {
                    drop.call1((json::value(py, item)?,))?.is_truthy()
                });
                dropped.unwrap_or_else(|error| {
                    failure.replace(Some(error));
                    false
                })
            }
        })
        .collect();
    let lists = lists
        .iter()
        .zip(&drops)
        .map(|((key, add, _, removes_empty), drops)| {
            Ok(ListChange {
                key: key.clone(),
                add: json_list("items", add)?,
                drops,
                removes_empty: *removes_empty,
            })
        });
    let changes = Changes {
        lists: lists.collect::<PyResult<_>>()?,
        fields: argument("fields").json_object(Some(fields))?,
        removed,
    };
    let new = read(|| edit::changed(&text, changes))?;
    match failure.take() {
        Some(error) => Err(error),
        None => new.map_err(|error| not_changed(py, &error)),
    }
}

/// Cut a Markdown text into its blocks. Joined by newlines they are the text.
#[pyfunction]
pub fn _structures(text: &str) -> PyResult<Vec<String>> {
    read(|| format::structures(text))
}

/// Return the tags in a Markdown text, in order, each once; none in code or links.
#[pyfunction]
pub fn _inline_tags(text: &str) -> PyResult<Vec<String>> {
    read(|| format::inline_tags(text))
}

/// Return the links of a Markdown text, in order: each target, and whether it is a path. With `has_named_paths`
/// all are names, as in a vault of Obsidian.
#[pyfunction]
#[pyo3(signature = (text, *, has_named_paths=false))]
pub fn _links_in_text(text: &str, has_named_paths: bool) -> PyResult<Vec<(String, bool)>> {
    let links = read(|| format::links_in_text(text, has_named_paths))?;
    Ok(links
        .into_iter()
        .map(|link| (link.target, link.is_path))
        .collect())
}

/// The start, the end, the target of a link, and whether it is a path.
type Position = (usize, usize, String, bool);

/// Return the positions of the links of a Markdown text in bytes of UTF-8, and the paths in its HTML.
#[pyfunction]
pub fn _link_positions(text: &str) -> PyResult<(Vec<Position>, Vec<String>)> {
    let found = read(|| format::link_positions(text))?;
    let positions = found.links.into_iter();
    let positions = positions.map(|one| (one.start, one.end, one.target, one.is_path));
    Ok((positions.collect(), found.html_paths))
}

/// Return the folded name and the text of each level-2 section, in order.
#[pyfunction]
pub fn _level_two_sections(text: &str) -> PyResult<Vec<(String, String)>> {
    read(|| format::level_two_sections(text))
}

/// Return a text in which each level-2 heading with one of the names, in any form, is written `## Name`.
#[pyfunction]
pub fn _with_section_names(text: &str, names: Vec<String>) -> PyResult<String> {
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    read(|| format::with_section_names(text, &names))
}

/// Return the text of the first level-1 heading, or an empty text.
#[pyfunction]
pub fn _first_heading(text: &str) -> &str {
    format::first_heading(text)
}

/// Return the first sentence of the first paragraph of a text.
#[pyfunction]
pub fn _first_sentence(text: &str) -> String {
    format::first_sentence(text)
}

/// Cut a text at a space so that it has at most `limit` characters, ellipsis included.
#[pyfunction]
pub fn _shorten(text: &str, limit: usize) -> String {
    format::shorten(text, limit)
}
