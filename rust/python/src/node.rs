//! `Node`: a memory, as a store keeps it.

use std::time::{SystemTime, UNIX_EPOCH};

use hedgerow_engine::ErrorCode;
use hedgerow_graph::graph::{Category, Node, Outcome};
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyInt, PyType};

use crate::errors;
use crate::name;
use crate::text::Text;
use crate::value::{self, Argument};
use crate::vector;

/// A memory (spec/pipeline.md, "Nodes").
///
/// `key` names it in a store, 1 to 512 characters. `type` is "episodic", "daily", "weekly",
/// "monthly" or "semantic", or one that is registered in the store; `category` is "core",
/// "general", "technical", "observation" or "task". `weight` is from 0 to 1, `emotion` from 0 to
/// 10; `provenance` is any text. `updated_at`, `created_at` and `last_replayed` are Unix seconds, a
/// datetime or a date: None for when the node is stored, 0 for never replayed. `replay_interval` is
/// days, at least 1. `embedding` is as in a Chunk. Immutable.
///
/// Raises InvalidInputError for a value that cannot be stored.
#[pyclass(name = "Node", module = "hedgerow", frozen, eq)]
#[derive(Clone, PartialEq)]
pub struct PyNode(pub Node);

type NodeArguments<'py> = (
    String,
    String,
    String,
    f64,
    &'static str,
    f64,
    String,
    Option<i64>,
    Option<i64>,
    i64,
    u32,
    Option<Bound<'py, PyAny>>,
);

#[pymethods]
impl PyNode {
    #[new]
    #[pyo3(
        signature = (key, r#type=None, content=None, weight=None, category=None, emotion=None, provenance=None, updated_at=None, created_at=None, last_replayed=None, replay_interval=None, embedding=None),
        text_signature = "(key, type='semantic', content='', weight=0.7, category='general', emotion=0, provenance='manual', updated_at=None, created_at=None, last_replayed=0, replay_interval=1, embedding=None)"
    )]
    #[allow(clippy::too_many_arguments, reason = "a node has that many fields")]
    fn new(
        key: &Bound<'_, PyAny>,
        r#type: Option<&Bound<'_, PyAny>>,
        content: Option<&Bound<'_, PyAny>>,
        weight: Option<&Bound<'_, PyAny>>,
        category: Option<&Bound<'_, PyAny>>,
        emotion: Option<&Bound<'_, PyAny>>,
        provenance: Option<&Bound<'_, PyAny>>,
        updated_at: Option<&Bound<'_, PyAny>>,
        created_at: Option<&Bound<'_, PyAny>>,
        last_replayed: Option<&Bound<'_, PyAny>>,
        replay_interval: Option<&Bound<'_, PyAny>>,
        embedding: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Self> {
        let mut node = Node {
            key: field("key").text(key)?,
            ..Node::default()
        };
        if let Some(name) = r#type {
            node.kind = field("type").text(name)?;
        }
        if let Some(name) = category {
            let words: Vec<&str> = Category::ALL.iter().map(|c| c.as_str()).collect();
            node.category = word(name, "category", Category::from_name, &words)?;
        }
        if let Some(content) = content {
            node.content = field("content").text(content)?;
        }
        if let Some(weight) = weight {
            node.weight = field("weight").number(weight)?;
        }
        if let Some(emotion) = emotion {
            node.emotion = field("emotion").number(emotion)?;
        }
        if let Some(provenance) = provenance {
            node.provenance = field("provenance").text(provenance)?;
        }
        node.updated_at = updated_at
            .map(|at| seconds(at, field("updated_at")))
            .transpose()?;
        node.created_at = created_at
            .map(|at| seconds(at, field("created_at")))
            .transpose()?;
        if let Some(at) = last_replayed {
            node.last_replayed = seconds(at, field("last_replayed"))?;
        }
        if let Some(days) = replay_interval {
            node.replay_interval = interval(days)?;
        }
        node.embedding = embedding
            .map(|embedding| vector::vector(embedding, field("embedding")))
            .transpose()?;
        errors::call(|| node.check())?;
        Ok(Self(node))
    }

    /// The name of the node in a store.
    #[getter]
    fn key(&self) -> &str {
        &self.0.key
    }

    /// The type of the memory.
    #[getter]
    fn r#type(&self) -> &str {
        &self.0.kind
    }

    /// The text.
    #[getter]
    fn content(&self) -> &str {
        &self.0.content
    }

    /// The weight, from 0 to 1.
    #[getter]
    fn weight(&self) -> f64 {
        self.0.weight
    }

    /// The category.
    #[getter]
    fn category(&self) -> &'static str {
        self.0.category.as_str()
    }

    /// How much emotion it had, from 0 to 10.
    #[getter]
    fn emotion(&self) -> f64 {
        self.0.emotion
    }

    /// Where it comes from.
    #[getter]
    fn provenance(&self) -> &str {
        &self.0.provenance
    }

    /// When it was last changed, in Unix seconds; None for when it is stored.
    #[getter]
    fn updated_at(&self) -> Option<i64> {
        self.0.updated_at
    }

    /// When it was made, in Unix seconds; None for when it was updated, if it is new.
    #[getter]
    fn created_at(&self) -> Option<i64> {
        self.0.created_at
    }

    /// When it was last replayed, in Unix seconds; 0 for never.
    #[getter]
    fn last_replayed(&self) -> i64 {
        self.0.last_replayed
    }

    /// The days after which it is due to be replayed.
    #[getter]
    fn replay_interval(&self) -> u32 {
        self.0.replay_interval
    }

    /// The vector, as a new array.array of float32; None without a vector.
    #[getter]
    fn embedding<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyAny>>> {
        let embedding = self.0.embedding.as_ref();
        embedding
            .map(|vector| vector::array(py, vector))
            .transpose()
    }

    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        Ok(format!(
            "Node(key={}, type='{}', content={}, weight={}, category='{}')",
            value::shown(py, &self.0.key)?,
            self.r#type(),
            value::shown(py, &self.0.content)?,
            self.0.weight.into_pyobject(py)?.repr()?,
            self.category(),
        ))
    }

    fn __reduce__<'py>(
        slf: &Bound<'py, Self>,
    ) -> PyResult<(Bound<'py, PyType>, NodeArguments<'py>)> {
        let node = slf.get();
        let arguments = (
            node.0.key.clone(),
            node.0.kind.clone(),
            node.0.content.clone(),
            node.0.weight,
            node.category(),
            node.0.emotion,
            node.0.provenance.clone(),
            node.0.updated_at,
            node.0.created_at,
            node.0.last_replayed,
            node.0.replay_interval,
            node.embedding(slf.py())?,
        );
        Ok((slf.get_type(), arguments))
    }
}

