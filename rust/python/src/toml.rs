//! TOML texts with positions, for configurations that people write.

use hedgerow_memory::edit::{self, Position, Step, TomlText};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};
use toml_edit::{Item, TableLike, Value};

use crate::text::Text;

/// The line and the column of a position, both from 1.
type LineAndColumn = (usize, usize);

/// A key of a table, or an index of an array.
#[derive(FromPyObject)]
enum PyStep {
    Index(usize),
    Key(String),
}

/// A parsed TOML text. Raises ValueError(message, line, column) for another text.
#[pyclass(name = "_TomlText", module = "hedgerow._engine", frozen)]
pub struct PyTomlText(TomlText);

#[pymethods]
impl PyTomlText {
    #[new]
    fn new(text: Text) -> PyResult<Self> {
        TomlText::parse(text.copied()?).map(Self).map_err(|error| {
            let (line, column) = edit::line_and_column(&text, error.offset);
            PyValueError::new_err((error.message, line, column))
        })
    }

    /// Return the tables and values. A date or a time is None.
    fn values<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        table(py, self.0.root())
    }

    /// Return the position of a key; None if the text has no such key.
    fn key(&self, path: Vec<PyStep>) -> Option<LineAndColumn> {
        Some(self.0.line_and_column(self.position(path)?.key))
    }

    /// Return the position of a value, or of a character of a string; None if the text has no such
    /// value.
    #[pyo3(signature = (path, character = None))]
    fn value(&self, path: Vec<PyStep>, character: Option<usize>) -> Option<LineAndColumn> {
        let value = self.position(path)?.value;
        let offset = character.map_or(value, |index| self.0.character(value, index));
        Some(self.0.line_and_column(offset))
    }
}

impl PyTomlText {
    fn position(&self, path: Vec<PyStep>) -> Option<Position> {
        let steps = path.into_iter().map(|step| match step {
            PyStep::Index(index) => Step::Index(index),
            PyStep::Key(name) => Step::Key(name),
        });
        self.0.position(&steps.collect::<Vec<_>>())
    }
}

/// Return a TOML text without a table; None if it has no such table.
#[pyfunction]
pub fn _toml_without(text: Text, path: Vec<String>) -> Option<String> {
    edit::without_table(&text, &path)
}

fn table<'py>(py: Python<'py>, of: &dyn TableLike) -> PyResult<Bound<'py, PyAny>> {
    let found = PyDict::new(py);
    for (key, item) in of.iter() {
        let item = match item {
            Item::Value(one) => value(py, one)?,
            Item::Table(one) => table(py, one)?,
            Item::ArrayOfTables(tables) => list(py, tables.iter().map(|one| table(py, one)))?,
            Item::None => continue,
        };
        found.set_item(key, item)?;
    }
    Ok(found.into_any())
}

fn value<'py>(py: Python<'py>, of: &Value) -> PyResult<Bound<'py, PyAny>> {
    Ok(match of {
        Value::String(text) => text.value().into_pyobject(py)?.into_any(),
        Value::Integer(number) => number.value().into_pyobject(py)?.into_any(),
        Value::Float(number) => number.value().into_pyobject(py)?.into_any(),
        Value::Boolean(flag) => flag.value().into_pyobject(py)?.to_owned().into_any(),
        Value::Datetime(_) => py.None().into_bound(py),
        Value::Array(items) => list(py, items.iter().map(|one| value(py, one)))?,
        Value::InlineTable(one) => table(py, one)?,
    })
}

fn list<'py>(
    py: Python<'py>,
    items: impl Iterator<Item = PyResult<Bound<'py, PyAny>>>,
) -> PyResult<Bound<'py, PyAny>> {
    Ok(PyList::new(py, items.collect::<PyResult<Vec<_>>>()?)?.into_any())
}
