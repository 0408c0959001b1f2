//! Vectors as they come from Python: a buffer, or a sequence of numbers.
//!
//! Buffers are read through `memoryview`, whose `tobytes` is one call however long the vector is:
//! the limited API of Python 3.10, for which the wheel is built, has no buffers.

use hedgerow_engine::{ErrorCode, unit_vector};
use pyo3::prelude::*;
use pyo3::types::{PyByteArray, PyBytes, PyDict, PyFrozenSet, PyMemoryView, PySet, PyString};

use crate::errors;
use crate::value::{self, Argument};

/// Return a vector.
pub fn vector(object: &Bound<'_, PyAny>, argument: Argument<'_>) -> PyResult<Vec<f32>> {
    match Buffer::of(object, argument)? {
        Some(buffer) if buffer.shape.len() != 1 => Err(argument.error(&format!(
            "has {} axes; give one vector at a time",
            buffer.shape.len()
        ))),
        Some(buffer) if buffer.is_plain() => buffer.numbers(argument),
        _ => numbers(object, argument),
    }
}

/// Vectors of any lengths: a buffer with a row for each, or an iterable of vectors.
pub fn vectors(object: &Bound<'_, PyAny>, name: &str) -> PyResult<Vec<Vec<f32>>> {
    each_vector(object, name)?.into_iter().collect()
}

/// Return the vectors, with an error in the place of each invalid one.
pub fn each_vector(object: &Bound<'_, PyAny>, name: &str) -> PyResult<Vec<PyResult<Vec<f32>>>> {
    let argument = Argument {
        name,
        code: ErrorCode::InvalidVector,
    };
    if let Some(buffer) = Buffer::of(object, argument)?
        && let [rows, length] = buffer.shape[..]
        && length > 0
        && buffer.is_plain()
        && let Ok(numbers) = buffer.numbers(argument)
    {
        debug_assert_eq!(numbers.len(), rows * length);
        return Ok(numbers.chunks(length).map(|row| Ok(row.to_vec())).collect());
    }
    let Ok(rows) = object.try_iter() else {
        return Err(argument.wrong("must be an iterable of vectors", object));
    };
    rows.enumerate()
        .map(|(position, row)| {
            let name = format!("{name}[{position}]");
            let code = argument.code;
            Ok(vector(&row?, Argument { name: &name, code }))
        })
        .collect()
}

/// A vector as an `array.array("f")`, which numpy reads without a loop.
pub fn array<'py>(py: Python<'py>, vector: &[f32]) -> PyResult<Bound<'py, PyAny>> {
    let bytes: Vec<u8> = vector
        .iter()
        .flat_map(|value| value.to_ne_bytes())
        .collect();
    py.import("array")?
        .getattr("array")?
        .call1(("f", PyBytes::new(py, &bytes)))
}

/// The bytes that an index stores for a vector: its numbers at length 1 as little-endian `float32`;
/// None for a vector of zeros, which has no direction.
#[pyfunction]
pub fn _unit_vector<'py>(vector: &Bound<'py, PyAny>) -> PyResult<Option<Bound<'py, PyBytes>>> {
    let argument = Argument {
        name: "the vector",
        code: ErrorCode::InvalidVector,
    };
    let numbers = self::vector(vector, argument)?;
    let bytes = errors::call(|| {
        let unit = unit_vector::unit(&numbers);
        Ok((!unit.is_empty()).then(|| unit_vector::to_blob(&unit)))
    })?;
    Ok(bytes.map(|bytes| PyBytes::new(vector.py(), &bytes)))
}

/// The memory of an object with the buffer protocol.
struct Buffer<'py> {
    view: Bound<'py, PyMemoryView>,
    shape: Vec<usize>,
    /// The format without the byte order.
    letter: String,
    little_endian: bool,
}

