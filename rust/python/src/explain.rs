//! The fields of what `hedgerow.explain_query` returns.

use hedgerow_engine::query::{self, MatchOptions};
use hedgerow_engine::text::tokenizer::TokenizerKind;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::aliases::Aliases;
use crate::compile;
use crate::errors;
use crate::query::PyToken;
use crate::stopwords::StopWordsLike;
use crate::text::{Text, Word};

/// The fields of a `QueryExplanation`, as a dict.
#[pyfunction]
#[pyo3(signature = (text, aliases, tokenizer, default_operator, matching, stopwords))]
pub fn explain_query<'py>(
    py: Python<'py>,
    text: Text,
    aliases: Option<Aliases<'_>>,
    tokenizer: Word,
    default_operator: Word,
    matching: Word,
    stopwords: Option<StopWordsLike>,
) -> PyResult<Bound<'py, PyDict>> {
    let stopwords = stopwords.map(|chosen| chosen.0).unwrap_or_default();
    let explanation = errors::call(|| {
        let options = MatchOptions {
            aliases: aliases.as_ref().map(Aliases::table),
            default_operator: compile::connective(&default_operator)?,
            matching: compile::matching(&matching)?,
            tokenizer: TokenizerKind::parse(&tokenizer)?,
            stopwords: &stopwords,
            ..MatchOptions::default()
        };
        query::explain(&text, &options)
    })?;
    let mut words = Vec::with_capacity(explanation.words.len());
    for word in explanation.words {
        let tokens: Vec<PyToken> = word.tokens.into_iter().map(PyToken::from).collect();
        words.push((word.source, word.outcome, tokens, word.reason, word.detail));
    }
    let fields = PyDict::new(py);
    fields.set_item("normalised", explanation.normalised)?;
    fields.set_item("filtered", explanation.filtered)?;
    fields.set_item("words", words)?;
    fields.set_item("fts", explanation.fts)?;
    fields.set_item("match", explanation.match_text)?;
    Ok(fields)
}
