//! Conversion of Python strings, and the calls that tokenize, highlight and cut snippets.

use std::borrow::Cow;
use std::fmt::Display;
use std::marker::PhantomData;
use std::ops::{Deref, Range};

use hedgerow_engine::text::marks::{Highlighter, MarkedPhrase};
use hedgerow_engine::text::snippet;
use hedgerow_engine::text::suggest;
use hedgerow_engine::text::tokenizer::TokenizerKind;
use hedgerow_engine::{Error, ErrorCode};
use pyo3::exceptions::PyUnicodeEncodeError;
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedStr;
use pyo3::types::PyString;

use crate::errors;
use crate::name::{self, Name};

/// A Python `str` that is valid Unicode, borrowed from Python without a copy. Errors name the argument.
pub struct Text<N = name::Text>(PyBackedStr, PhantomData<N>);

impl<N> AsRef<str> for Text<N> {
    fn as_ref(&self) -> &str {
        &self.0
    }
}

impl<N> Deref for Text<N> {
    type Target = str;

    fn deref(&self) -> &str {
        &self.0
    }
}

impl<'py, N: Name> FromPyObject<'_, 'py> for Text<N> {
    type Error = PyErr;

    fn extract(object: Borrowed<'_, 'py, PyAny>) -> PyResult<Self> {
        match object.cast::<PyString>() {
            Ok(string) => Self::named(&string, N::NAME),
            Err(_) => Err(not_a_text(object, N::NAME)),
        }
    }
}

impl<N> Text<N> {
    /// Convert a string. Errors refer to it by `name`.
    pub fn named(string: &Bound<'_, PyString>, name: impl Display) -> PyResult<Self> {
        PyBackedStr::try_from(string.to_owned())
            .map(|text| Self(text, PhantomData))
            .map_err(|error| lone_surrogate(string.py(), error, name))
    }

    /// Return a copy that Rust owns, or an error if there is no memory for it.
    pub fn copied(&self) -> PyResult<String> {
        let mut copy = String::new();
        copy.try_reserve_exact(self.len())
            .map_err(|_| errors::to_py(Error::out_of_memory()))?;
        copy.push_str(self);
        Ok(copy)
    }
}

/// A word of an option, or its default.
pub struct Word(Cow<'static, str>);

impl Word {
    /// A default.
    pub const fn of(word: &'static str) -> Self {
        Self(Cow::Borrowed(word))
    }
}

impl Deref for Word {
    type Target = str;

    fn deref(&self) -> &str {
        &self.0
    }
}

impl<'py> FromPyObject<'_, 'py> for Word {
    type Error = PyErr;

    fn extract(object: Borrowed<'_, 'py, PyAny>) -> PyResult<Self> {
        let text: Text = object.extract()?;
        Ok(Self(Cow::Owned(text.to_string())))
    }
}

/// A sequence of texts. A single `str` is rejected: it would be a sequence of characters.
pub struct Texts(pub Vec<Text>);

impl<'py> FromPyObject<'_, 'py> for Texts {
    type Error = PyErr;

    fn extract(object: Borrowed<'_, 'py, PyAny>) -> PyResult<Self> {
        let refused = |given: &str| {
            let message = format!("expected a sequence of str, not {given}");
            errors::error(ErrorCode::InvalidOption, message)
        };
        if object.is_instance_of::<PyString>() {
            return Err(refused("one str"));
        }
        let text = |(position, text): (usize, PyResult<Bound<'py, PyAny>>)| {
            let text = text?;
            let string = text.cast::<PyString>();
            let name = format_args!("texts[{position}]");
            let string = string.map_err(|_| not_a_text(text.as_borrowed(), name))?;
            Text::named(string, name)
        };
        let Ok(items) = object.try_iter() else {
            return Err(refused(&object.get_type().name()?.to_string()));
        };
        items
            .enumerate()
            .map(text)
            .collect::<PyResult<_>>()
            .map(Self)
    }
}

