//! `Filters`: which chunks a search considers.

use hedgerow_engine::ErrorCode;
use hedgerow_engine::chunks::Filters;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyMapping, PyTuple, PyType};

use crate::value::{self, Argument};

/// Conditions that a chunk must meet to be searched at all (spec/index.md, "Filters").
///
/// `paths`: its path is one of these. `path_prefix`: its path begins with this text, to the
/// letter. `tags`: it has all of them. `metadata`: it has all of these keys, each with this
/// JSON value (1 equals 1.0, true does not equal 1, null is not the same as no key). What is
/// left out, or empty, is no condition. A mapping with these keys is accepted in its place.
///
/// Raises InvalidInputError for values of another shape.
#[pyclass(name = "Filters", module = "hedgerow", frozen, eq)]
#[derive(Clone, PartialEq)]
pub struct PyFilters(Filters);

type FilterArguments<'py> = (
    Bound<'py, PyTuple>,
    Option<String>,
    Bound<'py, PyTuple>,
    Bound<'py, PyDict>,
);

#[pymethods]
impl PyFilters {
    #[new]
    #[pyo3(
        signature = (paths=None, path_prefix=None, tags=None, metadata=None),
        text_signature = "(paths=(), path_prefix=None, tags=(), metadata={})"
    )]
    fn new(
        paths: Option<&Bound<'_, PyAny>>,
        path_prefix: Option<&Bound<'_, PyAny>>,
        tags: Option<&Bound<'_, PyAny>>,
        metadata: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Self> {
        let texts = |name, given: Option<&Bound<'_, PyAny>>| {
            given.map_or_else(|| Ok(Vec::new()), |given| field(name).texts(given))
        };
        Ok(Self(Filters {
            paths: texts("paths", paths)?,
            path_prefix: path_prefix
                .map(|prefix| field("path_prefix").text(prefix))
                .transpose()?,
            tags: texts("tags", tags)?,
            metadata: field("metadata").json_object(metadata)?,
        }))
    }

    /// The paths, as a tuple of str.
    #[getter]
    fn paths<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        PyTuple::new(py, &self.0.paths)
    }

    /// What paths begin with, or None.
    #[getter]
    fn path_prefix(&self) -> Option<&str> {
        self.0.path_prefix.as_deref()
    }

    /// The tags, as a tuple of str.
    #[getter]
    fn tags<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        PyTuple::new(py, &self.0.tags)
    }

    /// The metadata, as a new dict.
    #[getter]
    fn metadata<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        value::dict(py, &self.0.metadata)
    }

    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        Ok(format!(
            "Filters(paths={}, path_prefix={}, tags={}, metadata={})",
            self.paths(py)?.repr()?,
            self.path_prefix().into_pyobject(py)?.repr()?,
            self.tags(py)?.repr()?,
            self.metadata(py)?.repr()?,
        ))
    }

    fn __reduce__<'py>(
        slf: &Bound<'py, Self>,
    ) -> PyResult<(Bound<'py, PyType>, FilterArguments<'py>)> {
        let (py, filters) = (slf.py(), slf.get());
        let arguments = (
            filters.paths(py)?,
            filters.0.path_prefix.clone(),
            filters.tags(py)?,
            filters.metadata(py)?,
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
            return Ok(Self(filters.get().0.clone()));
        }
        let Ok(mapping) = object.cast::<PyMapping>() else {
            return Err(field("filters").wrong("must be Filters or a mapping", &object));
        };
        let mut given: [Option<Bound<'_, PyAny>>; 4] = [const { None }; 4];
        for item in mapping.items()? {
            let (key, value): (Bound<'_, PyAny>, Bound<'_, PyAny>) = item.extract()?;
            let Some(position) = position(&key) else {
                let key = value::repr(&key);
                return Err(field("filters").error(&format!(
                    "has no key {key}; the keys are 'paths', 'path_prefix', 'tags' and 'metadata'"
                )));
            };
            given[position] = Some(value).filter(|value| !value.is_none());
        }
        let [paths, path_prefix, tags, metadata] = given.each_ref().map(Option::as_ref);
        PyFilters::new(paths, path_prefix, tags, metadata).map(|filters| Self(filters.0))
    }
}

fn position(key: &Bound<'_, PyAny>) -> Option<usize> {
    const KEYS: [&str; 4] = ["paths", "path_prefix", "tags", "metadata"];
    let key: &str = key.extract().ok()?;
    KEYS.iter().position(|known| *known == key)
}
