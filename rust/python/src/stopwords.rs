//! The stop words of bare queries, as Python gives them.

use hedgerow_engine::ErrorCode;
use hedgerow_engine::query::StopWords;
use pyo3::prelude::*;
use pyo3::types::{PyFrozenSet, PyList, PySet, PyString};

use crate::errors;
use crate::text::Text;
use crate::value::Argument;

/// "en+nl", "en", "nl", "none" or words.
pub struct StopWordsLike(pub StopWords);

impl<'py> FromPyObject<'_, 'py> for StopWordsLike {
    type Error = PyErr;

    fn extract(object: Borrowed<'_, 'py, PyAny>) -> PyResult<Self> {
        let argument = Argument {
            name: "stopwords",
            code: ErrorCode::InvalidOption,
        };
        if object.is_instance_of::<PyString>() {
            let name: Text = object.extract()?;
            return errors::call(|| StopWords::named(&name)).map(Self);
        }
        let is_set = object.is_instance_of::<PySet>() || object.is_instance_of::<PyFrozenSet>();
        let words = if is_set {
            argument.texts(
                PyList::new(
                    object.py(),
                    object.try_iter()?.collect::<PyResult<Vec<_>>>()?,
                )?
                .as_any(),
            )?
        } else {
            argument.texts(&object)?
        };
        errors::call(|| StopWords::words(words)).map(Self)
    }
}

/// The name, or the words as a frozenset.
pub fn to_py<'py>(py: Python<'py>, stopwords: &StopWords) -> PyResult<Bound<'py, PyAny>> {
    match (stopwords.name(), stopwords) {
        (None, StopWords::Words(words)) => Ok(PyFrozenSet::new(py, &**words)?.into_any()),
        (name, _) => Ok(PyString::new(py, name.unwrap_or_default()).into_any()),
    }
}