impl<'py> Buffer<'py> {
    /// None for an object without the buffer protocol. Bytes have it, but are refused: they are not
    /// numbers.
    fn of(object: &Bound<'py, PyAny>, argument: Argument<'_>) -> PyResult<Option<Self>> {
        if object.is_instance_of::<PyBytes>() || object.is_instance_of::<PyByteArray>() {
            return Err(wrong(argument, object));
        }
        let Ok(view) = PyMemoryView::from(object) else {
            return Ok(None);
        };
        let format: String = view.getattr("format")?.extract()?;
        let letter = format.trim_start_matches(['@', '=', '<', '>', '!']);
        let little_endian = match format.as_bytes().first() {
            Some(b'<') => true,
            Some(b'>' | b'!') => false,
            _ => cfg!(target_endian = "little"),
        };
        if !matches!(letter.as_bytes(), [letter] if b"efdgbBhHiIlLqQ".contains(letter)) {
            return Err(argument.error(&format!(
                "is a buffer of format {format:?}; give numbers, best as float32"
            )));
        }
        Ok(Some(Self {
            letter: letter.to_owned(),
            little_endian,
            shape: view.getattr("shape")?.extract()?,
            view,
        }))
    }

    /// Whether the numbers can be read from the bytes; others are read one by one.
    fn is_plain(&self) -> bool {
        matches!(self.letter.as_str(), "f" | "d")
    }

    fn numbers(&self, argument: Argument<'_>) -> PyResult<Vec<f32>> {
        let bytes = self.view.call_method0("tobytes")?;
        let bytes = bytes.cast::<PyBytes>()?.as_bytes();
        if self.letter == "f" {
            let number = if self.little_endian {
                f32::from_le_bytes
            } else {
                f32::from_be_bytes
            };
            let numbers: Vec<f32> = bytes.as_chunks().0.iter().copied().map(number).collect();
            return match numbers.iter().position(|number| !number.is_finite()) {
                None => Ok(numbers),
                Some(position) => Err(not_finite(argument, position)),
            };
        }
        let number = if self.little_endian {
            f64::from_le_bytes
        } else {
            f64::from_be_bytes
        };
        bytes
            .as_chunks()
            .0
            .iter()
            .enumerate()
            .map(|(position, bytes)| narrow(number(*bytes), position, argument))
            .collect()
    }
}

fn numbers(object: &Bound<'_, PyAny>, argument: Argument<'_>) -> PyResult<Vec<f32>> {
    let unordered = object.is_instance_of::<PyDict>()
        || object.is_instance_of::<PySet>()
        || object.is_instance_of::<PyFrozenSet>();
    let items = match object.try_iter() {
        Ok(items) if !unordered && !object.is_instance_of::<PyString>() => items,
        _ => return Err(wrong(argument, object)),
    };
    items
        .enumerate()
        .map(|(position, item)| {
            let item = item?;
            let number = item.extract().map_err(|_| {
                let name = format!("{}[{position}]", argument.name);
                let code = argument.code;
                Argument { name: &name, code }.wrong("must be a number", &item)
            })?;
            narrow(number, position, argument)
        })
        .collect()
}

fn narrow(number: f64, position: usize, argument: Argument<'_>) -> PyResult<f32> {
    #[allow(clippy::cast_possible_truncation, reason = "vectors are kept as f32")]
    let narrow = number as f32;
    if narrow.is_finite() {
        Ok(narrow)
    } else if number.is_finite() {
        Err(argument.error(&format!(
            "is more than a float32 holds at position {position}; scale the vector down"
        )))
    } else {
        Err(not_finite(argument, position))
    }
}

fn not_finite(argument: Argument<'_>, position: usize) -> PyErr {
    argument.error(&format!(
        "is not finite at position {position}; embed the text again"
    ))
}

fn wrong(argument: Argument<'_>, object: &Bound<'_, PyAny>) -> PyErr {
    argument.wrong(
        "must be a sequence of numbers or a buffer of float32",
        object,
    )
}

/// The number of dimensions of vectors: an int of at least 1.
pub struct Dimensions(pub usize);

impl<'py> FromPyObject<'_, 'py> for Dimensions {
    type Error = PyErr;

    fn extract(object: Borrowed<'_, 'py, PyAny>) -> PyResult<Self> {
        match object.extract::<usize>() {
            Ok(dimensions) if dimensions > 0 => Ok(Self(dimensions)),
            _ => Err(errors::error(
                ErrorCode::InvalidOption,
                format!(
                    "dimensions must be an int of at least 1, not {}",
                    value::repr(&object)
                ),
            )),
        }
    }
}
