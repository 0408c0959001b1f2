//! JSON as Python objects.

use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDict, PyList, PyString};
use serde_json::{Map, Value};

/// A JSON object as a new `dict`.
pub fn dict<'py>(py: Python<'py>, map: &Map<String, Value>) -> PyResult<Bound<'py, PyDict>> {
    let dict = PyDict::new(py);
    for (key, value) in map {
        dict.set_item(key, self::value(py, value)?)?;
    }
    Ok(dict)
}

/// A JSON value as a Python object.
pub fn value<'py>(py: Python<'py>, value: &Value) -> PyResult<Bound<'py, PyAny>> {
    Ok(match value {
        Value::Null => py.None().into_bound(py),
        Value::Bool(value) => PyBool::new(py, *value).to_owned().into_any(),
        Value::String(text) => PyString::new(py, text).into_any(),
        Value::Number(number) => match (number.as_i64(), number.as_u64(), number.as_f64()) {
            (Some(number), _, _) => number.into_pyobject(py)?.into_any(),
            (_, Some(number), _) => number.into_pyobject(py)?.into_any(),
            (_, _, number) => number.into_pyobject(py)?.into_any(),
        },
        Value::Array(values) => {
            let values = values.iter().map(|one| self::value(py, one));
            PyList::new(py, values.collect::<PyResult<Vec<_>>>()?)?.into_any()
        }
        Value::Object(map) => dict(py, map)?.into_any(),
    })
}
