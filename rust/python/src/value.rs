//! Checking values from Python: texts, sequences of texts, numbers and JSON.

use std::fmt::{self, Display, Formatter};
use std::marker::PhantomData;
use std::path::PathBuf;

use hedgerow_engine::ErrorCode;
use pyo3::exceptions::{PyOverflowError, PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyFloat, PyInt, PyList, PyMapping, PySequence, PyString, PyTuple};
use serde_json::{Map, Number, Value};

use crate::errors;
use crate::name::Name;
use crate::text::Text;

/// The deepest nesting of JSON: less than the engine's limit.
const MAX_DEPTH: usize = 100;
/// The most values of JSON. A list that is in it twice counts twice, so that a few shared lists
/// cannot expand beyond memory.
const MAX_VALUES: usize = 1_000_000;

/// An argument that is being checked: its name, and the code of its errors.
#[derive(Clone, Copy)]
pub struct Argument<'a> {
    pub name: &'a str,
    pub code: ErrorCode,
}

impl Argument<'_> {
    /// A `str` of valid Unicode.
    pub fn text(self, object: &Bound<'_, PyAny>) -> PyResult<String> {
        text(object, self.name, self.code)
    }

    /// A sequence of `str`, but not one `str`, which is a sequence of its characters.
    pub fn texts(self, object: &Bound<'_, PyAny>) -> PyResult<Vec<String>> {
        if object.cast::<PySequence>().is_err() {
            return Err(self.wrong("must be a list or tuple of str", object));
        }
        self.texts_of_any(object)
    }

    /// Any iterable of `str`, but not one `str`.
    pub fn texts_of_any(self, object: &Bound<'_, PyAny>) -> PyResult<Vec<String>> {
        if object.is_instance_of::<PyString>() {
            return Err(self.error("is one str; give a list of strings"));
        }
        let Ok(items) = object.try_iter() else {
            return Err(self.wrong("must be an iterable of str", object));
        };
        items
            .enumerate()
            .map(|(position, item)| text(&item?, &format!("{}[{position}]", self.name), self.code))
            .collect()
    }

    /// A mapping with `str` keys that is JSON throughout; None is an empty one.
    pub fn json_object(self, object: Option<&Bound<'_, PyAny>>) -> PyResult<Map<String, Value>> {
        let Some(object) = object.filter(|object| !object.is_none()) else {
            return Ok(Map::new());
        };
        let Ok(mapping) = object.cast::<PyMapping>() else {
            return Err(self.wrong("must be a mapping with str keys", object));
        };
        let mut reader = JsonReader {
            code: self.code,
            values: 0,
            dates: None,
        };
        reader.mapping(mapping, Path::Root(self.name), 0)
    }

    /// Like `object`, where a date becomes `{"$date": ...}`, as in filters.
    pub fn conditions(self, object: &Bound<'_, PyAny>) -> PyResult<Map<String, Value>> {
        let Ok(mapping) = object.cast::<PyMapping>() else {
            return Err(self.wrong("must be a mapping with str keys", object));
        };
        let mut reader = JsonReader {
            code: self.code,
            values: 0,
            dates: Some(date_type(object.py())?),
        };
        reader.mapping(mapping, Path::Root(self.name), 0)
    }

    /// A date in ISO 8601: a date, a datetime or a text.
    pub fn date(self, object: &Bound<'_, PyAny>) -> PyResult<String> {
        if object.is_instance(&date_type(object.py())?)? {
            return iso(object);
        }
        if object.is_instance_of::<PyString>() {
            return self.text(object);
        }
        Err(self.wrong(
            "must be a date, a datetime or a str such as \"2024-03-05\"",
            object,
        ))
    }

    /// Any real number, also an infinite one; an int that is too large for a float is infinite.
    pub fn real(self, object: &Bound<'_, PyAny>) -> PyResult<f64> {
        let wrong = || self.wrong("must be a number", object);
        if object.is_instance_of::<PyBool>() {
            return Err(wrong());
        }
        match object.extract::<f64>() {
            Ok(number) => Ok(number),
            Err(error) if error.is_instance_of::<PyOverflowError>(object.py()) => {
                Ok(if object.lt(0)? {
                    f64::NEG_INFINITY
                } else {
                    f64::INFINITY
                })
            }
            Err(_) => Err(wrong()),
        }
    }

    /// A real number that can be compared.
    pub fn number(self, object: &Bound<'_, PyAny>) -> PyResult<f64> {
        let number = self.real(object)?;
        if number.is_nan() {
            return Err(self.error("is not a number (nan), which has no place in an order"));
        }
        Ok(number)
    }

    /// A position in a ranking, from 0.
    pub fn rank(self, object: &Bound<'_, PyAny>) -> PyResult<usize> {
        let rank: Option<usize> = object.extract().ok();
        rank.filter(|_| !object.is_instance_of::<PyBool>())
            .ok_or_else(|| self.error("must be an int from 0"))
    }

    /// The number of a chunk among those of its path.
    pub fn ordinal(self, object: &Bound<'_, PyAny>) -> PyResult<i64> {
        let ordinal: Option<i64> = object.extract().ok();
        ordinal
            .filter(|ordinal| *ordinal >= 0)
            .ok_or_else(|| self.error("must be an int from 0 to 2**63 - 1"))
    }

    /// The error that this argument is of another type.
    pub fn wrong(self, wanted: &str, given: &Bound<'_, PyAny>) -> PyErr {
        match given.get_type().name() {
            Ok(given) => self.error(&format!("{wanted}, not {given}")),
            Err(failure) => failure,
        }
    }

    /// The error that `what` is wrong with this argument.
    pub fn error(self, what: &str) -> PyErr {
        errors::error(self.code, format!("{} {what}", self.name))
    }
}

