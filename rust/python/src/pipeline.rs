//! `Pipeline` and `parse_pipeline`.

use hedgerow_engine::ErrorCode;
use hedgerow_graph::graph::types::check;
use hedgerow_graph::pipeline::{Leg, Pipeline, Problem, Ranked, parse, parse_canonical};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyString};

use crate::calling;
use crate::errors;
use crate::text::Text;
use crate::value::Argument;

/// A parsed pipeline (spec/pipeline.md). Immutable; made by `parse_pipeline`, taken by
/// `Store.query`.
#[pyclass(name = "Pipeline", module = "hedgerow", frozen, eq)]
#[derive(Clone, PartialEq)]
pub struct PyPipeline(pub Pipeline);

/// The state of a pipeline in a pickle: its canonical form, and the registered types in it.
type PipelineState = (String, Vec<String>);

#[pymethods]
impl PyPipeline {
    /// The canonical form, which parses to the same pipeline.
    #[pyo3(name = "to_string")]
    fn canonical(&self) -> String {
        self.0.to_string()
    }

    fn __str__(&self) -> String {
        self.0.to_string()
    }

    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        let text = self.0.to_string().into_pyobject(py)?.repr()?;
        Ok(match self.0.registered_types() {
            types if types.is_empty() => format!("parse_pipeline({text})"),
            types => format!(
                "parse_pipeline({text}, types={})",
                types.into_pyobject(py)?.repr()?
            ),
        })
    }

    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> PyResult<(Bound<'py, PyAny>, PipelineState)> {
        let pipeline = &slf.get().0;
        let types = pipeline.registered_types().into_iter().map(str::to_owned);
        let state = (pipeline.to_string(), types.collect());
        Ok((slf.get_type().getattr("_restore")?, state))
    }

    /// Make a pipeline of what pickle kept of it.
    #[staticmethod]
    fn _restore(text: Text, types: Vec<String>) -> PyResult<Self> {
        let parsed = errors::call(|| Ok(parse_canonical(&text, &types)))?;
        parsed.map(Self).map_err(|problem| pipeline_error(&problem))
    }
}

/// Parse a pipeline (spec/pipeline.md, "Grammar").
///
/// A sequence of texts is joined with " | ", and positions in errors are those of the joined text.
/// `terms` become its first stage, a `match`, if it has no generator. `types` are those that nodes
/// may have in addition to the five built-in ones.
///
/// Raises PipelineError, with the kind, the stage and the characters at fault, and
/// InvalidInputError for terms or types of another shape.
#[pyfunction]
#[pyo3(
    signature = (text_or_flags, *, terms=None, types=None),
    text_signature = "(text_or_flags, *, terms=None, types=())"
)]
pub fn parse_pipeline(
    text_or_flags: PipelineText,
    terms: Option<&Bound<'_, PyAny>>,
    types: Option<&Bound<'_, PyAny>>,
) -> PyResult<PyPipeline> {
    let types = named_types(types)?;
    parsed(&text_or_flags.0, terms, |text, terms| {
        errors::call(|| Ok(parse(text, terms, &types)))
    })
    .map(PyPipeline)
}

/// A text, or texts that are joined.
pub struct PipelineText(String);

impl<'py> FromPyObject<'_, 'py> for PipelineText {
    type Error = PyErr;

    fn extract(object: Borrowed<'_, 'py, PyAny>) -> PyResult<Self> {
        if let Ok(text) = object.cast::<PyString>() {
            return Ok(Self(<Text>::named(&text, "the pipeline")?.to_owned()));
        }
        let Ok(items) = object.try_iter() else {
            let given = object.get_type().name()?;
            return Err(errors::error(
                ErrorCode::InvalidOption,
                format!("expected a str, a sequence of str or a Pipeline, not {given}"),
            ));
        };
        let texts = items
            .map(|item| Ok(item?.extract::<Text>()?.to_owned()))
            .collect::<PyResult<Vec<String>>>()?;
        Ok(Self(texts.join(" | ")))
    }
}

