//! `Query` and `Token`, and the functions that make them.

use hedgerow_engine::query::parse::is_noise;
use hedgerow_engine::query::{Operator, Query, StopWords, Token, TokenKind, parse, parse_with};
use hedgerow_engine::{ErrorCode, text};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyString, PyTuple, PyType};

use crate::errors;
use crate::name;
use crate::stopwords::StopWordsLike;
use crate::text::Text;

/// A searchable unit of a query (spec/query.md, "Tokens").
///
/// `kind` is "term", "phrase" or "prefix"; `text` is cleaned and in lower case; `operator` is the
/// operator written before it: "AND", "OR", "NOT" or None.
#[pyclass(name = "Token", module = "hedgerow", frozen, eq, hash)]
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct PyToken(Token);

#[pymethods]
impl PyToken {
    #[new]
    #[pyo3(signature = (kind, text, operator=None))]
    fn new(
        kind: Text<name::Kind>,
        text: Text,
        operator: Option<Text<name::Operator>>,
    ) -> PyResult<Self> {
        let kind = TokenKind::from_name(&kind).ok_or_else(|| {
            let message = format!(
                "kind must be \"term\", \"phrase\" or \"prefix\", not {:?}",
                &*kind
            );
            errors::error(ErrorCode::InvalidToken, message)
        })?;
        let operator = operator
            .map(|word| {
                Operator::from_word(&word).ok_or_else(|| {
                    let message = format!(
                        "operator must be \"AND\", \"OR\", \"NOT\" or None, not {:?}",
                        &*word
                    );
                    errors::error(ErrorCode::InvalidToken, message)
                })
            })
            .transpose()?;
        Ok(Self(Token {
            kind,
            text: text.to_owned(),
            operator,
        }))
    }

    /// "term", "phrase" or "prefix".
    #[getter]
    fn kind(&self) -> &'static str {
        self.0.kind.as_str()
    }

    /// The cleaned text, in lower case.
    #[getter]
    fn text(&self) -> &str {
        &self.0.text
    }

    /// "AND", "OR", "NOT" or None.
    #[getter]
    fn operator(&self) -> Option<&'static str> {
        self.0.operator.map(Operator::as_str)
    }

    /// Return `{"kind", "text"}`, and `"operator"` if it has one.
    fn to_dict<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let dict = PyDict::new(py);
        dict.set_item("kind", self.kind())?;
        dict.set_item("text", self.text())?;
        if let Some(operator) = self.operator() {
            dict.set_item("operator", operator)?;
        }
        Ok(dict)
    }

    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        let text = self.text().into_pyobject(py)?.repr()?;
        Ok(match self.operator() {
            Some(operator) => format!("Token('{}', {text}, '{operator}')", self.kind()),
            None => format!("Token('{}', {text})", self.kind()),
        })
    }

    #[allow(clippy::type_complexity)]
    fn __reduce__<'py>(
        slf: &Bound<'py, Self>,
    ) -> (
        Bound<'py, PyType>,
        (&'static str, String, Option<&'static str>),
    ) {
        let token = slf.get();
        (
            slf.get_type(),
            (token.kind(), token.text().to_owned(), token.operator()),
        )
    }
}

impl From<Token> for PyToken {
    fn from(token: Token) -> Self {
        Self(token)
    }
}

/// A parsed query: its tokens (spec/query.md).
///
/// `raw` is the normalised text, `tokens` a tuple of `Token`, `has_operators` whether the text has
/// a quote or an operator. Made by `parse_query` and `expand_aliases`.
#[pyclass(name = "Query", module = "hedgerow", frozen, eq, hash)]
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct PyQuery(pub Query);

type QueryState<'py> = (String, Bound<'py, PyTuple>, bool, Option<Vec<usize>>);

#[pymethods]
impl PyQuery {
    /// The normalised text.
    #[getter]
    fn raw(&self) -> &str {
        &self.0.raw
    }