/// A limit on results: an int of at least 1.
pub struct Limit(pub usize);

impl<'py> FromPyObject<'_, 'py> for Limit {
    type Error = PyErr;

    fn extract(object: Borrowed<'_, 'py, PyAny>) -> PyResult<Self> {
        let argument = Argument {
            name: "limit",
            code: ErrorCode::InvalidLimit,
        };
        let number = numpy_number(&object);
        let object = number.as_ref().map_or(object, Bound::as_borrowed);
        if !object.is_instance_of::<PyInt>() || object.is_instance_of::<PyBool>() {
            return Err(argument.wrong("must be an int of at least 1", &object));
        }
        if object.lt(1)? {
            return Err(argument.error(&format!("must be at least 1, not {}", repr(&object))));
        }
        // A number that is too large to count means all.
        Ok(Self(object.extract().unwrap_or(usize::MAX)))
    }
}

/// A bool; any other value would be true or false by accident, as the text "no". Errors name the argument.
pub struct Flag<N>(pub bool, PhantomData<N>);

impl<N> Flag<N> {
    /// A default.
    pub const fn of(flag: bool) -> Self {
        Self(flag, PhantomData)
    }
}

impl<'py, N: Name> FromPyObject<'_, 'py> for Flag<N> {
    type Error = PyErr;

    fn extract(object: Borrowed<'_, 'py, PyAny>) -> PyResult<Self> {
        if let Ok(flag) = object.cast::<PyBool>() {
            return Ok(Self::of(flag.is_true()));
        }
        let argument = Argument {
            name: N::NAME,
            code: ErrorCode::InvalidOption,
        };
        let given = repr(&object);
        Err(argument.error(&format!("must be True or False, not {given}")))
    }
}

/// A path of a file.
pub struct FilePath(pub PathBuf);

impl<'py> FromPyObject<'_, 'py> for FilePath {
    type Error = PyErr;

    fn extract(object: Borrowed<'_, 'py, PyAny>) -> PyResult<Self> {
        let argument = Argument {
            name: "path",
            code: ErrorCode::InvalidOption,
        };
        object.extract().map(Self).map_err(|failure: PyErr| {
            if failure.is_instance_of::<PyTypeError>(object.py()) {
                argument.wrong("must be a str or a path", &object)
            } else {
                failure
            }
        })
    }
}

fn text(object: &Bound<'_, PyAny>, name: &str, code: ErrorCode) -> PyResult<String> {
    match object.cast::<PyString>() {
        Ok(string) => <Text>::named(string, name)?.copied(),
        Err(_) => Err(Argument { name, code }.wrong("must be str", object)),
    }
}

/// A place in a JSON value, written out only when something is wrong there.
#[derive(Clone, Copy)]
enum Path<'a> {
    Root(&'a str),
    Key(&'a Path<'a>, &'a str),
    Item(&'a Path<'a>, usize),
}

impl Display for Path<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Self::Root(name) => f.write_str(name),
            Self::Key(parent, key) => write!(f, "{parent}[{key:?}]"),
            Self::Item(parent, item) => write!(f, "{parent}[{item}]"),
        }
    }
}

/// Reads JSON from Python objects.
struct JsonReader<'py> {
    /// The code of its errors.
    code: ErrorCode,
    /// The number of values read.
    values: usize,
    /// Python's class of dates, if they are accepted too.
    dates: Option<Bound<'py, PyAny>>,
}