/// A pipeline, or a text that is parsed to one.
pub enum PipelineLike {
    Parsed(Py<PyPipeline>),
    Text(String),
}

impl<'py> FromPyObject<'_, 'py> for PipelineLike {
    type Error = PyErr;

    fn extract(object: Borrowed<'_, 'py, PyAny>) -> PyResult<Self> {
        if let Ok(pipeline) = object.cast::<PyPipeline>() {
            return Ok(Self::Parsed(pipeline.to_owned().unbind()));
        }
        PipelineText::extract(object).map(|text| Self::Text(text.0))
    }
}

impl PipelineLike {
    /// The pipeline, parsed if need be.
    pub fn parsed(
        self,
        terms: Option<&Bound<'_, PyAny>>,
        parse: impl FnOnce(&str, &[String]) -> PyResult<Result<Pipeline, Problem>>,
    ) -> PyResult<Pipeline> {
        match self {
            Self::Text(text) => parsed(&text, terms, parse),
            Self::Parsed(_) if terms.is_some() => Err(errors::error(
                ErrorCode::IncompatibleOptions,
                "terms are part of a parsed pipeline; give them to parse_pipeline",
            )),
            Self::Parsed(pipeline) => Ok(pipeline.get().0.clone()),
        }
    }
}

fn parsed(
    text: &str,
    terms: Option<&Bound<'_, PyAny>>,
    parse: impl FnOnce(&str, &[String]) -> PyResult<Result<Pipeline, Problem>>,
) -> PyResult<Pipeline> {
    let argument = Argument {
        name: "terms",
        code: ErrorCode::InvalidOption,
    };
    let terms = terms
        .map(|terms| argument.texts_of_any(terms))
        .transpose()?;
    let terms = terms.unwrap_or_default();
    parse(text, &terms)?.map_err(|problem| pipeline_error(&problem))
}

fn pipeline_error(problem: &Problem) -> PyErr {
    Python::attach(|py| {
        let instantiate = || -> PyResult<PyErr> {
            let arguments = PyDict::new(py);
            arguments.set_item("kind", problem.kind.as_str())?;
            arguments.set_item("stage", problem.stage)?;
            arguments.set_item("start", problem.start)?;
            arguments.set_item("end", problem.end)?;
            arguments.set_item("suggestion", problem.suggestion.as_deref())?;
            let class = py.import("hedgerow.errors")?.getattr("PipelineError")?;
            let raised = calling::call(&class, (problem.message(),), Some(&arguments))?;
            Ok(PyErr::from_value(raised))
        };
        instantiate().unwrap_or_else(|failure| failure)
    })
}

/// The checked names of types; none if they are not given.
pub fn named_types(types: Option<&Bound<'_, PyAny>>) -> PyResult<Vec<String>> {
    let argument = Argument {
        name: "types",
        code: ErrorCode::InvalidOption,
    };
    let types = types
        .map(|types| argument.texts_of_any(types))
        .transpose()?
        .unwrap_or_default();
    errors::call(|| types.iter().try_for_each(|name| check(name)))?;
    Ok(types)
}

/// Call the caller's legs for every search of a pipeline.
pub fn ranked(legs: &Bound<'_, PyAny>, pipeline: &Pipeline) -> PyResult<Vec<Ranked>> {
    let mut ranked: Vec<Ranked> = Vec::new();
    for search in pipeline.searches() {
        for leg in Leg::of(search.mode) {
            let known = ranked
                .iter()
                .any(|(query, of, _)| (query, of) == (&search.query, leg));
            if !known {
                let found = calling::call(legs, (search.query.as_str(), leg.as_str()), None)?;
                if found.is_none() {
                    continue;
                }
                let argument = Argument {
                    name: "the keys of legs",
                    code: ErrorCode::InvalidId,
                };
                ranked.push((search.query.clone(), *leg, argument.texts_of_any(&found)?));
            }
        }
    }
    Ok(ranked)
}
