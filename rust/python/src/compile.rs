//! The compiled forms of queries.

use hedgerow_engine::interrupt::CancelTicker;
use hedgerow_engine::query::{self, AliasTable, Connective, MatchOptions, Matching, parse};
use hedgerow_engine::text::tokenizer::TokenizerKind;
use hedgerow_engine::{Error, ErrorCode, Result};
use pyo3::prelude::*;

use crate::aliases::Aliases;
use crate::errors;
use crate::query::QueryOrText;
use crate::stopwords::StopWordsLike;
use crate::text::{Texts, Word};
use crate::value::Argument;

/// The normative text of a query (spec/compile.md, "Normative form").
///
/// `operator` ("OR" or "AND") joins tokens that have no operator between them, "OR" if not given.
/// The text is for reading and comparing: what SQLite runs
/// is `compile_match`.
#[pyfunction]
#[pyo3(signature = (query_or_text, aliases=None, *, operator=None))]
pub fn compile_fts(
    query_or_text: QueryOrText,
    aliases: Option<Aliases<'_>>,
    operator: Option<Word>,
) -> PyResult<String> {
    errors::call(|| {
        let connective = joined_by(operator.as_deref())?;
        let aliases = aliases.as_ref().map(Aliases::table);
        match &query_or_text {
            QueryOrText::Query(query) => query::compile_fts(&query.get().0, aliases, connective),
            QueryOrText::Text(text) => query::compile_fts_text(text, aliases, connective),
        }
    })
}

/// Return the expression that SQLite runs for a query (spec/compile.md, "Executable form"), or "".
///
/// FTS5 accepts every result. "" means to run nothing. `matching` is "spec" or "extended"; `date_hints` are
/// dates that a bare query also looks for; `stopwords` and `tokenizer` are as in `Index.open`, but the
/// default of `tokenizer` is that of the specification. Phrases in which the tokenizer finds no token are
/// left out.
///
/// Raises InvalidInputError for wrong options, and QueryTooLargeError.
#[pyfunction]
#[pyo3(
    signature = (query_or_text, aliases=None, *, operator=None, matching=Word::of("spec"), date_hints=None, tokenizer=Word::of("porter unicode61"), stopwords=None),
    text_signature = "(query_or_text, aliases=None, *, operator=None, matching='spec', date_hints=(), tokenizer='porter unicode61', stopwords='en+nl')"
)]
#[allow(clippy::too_many_arguments, reason = "keyword arguments in Python")]
pub fn compile_match(
    query_or_text: QueryOrText,
    aliases: Option<Aliases<'_>>,
    operator: Option<Word>,
    matching: Word,
    date_hints: Option<&Bound<'_, PyAny>>,
    tokenizer: Word,
    stopwords: Option<StopWordsLike>,
) -> PyResult<String> {
    let stopwords = stopwords.map(|chosen| chosen.0).unwrap_or_default();
    let argument = Argument {
        name: "date_hints",
        code: ErrorCode::InvalidOption,
    };
    let date_hints = date_hints.map_or_else(|| Ok(Vec::new()), |hints| argument.texts(hints))?;
    errors::call(|| {
        let options = MatchOptions {
            aliases: aliases.as_ref().map(Aliases::table),
            default_operator: joined_by(operator.as_deref())?,
            matching: self::matching(&matching)?,
            date_hints: &date_hints,
            tokenizer: TokenizerKind::parse(&tokenizer)?,
            stopwords: &stopwords,
            ..MatchOptions::default()
        };
        query_or_text.with(&stopwords, |query| query::compile_match(query, &options))
    })
}

/// Compile many texts in one call, during which other threads can run.
///
/// `target` is "fts" for what `compile_fts` gives or "match" for what `compile_match` gives.
///
/// Raises InvalidInputError for wrong options, and QueryTooLargeError with the position of the
/// text.
#[pyfunction]
#[pyo3(
    signature = (texts, aliases=None, *, target=Word::of("fts"), operator=None, matching=Word::of("spec")),
    text_signature = "(texts, aliases=None, *, target='fts', operator=None, matching='spec')"
)]
pub fn compile_many(
    py: Python<'_>,
    texts: Texts,
    aliases: Option<Aliases<'_>>,
    target: Word,
    operator: Option<Word>,
    matching: Word,
) -> PyResult<Vec<String>> {
    let aliases = aliases.as_ref().map(Aliases::table);
    errors::call_detached(py, || {
        let connective = joined_by(operator.as_deref())?;
        let matching = self::matching(&matching)?;
        let target = Target::from_name(&target)?;
        let mut pace = CancelTicker::default();
        let mut compile = |text: &str| {
            pace.step(1 + text.len())?;
            target.compile(text, aliases, connective, matching)
        };
        let named = |at: usize| move |error: Error| error.at(&format!("texts[{at}]"));
        texts
            .0
            .iter()
            .enumerate()
            .map(|(at, text)| compile(text).map_err(named(at)))
            .collect()
    })
}

#[derive(Clone, Copy)]
enum Target {
    Fts,
    Match,
}

impl Target {
    fn from_name(name: &str) -> Result<Self> {
        match name {
            "fts" => Ok(Self::Fts),
            "match" => Ok(Self::Match),
            _ => Err(invalid_option("target", "\"fts\" or \"match\"", name)),
        }
    }

    fn compile(
        self,
        text: &str,
        aliases: Option<&AliasTable>,
        default_operator: Connective,
        matching: Matching,
    ) -> Result<String> {
        match self {
            Self::Fts => query::compile_fts_text(text, aliases, default_operator),
            Self::Match => {
                let query = parse(text)?;
                let options = MatchOptions {
                    aliases,
                    default_operator,
                    matching,
                    ..MatchOptions::default()
                };
                query::compile_match(&query, &options)
            }
        }
    }
}

/// The connective that the option `operator` names, "OR" by default.
pub fn joined_by(operator: Option<&str>) -> Result<Connective> {
    operator.map_or(Ok(Connective::default()), connective)
}

/// The connective of that name.
pub fn connective(name: &str) -> Result<Connective> {
    match name {
        "OR" => Ok(Connective::Or),
        "AND" => Ok(Connective::And),
        _ => Err(invalid_option("operator", "\"OR\" or \"AND\"", name)),
    }
}

/// The matching of that name.
pub fn matching(name: &str) -> Result<Matching> {
    match name {
        "spec" => Ok(Matching::Spec),
        "extended" => Ok(Matching::Extended),
        _ => Err(invalid_option("matching", "\"spec\" or \"extended\"", name)),
    }
}

fn invalid_option(option: &str, allowed: &str, given: &str) -> Error {
    Error::new(
        ErrorCode::InvalidOption,
        format!("{option} must be {allowed}, not {given:?}"),
    )
}
