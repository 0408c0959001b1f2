//! Values given as a mapping, each under the name of a field.

use hedgerow_engine::text::suggest;
use pyo3::prelude::*;
use pyo3::types::PyMapping;

use crate::value::{self, Argument};

/// Names of the fields in other libraries, and their names here.
const OTHER_NAMES: [(&str, &str); 14] = [
    ("text", "content"),
    ("page_content", "content"),
    ("document", "content"),
    ("body", "content"),
    ("_id", "id"),
    ("key", "id"),
    ("source", "path"),
    ("file", "path"),
    ("filename", "path"),
    ("url", "path"),
    ("meta", "metadata"),
    ("tag", "tags"),
    ("vector", "embedding"),
    ("embeddings", "embedding"),
];

/// The values of a mapping by the positions of its keys; a value of None counts as left out.
pub struct Fields<'a, 'py> {
    argument: Argument<'a>,
    keys: &'static [&'static str],
    values: Vec<Option<Bound<'py, PyAny>>>,
}

impl<'a, 'py> Fields<'a, 'py> {
    /// Refuse a key that is not one of `keys`, which must have every key that is read later.
    pub fn new(
        argument: Argument<'a>,
        keys: &'static [&'static str],
        mapping: &Bound<'py, PyMapping>,
    ) -> PyResult<Self> {
        let mut values = vec![None; keys.len()];
        for item in mapping.items()? {
            let (key, value): (Bound<'py, PyAny>, Bound<'py, PyAny>) = item.extract()?;
            let name: Option<&str> = key.extract().ok();
            let Some(position) = keys.iter().position(|known| Some(*known) == name) else {
                return Err(argument.error(&format!(
                    "has no key {}{}; the keys are '{}'",
                    value::repr(&key),
                    name.map_or_else(String::new, |name| meant(name, keys)),
                    keys.join("', '")
                )));
            };
            values[position] = Some(value).filter(|value| !value.is_none());
        }
        Ok(Self {
            argument,
            keys,
            values,
        })
    }

    /// The value of a key, converted; None if there is none.
    pub fn get<T>(
        &self,
        key: &str,
        convert: impl FnOnce(Argument<'_>, &Bound<'py, PyAny>) -> PyResult<T>,
    ) -> PyResult<Option<T>> {
        let mut values = self.keys.iter().zip(&self.values);
        let Some((_, Some(value))) = values.find(|(name, _)| **name == key) else {
            return Ok(None);
        };
        let name = format!("{}[{key:?}]", self.argument.name);
        let argument = Argument {
            name: &name,
            ..self.argument
        };
        convert(argument, value).map(Some)
    }

    /// Like `optional`, for a required key.
    pub fn required<T>(
        &self,
        key: &str,
        convert: impl FnOnce(Argument<'_>, &Bound<'py, PyAny>) -> PyResult<T>,
    ) -> PyResult<T> {
        self.get(key, convert)?
            .ok_or_else(|| self.argument.error(&format!("has no '{key}'; give it one")))
    }
}

/// A question whether another key was meant, or nothing.
fn meant(name: &str, keys: &[&'static str]) -> String {
    let other = OTHER_NAMES.iter().find(|(other, _)| *other == name);
    let other = other.map(|(_, meant)| *meant);
    let meant = other.or_else(|| suggest::nearest(name, keys.iter().copied()));
    meant.map_or_else(String::new, |key| format!(" (did you mean '{key}'?)"))
}