/// A field of a node that is being checked.
fn field(name: &str) -> Argument<'_> {
    Argument {
        name,
        code: ErrorCode::InvalidNode,
    }
}

fn word<T>(
    object: &Bound<'_, PyAny>,
    name: &str,
    from_name: impl Fn(&str) -> Option<T>,
    words: &[&str],
) -> PyResult<T> {
    let text = field(name).text(object)?;
    from_name(&text).ok_or_else(|| {
        field(name).error(&format!(
            "must be one of {}, not {text:?}",
            words.join(", ")
        ))
    })
}

/// The Unix seconds of a time: an int, or a datetime or date, which the standard library converts.
pub fn seconds(object: &Bound<'_, PyAny>, argument: Argument<'_>) -> PyResult<i64> {
    let is_int = object.is_instance_of::<PyInt>() && !object.is_instance_of::<PyBool>();
    if is_int && let Ok(seconds) = object.extract() {
        return Ok(seconds);
    }
    if is_int {
        return Err(argument.error("is an int of more than 64 bits; give Unix seconds"));
    }
    let times = object.py().import("hedgerow._times")?;
    let seconds: Option<i64> = times.getattr("seconds_of")?.call1((object,))?.extract()?;
    let wanted = "must be an int of Unix seconds, a datetime or a date";
    seconds.ok_or_else(|| argument.wrong(wanted, object))
}

fn interval(object: &Bound<'_, PyAny>) -> PyResult<u32> {
    let field = field("replay_interval");
    if object.is_instance_of::<PyBool>() {
        return Err(field.wrong("must be an int of days from 1", object));
    }
    object.extract().map_err(|_| {
        if object.is_instance_of::<PyInt>() {
            let given = value::repr(object);
            field.error(&format!("must be from 1 to {} days, not {given}", u32::MAX))
        } else {
            field.wrong("must be an int of days from 1", object)
        }
    })
}

/// The nodes of any iterable.
pub fn nodes(object: &Bound<'_, PyAny>) -> PyResult<Vec<Py<PyNode>>> {
    let Ok(items) = object.try_iter() else {
        return Err(field("nodes").wrong("must be an iterable of Node", object));
    };
    items
        .enumerate()
        .map(|(position, item)| {
            let item = item?;
            match item.cast::<PyNode>() {
                Ok(node) => Ok(node.clone().unbind()),
                Err(_) => Err(field(&format!("nodes[{position}]")).wrong("must be a Node", &item)),
            }
        })
        .collect()
}

/// Return the approximate bytes of nodes in the file.
pub fn bytes(nodes: &[Py<PyNode>]) -> usize {
    nodes.iter().map(bytes_of).sum()
}

/// Return the approximate bytes of a node in the file.
pub fn bytes_of(node: &Py<PyNode>) -> usize {
    let node = &node.get().0;
    let vector = node.embedding.as_ref().map_or(0, |vector| 4 * vector.len());
    errors::ITEM + node.content.len() + vector
}

/// How a visit ended.
pub fn outcome_of(name: Option<&Text>) -> PyResult<Outcome> {
    let parse = |name: &Text| errors::call(|| Outcome::from_option("outcome", name));
    name.map_or_else(|| Ok(Outcome::default()), parse)
}

/// The relation of an edge, "link" by default.
pub fn relation(given: Option<&Text<name::Rel>>) -> String {
    given.map_or_else(|| "link".to_owned(), |given| given.to_string())
}

/// An argument that is a time.
pub fn time(name: &str) -> Argument<'_> {
    Argument {
        name,
        code: ErrorCode::InvalidNumber,
    }
}

/// The time of the system clock, which the engine does not read.
pub fn now() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    since.map_or(0, |since| {
        i64::try_from(since.as_secs()).unwrap_or(i64::MAX)
    })
}
