//! `Filters`: which chunks a search considers.

use hedgerow_engine::ErrorCode;
use hedgerow_engine::chunks::{Filters, Period, Where};
use hedgerow_engine::text::suggest::nearest;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyMapping, PyString, PyTuple, PyType};
use serde_json::Map;

use crate::errors;
use crate::json;
use crate::value::{self, Argument};

/// The key that `after` and `before` compare by default.
const DATE_KEY: &str = "date";

/// Conditions that a chunk must meet to be searched at all (spec/filters.md).
///
/// `paths`: the path is one of these. `path_prefix`: the path begins with this text, to the letter.
/// `tags`: the chunk has all of them. `metadata`: the chunk has all of these keys, each with this
/// JSON value (1 equals 1.0, true does not equal 1, null is not the same as no key). `where`:
/// conditions with operators, such as `{"year": {"$gte": 2024}, "tags": {"$in": ["a", "b"]}}`.
/// `after` and `before`, each a date, a datetime or a text in ISO 8601: the date in its metadata
/// under `date_key` is `after` or later, and earlier than `before`. Omitted or empty arguments are
/// not conditions. A mapping is accepted in its place: these names are arguments in it, and all
/// other keys are conditions of `where`.
///
/// Raises InvalidInputError for values of another shape and for unknown operators.
#[pyclass(name = "Filters", module = "hedgerow", frozen, eq)]
#[derive(Clone, PartialEq)]
pub struct PyFilters {
    filters: Filters,
    date_key: String,
}

impl From<Filters> for PyFilters {
    fn from(filters: Filters) -> Self {
        let period = filters.period.as_ref();
        Self {
            date_key: period.map_or(DATE_KEY, Period::key).to_owned(),
            filters,
        }
    }
}

type FilterArguments<'py> = (
    Bound<'py, PyTuple>,
    Option<String>,
    Bound<'py, PyTuple>,
    Bound<'py, PyDict>,
    Bound<'py, PyDict>,
    Option<String>,
    Option<String>,
    String,
);

#[pymethods]
impl PyFilters {
    #[new]
    #[pyo3(
        signature = (paths=None, path_prefix=None, tags=None, metadata=None, r#where=None, after=None, before=None, date_key=None),
        text_signature = "(paths=(), path_prefix=None, tags=(), metadata={}, where={}, after=None, before=None, date_key='date')"
    )]
    #[allow(clippy::too_many_arguments, reason = "keyword arguments in Python")]
    fn new(
        paths: Option<&Bound<'_, PyAny>>,
        path_prefix: Option<&Bound<'_, PyAny>>,
        tags: Option<&Bound<'_, PyAny>>,
        metadata: Option<&Bound<'_, PyAny>>,
        r#where: Option<&Bound<'_, PyAny>>,
        after: Option<&Bound<'_, PyAny>>,
        before: Option<&Bound<'_, PyAny>>,
        date_key: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Self> {
        let texts = |name, given: Option<&Bound<'_, PyAny>>| {
            given.map_or_else(|| Ok(Vec::new()), |given| field(name).texts(given))
        };
        let date = |name, given: Option<&Bound<'_, PyAny>>| {
            given.map(|given| field(name).date(given)).transpose()
        };
        let wanted =
            r#where.map_or_else(|| Ok(Map::new()), |given| field("where").conditions(given))?;
        let date_key = date_key.map_or_else(
            || Ok(DATE_KEY.to_owned()),
            |key| field("date_key").text(key),
        )?;
        let (after, before) = (date("after", after)?, date("before", before)?);
        Ok(Self {
            filters: Filters {
                paths: texts("paths", paths)?,
                path_prefix: path_prefix
                    .map(|prefix| field("path_prefix").text(prefix))
                    .transpose()?,
                tags: texts("tags", tags)?,
                metadata: field("metadata").json_object(metadata)?,
                wanted: errors::call(|| Where::new("where", wanted))?,
                period: errors::call(|| Period::new(&date_key, after, before))?,
            },
            date_key,
        })
    }

    /// The paths, as a tuple of str.
    #[getter]
    fn paths<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        PyTuple::new(py, &self.filters.paths)
    }

    /// The prefix of paths, or None.
    #[getter]
    fn path_prefix(&self) -> Option<&str> {
        self.filters.path_prefix.as_deref()
    }

    /// The tags, as a tuple of str.
    #[getter]
    fn tags<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        PyTuple::new(py, &self.filters.tags)
    }

    /// The metadata, as a new dict.
    #[getter]
    fn metadata<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        json::dict(py, &self.filters.metadata)
    }

    /// The conditions with operators, as a new dict; a date in it is `{"$date": text}`.
    #[getter]
    fn r#where<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        match &self.filters.wanted {
            Some(wanted) => json::dict(py, wanted.source()),
            None => Ok(PyDict::new(py)),
        }
    }

    /// The first date that passes, as ISO 8601, or None.
    #[getter]
    fn after(&self) -> Option<&str> {
        self.filters.period.as_ref()?.after()
    }

    /// The exclusive upper bound of dates, as ISO 8601, or None.
    #[getter]
    fn before(&self) -> Option<&str> {
        self.filters.period.as_ref()?.before()
    }

    /// The key that has the date.
    #[getter]
    fn date_key(&self) -> &str {
        &self.date_key
    }

    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        let mut shown = vec![
            format!("paths={}", self.paths(py)?.repr()?),
            format!(
                "path_prefix={}",
                self.path_prefix().into_pyobject(py)?.repr()?
            ),
            format!("tags={}", self.tags(py)?.repr()?),
            format!("metadata={}", self.metadata(py)?.repr()?),
        ];
        if self.filters.wanted.is_some() {
            shown.push(format!("where={}", self.r#where(py)?.repr()?));
        }
        let date_key = Some(self.date_key.as_str()).filter(|key| *key != DATE_KEY);
        let texts = [
            ("after", self.after()),
            ("before", self.before()),
            ("date_key", date_key),
        ];
        for (name, text) in texts {
            if let Some(text) = text {
                shown.push(format!("{name}={}", PyString::new(py, text).repr()?));
            }
        }
        Ok(format!("Filters({})", shown.join(", ")))
    }

    fn __reduce__<'py>(
        slf: &Bound<'py, Self>,
    ) -> PyResult<(Bound<'py, PyType>, FilterArguments<'py>)> {
        let (py, filters) = (slf.py(), slf.get());
        let arguments = (
            filters.paths(py)?,
            filters.filters.path_prefix.clone(),
            filters.tags(py)?,
            filters.metadata(py)?,
            filters.r#where(py)?,
            filters.after().map(str::to_owned),
            filters.before().map(str::to_owned),
            filters.date_key.clone(),
        );
        Ok((slf.get_type(), arguments))
    }
}