impl JsonReader<'_> {
    fn mapping(
        &mut self,
        mapping: &Bound<'_, PyMapping>,
        path: Path<'_>,
        depth: usize,
    ) -> PyResult<Map<String, Value>> {
        self.enter(path, depth)?;
        let mut map = Map::new();
        for item in mapping.items()? {
            let (key, value): (Bound<'_, PyAny>, Bound<'_, PyAny>) = item.extract()?;
            let Ok(key) = key.cast::<PyString>() else {
                let given = key.get_type().name()?;
                let what = format!("has a key that is {given}; JSON keys are str");
                return Err(self.wrong(path, &what));
            };
            let key = <Text>::named(key, format_args!("a key of {path}"))?;
            let value = self.value(&value, Path::Key(&path, &key), depth + 1)?;
            map.insert(key.to_owned(), value);
        }
        Ok(map)
    }

    fn value(
        &mut self,
        object: &Bound<'_, PyAny>,
        path: Path<'_>,
        depth: usize,
    ) -> PyResult<Value> {
        self.values += 1;
        if self.values > MAX_VALUES {
            return Err(self.wrong(path, &format!("is one of more than {MAX_VALUES} values")));
        }
        if let Some(scalar) = self.scalar(object, path)? {
            return Ok(scalar);
        }
        if let Some(date) = &self.dates
            && object.is_instance(date)?
        {
            let date = ("$date".to_owned(), Value::String(iso(object)?));
            return Ok(Value::Object(Map::from_iter([date])));
        }
        if let Ok(mapping) = object.cast::<PyMapping>() {
            return self.mapping(mapping, path, depth).map(Value::Object);
        }
        if object.is_instance_of::<PyList>() || object.is_instance_of::<PyTuple>() {
            self.enter(path, depth)?;
            return object
                .try_iter()?
                .enumerate()
                .map(|(item, value)| self.value(&value?, Path::Item(&path, item), depth + 1))
                .collect::<PyResult<_>>()
                .map(Value::Array);
        }
        let given = object.get_type().name()?;
        let what =
            format!("is {given}, which is not JSON; use str, int, float, bool, None, list or dict");
        Err(self.wrong(path, &what))
    }

    /// A value that holds no others; None for one that may.
    fn scalar(&self, object: &Bound<'_, PyAny>, path: Path<'_>) -> PyResult<Option<Value>> {
        if object.is_none() {
            return Ok(Some(Value::Null));
        }
        if let Ok(value) = object.cast::<PyBool>() {
            return Ok(Some(Value::Bool(value.is_true())));
        }
        if let Ok(string) = object.cast::<PyString>() {
            let text = <Text>::named(string, path)?.to_owned();
            return Ok(Some(Value::String(text)));
        }
        if object.is_instance_of::<PyInt>() {
            let number = (object.extract::<i64>().map(Number::from))
                .or_else(|_| object.extract::<u64>().map(Number::from));
            return number
                .map(|number| Some(Value::Number(number)))
                .map_err(|_| {
                    self.wrong(path, "is an integer of more than 64 bits; keep it as a str")
                });
        }
        let Ok(float) = object.cast::<PyFloat>() else {
            return numpy_number(object).map_or(Ok(None), |number| self.scalar(&number, path));
        };
        let number = Number::from_f64(float.value());
        number
            .map(|number| Some(Value::Number(number)))
            .ok_or_else(|| self.wrong(path, "is not a finite number, which JSON cannot hold"))
    }

    fn enter(&self, path: Path<'_>, depth: usize) -> PyResult<()> {
        if depth == MAX_DEPTH {
            let what = format!("nests deeper than {MAX_DEPTH} levels");
            return Err(self.wrong(path, &what));
        }
        Ok(())
    }

    fn wrong(&self, path: Path<'_>, what: &str) -> PyErr {
        errors::error(self.code, format!("{path} {what}"))
    }
}

/// A number of NumPy as a Python number; None for any other object.
fn numpy_number<'py>(object: &Bound<'py, PyAny>) -> Option<Bound<'py, PyAny>> {
    if object.get_type().module().ok()? != "numpy" {
        return None;
    }
    let kind: String = (object
        .getattr("dtype")
        .and_then(|dtype| dtype.getattr("kind")))
    .and_then(|kind| kind.extract())
    .ok()?;
    let is_number = matches!(kind.as_str(), "i" | "u" | "f" | "b");
    // An array of one item is an array nevertheless.
    let is_array = object.hasattr("__len__").unwrap_or(true);
    (is_number && !is_array)
        .then(|| object.call_method0("item").ok())
        .flatten()
}

/// `datetime.date`, of which `datetime.datetime` is one.
fn date_type(py: Python<'_>) -> PyResult<Bound<'_, PyAny>> {
    py.import("datetime")?.getattr("date")
}

/// A date as ISO 8601 writes it.
fn iso(date: &Bound<'_, PyAny>) -> PyResult<String> {
    date.call_method0("isoformat")?.extract()
}

/// The error that a state of pickle was not written by us.
#[allow(clippy::needless_pass_by_value, reason = "for `map_err`")]
pub fn unreadable(error: serde_json::Error) -> PyErr {
    PyValueError::new_err(format!("not a state that was pickled: {error}"))
}

/// The `repr` of a value for a message; its type if that fails, such as for one that nests too
/// deep.
pub fn repr(object: &Bound<'_, PyAny>) -> String {
    let name = || {
        object
            .get_type()
            .name()
            .map_or_else(|_| String::new(), |name| name.to_string())
    };
    object
        .repr()
        .map_or_else(|_| format!("<{}>", name()), |text| text.to_string())
}

/// The `repr` of a text, cut if it is long.
pub fn shown(py: Python<'_>, text: &str) -> PyResult<String> {
    const SHOWN: usize = 60;
    let text = match text.char_indices().nth(SHOWN) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    };
    Ok(PyString::new(py, &text).repr()?.to_string())
}