fn not_a_text(object: Borrowed<'_, '_, PyAny>, name: impl Display) -> PyErr {
    match object.get_type().name() {
        Ok(kind) => errors::error(
            ErrorCode::InvalidOption,
            format!("{name} must be a str, not {kind}"),
        ),
        Err(error) => error,
    }
}

/// Return Python's encoding error in terms of the caller's argument.
fn lone_surrogate(py: Python<'_>, error: PyErr, name: impl Display) -> PyErr {
    if !error.is_instance_of::<PyUnicodeEncodeError>(py) {
        return error;
    }
    match error
        .value(py)
        .getattr("start")
        .and_then(|start| start.extract::<usize>())
    {
        Ok(position) => errors::error(
            ErrorCode::LoneSurrogate,
            format!(
                "{name} has half of a surrogate pair at character {position}; decode its source \
                 as UTF-8 with errors=\"replace\", or remove the character"
            ),
        ),
        Err(failure) => failure,
    }
}

/// Return the tokens of each text by the named tokenizer.
#[pyfunction]
#[allow(clippy::needless_pass_by_value, reason = "as Python gives them")]
pub fn _tokenize(texts: Texts, tokenizer: &str) -> PyResult<Vec<Vec<String>>> {
    errors::call(|| {
        let tokenizer = TokenizerKind::parse(tokenizer)?;
        texts.0.iter().map(|text| tokenizer.tokens(text)).collect()
    })
}

/// Return the known word that was probably meant; None if none is near.
#[pyfunction]
pub fn _nearest(word: &Bound<'_, PyString>, known: &Bound<'_, PyAny>) -> PyResult<Option<String>> {
    let known = known.try_iter()?.map(|one| one?.extract::<String>());
    let known = known.collect::<PyResult<Vec<String>>>()?;
    let near = suggest::nearest(&word.to_string_lossy(), known.iter().map(String::as_str));
    Ok(near.map(str::to_owned))
}

type Places = Vec<(usize, usize)>;
type WantedWords = Vec<(Vec<String>, bool)>;

/// Return the positions of phrases in each text, as `(start, end)` in code points. A phrase is a list of
/// words and whether the last word is a prefix.
#[pyfunction]
#[allow(clippy::needless_pass_by_value, reason = "as Python gives them")]
pub fn _marks(
    py: Python<'_>,
    texts: Texts,
    wanted: WantedWords,
    tokenizer: &str,
) -> PyResult<Vec<Places>> {
    errors::call_detached(py, || {
        let mut marker = marker(wanted, tokenizer)?;
        let marks = |text: &Text| marker.marks(snippet::beginning(text)).map(pairs);
        texts.0.iter().map(marks).collect()
    })
}

/// Return a snippet of each content: the part with the most distinct matches, and their positions in
/// it, as `(start, end)` in code points.
#[pyfunction]
#[allow(clippy::needless_pass_by_value, reason = "as Python gives them")]
pub fn _snippets(
    py: Python<'_>,
    contents: Texts,
    titles: Texts,
    wanted: WantedWords,
    tokenizer: &str,
) -> PyResult<Vec<(String, Places)>> {
    errors::call_detached(py, || {
        let mut marker = marker(wanted, tokenizer)?;
        let chunks = contents.0.iter().zip(&titles.0);
        chunks
            .map(|(content, title)| {
                let found = snippet::snippet(content, title, &mut marker)?;
                Ok((found.text, pairs(found.marks)))
            })
            .collect()
    })
}

fn marker(wanted: WantedWords, tokenizer: &str) -> hedgerow_engine::Result<Highlighter> {
    let wanted: Vec<_> = wanted
        .into_iter()
        .map(|(words, prefix)| MarkedPhrase { words, prefix })
        .collect();
    Highlighter::new(&wanted, TokenizerKind::parse(tokenizer)?)
}

fn pairs(places: Vec<Range<usize>>) -> Places {
    places.into_iter().map(|at| (at.start, at.end)).collect()
}

/// Return texts as Rust has them.
pub fn texts(given: &[Text]) -> Vec<String> {
    given.iter().map(|text| text.to_string()).collect()
}
