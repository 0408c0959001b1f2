//! Recall of a memory root: the facts of files, and the recall itself.

use hedgerow_engine::ErrorCode;
use hedgerow_memory::facts::{Memory, facts_of};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::text::Text;
use crate::value::{self, Argument};

/// The facts of a memory, as the ledger notes them. `links` has the targets of the links under each mark
/// that names other memories, `tags` the tags of its chunks.
#[pyfunction]
pub fn _facts_of<'py>(
    py: Python<'py>,
    path: Text,
    title: Text,
    aliases: Vec<Text>,
    tags: Vec<Text>,
    metadata: &Bound<'py, PyDict>,
    links: Vec<(Text, Vec<Text>)>,
) -> PyResult<Bound<'py, PyDict>> {
    let texts = |texts: &[Text]| texts.iter().map(|text| text.to_string()).collect();
    let argument = Argument {
        name: "metadata",
        code: ErrorCode::InvalidChunk,
    };
    let metadata = argument.json_object(Some(metadata))?;
    let (aliases, tags): (Vec<String>, Vec<String>) = (texts(&aliases), texts(&tags));
    let links: Vec<(&str, Vec<String>)> = links
        .iter()
        .map(|(key, targets)| (&**key, texts(targets)))
        .collect();
    let facts = facts_of(&Memory {
        path: &path,
        title: &title,
        aliases: &aliases,
        tags: &tags,
        metadata: &metadata,
        links: &links,
    });
    value::dict(py, &facts)
}