    /// The tokens, in the order of the text.
    #[getter]
    fn tokens<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        PyTuple::new(py, self.0.tokens.iter().cloned().map(PyToken))
    }

    /// Whether the text has a quote or an operator, which switches filtering off.
    #[getter]
    fn has_operators(&self) -> bool {
        self.0.has_operators
    }

    /// `{"raw", "tokens": [{"kind", "text", "operator"?}], "hasOperators"}`.
    fn to_dict<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let tokens = self
            .0
            .tokens
            .iter()
            .map(|token| PyToken(token.clone()).to_dict(py));
        let dict = PyDict::new(py);
        dict.set_item("raw", self.raw())?;
        dict.set_item("tokens", tokens.collect::<PyResult<Vec<_>>>()?)?;
        dict.set_item("hasOperators", self.has_operators())?;
        Ok(dict)
    }

    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        let raw = self.raw().into_pyobject(py)?.repr()?;
        let tokens = self.tokens(py)?.repr()?;
        let has_operators = if self.0.has_operators {
            "True"
        } else {
            "False"
        };
        Ok(format!(
            "Query(raw={raw}, tokens={tokens}, has_operators={has_operators})"
        ))
    }

    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> PyResult<(Bound<'py, PyAny>, QueryState<'py>)> {
        let Query {
            raw,
            has_operators,
            groups,
            ..
        } = &slf.get().0;
        let state = (
            raw.clone(),
            slf.get().tokens(slf.py())?,
            *has_operators,
            groups.clone(),
        );
        Ok((slf.get_type().getattr("_restore")?, state))
    }

    /// Make a query of what pickle kept of it.
    #[staticmethod]
    fn _restore(
        raw: Text,
        tokens: Vec<Bound<'_, PyToken>>,
        has_operators: bool,
        groups: Option<Vec<usize>>,
    ) -> Self {
        let tokens = tokens.iter().map(|token| token.get().0.clone()).collect();
        Self(Query {
            raw: raw.to_owned(),
            tokens,
            has_operators,
            groups,
        })
    }
}

/// A query, or a text that is parsed first.
pub enum QueryOrText {
    Query(Py<PyQuery>),
    Text(Text),
}

impl<'py> FromPyObject<'_, 'py> for QueryOrText {
    type Error = PyErr;

    fn extract(object: Borrowed<'_, 'py, PyAny>) -> PyResult<Self> {
        if object.is_instance_of::<PyString>() {
            return object.extract().map(Self::Text);
        }
        if let Ok(query) = object.cast::<PyQuery>() {
            return Ok(Self::Query(query.to_owned().unbind()));
        }
        let given = object.get_type().name()?;
        Err(errors::error(
            ErrorCode::InvalidOption,
            format!("expected a str or a Query, not {given}"),
        ))
    }
}

impl QueryOrText {
    /// The query, parsed if need be.
    pub fn with<T>(
        &self,
        stopwords: &StopWords,
        use_query: impl FnOnce(&Query) -> hedgerow_engine::Result<T>,
    ) -> hedgerow_engine::Result<T> {
        match self {
            Self::Query(query) => use_query(&query.get().0),
            Self::Text(text) => use_query(&parse_with(text, stopwords)?),
        }
    }
}

/// Refuse a text that is over a limit before it is embedded.
#[pyfunction]
pub fn _check_query(text: Text) -> PyResult<()> {
    errors::call(|| parse(&text).map(drop))
}

/// Compose to NFC, drop zero-width characters, collapse white space (spec/normalise.md).
#[pyfunction]
pub fn normalise(text: Text) -> PyResult<String> {
    errors::call(|| Ok(text::normalise::normalise(&text).into_owned()))
}

/// Parse a query text (spec/query.md, "Grammar"). Every text parses.
///
/// Raises QueryTooLargeError over 64 KiB of UTF-8 or 4,096 tokens.
///
/// `stopwords` are as in `Index.open`.
#[pyfunction]
#[pyo3(signature = (text, *, stopwords=None), text_signature = "(text, *, stopwords='en+nl')")]
pub fn parse_query(text: Text, stopwords: Option<StopWordsLike>) -> PyResult<PyQuery> {
    let stopwords = stopwords.map(|chosen| chosen.0).unwrap_or_default();
    errors::call(|| parse_with(&text, &stopwords)).map(PyQuery)
}

/// Whether a bare query drops this token (spec/query.md, "Filtering").
///
/// That is an English or Dutch stop word, `and`, `or` or `not`, or a token of at most two UTF-16
/// code units. Compared in lower case.
#[pyfunction]
pub fn is_stopword(token: Text<name::Token>) -> PyResult<bool> {
    errors::call(|| Ok(is_noise(&token)))
}