fn field(name: &str) -> Argument<'_> {
    Argument {
        name,
        code: ErrorCode::InvalidFilter,
    }
}

/// `Filters`, or a mapping that is converted for this one call.
pub struct FiltersLike(pub Filters);

impl<'py> FromPyObject<'_, 'py> for FiltersLike {
    type Error = PyErr;

    fn extract(object: Borrowed<'_, 'py, PyAny>) -> PyResult<Self> {
        if let Ok(filters) = object.cast::<PyFilters>() {
            return Ok(Self(filters.get().filters.clone()));
        }
        let Ok(mapping) = object.cast::<PyMapping>() else {
            return Err(field("filters").wrong("must be Filters or a mapping", &object));
        };
        let mut given: [Option<Bound<'_, PyAny>>; ARGUMENTS.len()] =
            [const { None }; ARGUMENTS.len()];
        let conditions = PyDict::new(object.py());
        for item in mapping.items()? {
            let (key, value): (Bound<'_, PyAny>, Bound<'_, PyAny>) = item.extract()?;
            if !key.is_instance_of::<PyString>() {
                let key = value::repr(&key);
                return Err(field("filters").error(&format!(
                    "has no key {key}; the keys are str: names of metadata, of operators and of the \
                     arguments of Filters"
                )));
            }
            if let Some(position) = argument(&key, &value) {
                given[position] = Some(value).filter(|value| !value.is_none());
            } else {
                refuse_misspelled(&key)?;
                conditions.set_item(key, value)?;
            }
        }
        let mut filters = {
            let [
                paths,
                path_prefix,
                tags,
                metadata,
                r#where,
                after,
                before,
                date_key,
            ] = given.each_ref().map(Option::as_ref);
            PyFilters::new(
                paths,
                path_prefix,
                tags,
                metadata,
                r#where,
                after,
                before,
                date_key,
            )?
            .filters
        };
        let conditions = field("filters").conditions(&conditions)?;
        let more = errors::call(|| Where::new("filters", conditions))?;
        filters.wanted = match (filters.wanted, more) {
            (Some(wanted), Some(more)) => Some(wanted.and(&more)),
            (wanted, more) => wanted.or(more),
        };
        Ok(Self(filters))
    }
}

/// The arguments of Filters, which mean the same in a mapping.
const ARGUMENTS: [&str; 8] = [
    "paths",
    "path_prefix",
    "tags",
    "metadata",
    "where",
    "after",
    "before",
    "date_key",
];

/// Refuse a name that is nearly one of the longer arguments: it is hardly a key of metadata.
fn refuse_misspelled(key: &Bound<'_, PyAny>) -> PyResult<()> {
    const LONG: [&str; 3] = ["path_prefix", "metadata", "date_key"];
    let Ok(key) = key.extract::<&str>() else {
        return Ok(());
    };
    let meant = nearest(key, LONG).filter(|meant| !key.contains('.') && !meant.starts_with(key));
    match meant {
        Some(meant) => Err(field("filters").error(&format!(
            "has no key {key:?}; did you mean {meant:?}? For a key of the metadata write \
             \"metadata.{key}\""
        ))),
        None => Ok(()),
    }
}

/// Return the argument that an item of a mapping sets; None for a condition, such as tags with
/// operators.
fn argument(key: &Bound<'_, PyAny>, value: &Bound<'_, PyAny>) -> Option<usize> {
    let key: &str = key.extract().ok()?;
    let position = ARGUMENTS.iter().position(|known| *known == key)?;
    (key != "tags" || value.cast::<PyMapping>().is_err()).then_some(position)
}
