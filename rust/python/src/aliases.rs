//! `AliasTable`: the engine's half of `hedgerow.AliasTable`.

use hedgerow_engine::ErrorCode;
use hedgerow_engine::query::{AliasTable, alias};
use pyo3::prelude::*;
use pyo3::types::{PyMapping, PyString};

use crate::errors;
use crate::query::PyQuery;
use crate::text::Text;

/// Alternatives for terms, cleaned once.
#[pyclass(name = "AliasTable", module = "hedgerow._engine", frozen, subclass)]
pub struct PyAliasTable(AliasTable);

#[pymethods]
impl PyAliasTable {
    #[new]
    fn new(mapping: &Bound<'_, PyAny>) -> PyResult<Self> {
        convert(mapping).map(Self)
    }
}

/// An alias table, or a mapping that is converted for this one call.
pub enum Aliases<'py> {
    Table(Bound<'py, PyAliasTable>),
    Converted(AliasTable),
}

impl Aliases<'_> {
    pub fn table(&self) -> &AliasTable {
        match self {
            Self::Table(table) => &table.get().0,
            Self::Converted(table) => table,
        }
    }
}

impl<'py> FromPyObject<'_, 'py> for Aliases<'py> {
    type Error = PyErr;

    fn extract(object: Borrowed<'_, 'py, PyAny>) -> PyResult<Self> {
        match object.cast::<PyAliasTable>() {
            Ok(table) => Ok(Self::Table(table.to_owned())),
            Err(_) => convert(&object).map(Self::Converted),
        }
    }
}

fn convert(mapping: &Bound<'_, PyAny>) -> PyResult<AliasTable> {
    let Ok(mapping) = mapping.cast::<PyMapping>() else {
        return Err(invalid(format!(
            "aliases must be a mapping, not {}",
            type_name(mapping)?
        )));
    };
    let mut entries: Vec<(String, Vec<String>)> = Vec::new();
    for item in mapping.items()? {
        let (key, surfaces): (Bound<'_, PyAny>, Bound<'_, PyAny>) = item.extract()?;
        let Ok(key) = key.cast::<PyString>() else {
            return Err(invalid(format!(
                "alias keys must be str, not {}",
                type_name(&key)?
            )));
        };
        let key: Text = key.extract()?;
        entries.push((key.to_owned(), alternatives(&key, &surfaces)?));
    }
    Ok(AliasTable::new(entries))
}

fn alternatives(key: &str, surfaces: &Bound<'_, PyAny>) -> PyResult<Vec<String>> {
    // A str is also an iterable of its characters, which callers never intend.
    if surfaces.is_instance_of::<PyString>() {
        return Err(invalid(format!(
            "the alternatives of alias {key:?} are one str; give a list of strings"
        )));
    }
    let Ok(surfaces) = surfaces.try_iter() else {
        return Err(invalid(format!(
            "the alternatives of alias {key:?} must be a list of strings, not {}",
            type_name(surfaces)?
        )));
    };
    surfaces
        .map(|surface| {
            let surface = surface?;
            let Ok(surface) = surface.cast::<PyString>() else {
                return Err(invalid(format!(
                    "the alternatives of alias {key:?} must be strings, not {}",
                    type_name(&surface)?
                )));
            };
            Ok(surface.extract::<Text>()?.to_owned())
        })
        .collect()
}

fn type_name(object: &Bound<'_, PyAny>) -> PyResult<String> {
    Ok(object.get_type().name()?.to_string())
}

fn invalid(message: String) -> PyErr {
    errors::error(ErrorCode::InvalidAliases, message)
}

/// Replace each term that the table knows by its alternatives (spec/query.md, "Aliases").
///
/// Raises InvalidInputError when the query is expanded already, QueryTooLargeError when it
/// would have more than 8,192 tokens.
#[pyfunction]
pub fn expand_aliases(query: &Bound<'_, PyAny>, aliases: Aliases<'_>) -> PyResult<PyQuery> {
    let Ok(query) = query.cast::<PyQuery>() else {
        let given = type_name(query)?;
        let message = format!("query must be a Query, as parse_query returns, not {given}");
        return Err(errors::error(ErrorCode::InvalidOption, message));
    };
    errors::call(|| alias::expand(&query.get().0, aliases.table())).map(PyQuery)
}
