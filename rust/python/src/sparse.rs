//! Sparse vectors as they come from Python: mappings of tokens to weights.

use hedgerow_engine::ErrorCode;
use hedgerow_engine::retrieval::SparseQuery;
use hedgerow_engine::sparse_vector::SparseVector;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyFloat, PyMapping};

use crate::errors;
use crate::value::Argument;

/// Return a sparse vector: a mapping of tokens to weights.
pub fn sparse(object: &Bound<'_, PyAny>, argument: Argument<'_>) -> PyResult<SparseVector> {
    let Ok(mapping) = object.cast::<PyMapping>() else {
        return Err(argument.wrong("must be a mapping of tokens to weights", object));
    };
    let mut entries = Vec::new();
    for item in mapping.items()? {
        let (token, weight): (Bound<'_, PyAny>, Bound<'_, PyAny>) = item.extract()?;
        let name = format!("a token of {}", argument.name);
        let token = Argument {
            name: &name,
            ..argument
        }
        .text(&token)?;
        let weight = if let Ok(weight) = weight.cast::<PyFloat>() {
            weight.extract()?
        } else {
            let name = format!("{}[{token:?}]", argument.name);
            let argument = Argument {
                name: &name,
                ..argument
            };
            argument.real(&weight)?
        };
        #[allow(clippy::cast_possible_truncation, reason = "weights are kept as f32")]
        entries.push((token, weight as f32));
    }
    errors::call(|| SparseVector::new(entries, argument.name, argument.code))
}

/// The sparse vectors of an iterable, with an error in the place of each invalid one.
pub fn each_sparse(object: &Bound<'_, PyAny>, name: &str) -> PyResult<Vec<PyResult<SparseVector>>> {
    let code = ErrorCode::InvalidVector;
    let Ok(rows) = object.try_iter() else {
        return Err(Argument { name, code }.wrong("must be an iterable of mappings", object));
    };
    let one = |(position, row): (usize, PyResult<Bound<'_, PyAny>>)| {
        let name = format!("{name}[{position}]");
        Ok(sparse(&row?, Argument { name: &name, code }))
    };
    rows.enumerate().map(one).collect()
}

/// A sparse vector as a new dict, its tokens in the order of code points.
pub fn dict<'py>(py: Python<'py>, vector: &SparseVector) -> PyResult<Bound<'py, PyDict>> {
    let dict = PyDict::new(py);
    for (token, weight) in vector.entries() {
        dict.set_item(token, weight)?;
    }
    Ok(dict)
}

/// The sparse embedder's result for one query.
pub enum QuerySparse {
    Absent,
    Failed,
    Vector(SparseVector),
    Wrong(PyErr),
}

impl QuerySparse {
    /// The results for all queries: None without a sparse embedder, "failed" if it failed, or a mapping for each.
    pub fn each(object: Option<&Bound<'_, PyAny>>, queries: usize) -> PyResult<Vec<Self>> {
        let Some(object) = object.filter(|object| !object.is_none()) else {
            return Ok((0..queries).map(|_| Self::Absent).collect());
        };
        if object.extract::<&str>().is_ok() {
            return Ok((0..queries).map(|_| Self::Failed).collect());
        }
        let vectors = each_sparse(object, "the sparse vectors of the queries")?;
        let vectors = vectors.into_iter().map(|vector| match vector {
            Ok(vector) => Self::Vector(vector),
            Err(error) => Self::Wrong(error),
        });
        Ok(vectors.collect())
    }

    pub fn query(&self) -> SparseQuery<'_> {
        match self {
            Self::Absent => SparseQuery::Absent,
            Self::Failed | Self::Wrong(_) => SparseQuery::Failed,
            Self::Vector(vector) => SparseQuery::Vector(vector),
        }
    }

    pub fn error(&self, py: Python<'_>) -> Option<PyErr> {
        match self {
            Self::Wrong(error) => Some(error.clone_ref(py)),
            Self::Absent | Self::Failed | Self::Vector(_) => None,
        }
    }
}
