//! The BM25 leg: one text searched by keywords, as often as the ladder needs.

use super::legs::selection;
use super::request::{Request, Setup};
use super::score_fusion::greatest_bm25;
use crate::error::Result;
use crate::index::Hit;
use crate::query::{MatchOptions, Matching, Query, compile_fts, compile_match, parse};

/// Searches by keywords of one request.
pub(super) struct Keywords<'a> {
    pub setup: &'a Setup<'a>,
    pub request: &'a Request<'a>,
}

/// What one search by keywords found.
#[derive(Default)]
pub(super) struct Matches {
    /// The hits, best first.
    pub hits: Vec<Hit>,
    /// Whether they are of the fuzzy rung: then the scores are similarities.
    pub fuzzy: bool,
    /// What no BM25 can exceed, for the expression that ran; where score fusion asks for it.
    pub greatest: Option<f64>,
}

/// The query itself, compiled in both forms.
pub(super) struct Compiled {
    pub query: Query,
    /// The normative text.
    pub fts: String,
    /// What SQLite runs.
    pub matching: String,
}

impl Keywords<'_> {
    /// Compile the query of the request, with its dates.
    pub fn compile(&self) -> Result<Compiled> {
        let Request {
            query: text,
            augmented,
            date_hints,
            ..
        } = self.request;
        let normative = parse(augmented.unwrap_or(text))?;
        // Extended matching reads the words as they were asked, and has the dates as hints.
        let query = match self.setup.matching {
            Matching::Spec => normative.clone(),
            Matching::Extended => parse(text)?,
        };
        Ok(Compiled {
            fts: compile_fts(&normative, self.setup.aliases, self.setup.default_operator)?,
            matching: compile_match(&query, &self.options(date_hints))?,
            query,
        })
    }

    /// Run the compiled query.
    pub fn run(&self, compiled: &Compiled) -> Result<Matches> {
        self.search_query(&compiled.query, self.request.date_hints)
    }

    /// Parse, expand, compile and run the text of a rung.
    pub fn search(&self, text: &str) -> Result<Matches> {
        self.search_query(&parse(text)?, &[])
    }

    /// The fuzzy rung.
    pub fn fuzzy(&self, tokens: &[String]) -> Result<Matches> {
        let Setup { index, fuzzy, .. } = self.setup;
        Ok(Matches {
            hits: fuzzy.search(index, tokens, &selection(self.setup, self.request))?,
            fuzzy: true,
            greatest: None,
        })
    }

    fn search_query(&self, query: &Query, date_hints: &[String]) -> Result<Matches> {
        let selection = selection(self.setup, self.request);
        let options = self.options(date_hints);
        let found = (self.setup.index).match_chunks(query, &selection, &options)?;
        Ok(Matches {
            greatest: found.phrases.as_ref().map(greatest_bm25),
            hits: found.hits,
            fuzzy: false,
        })
    }

    fn options<'b>(&'b self, date_hints: &'b [String]) -> MatchOptions<'b> {
        MatchOptions {
            aliases: self.setup.aliases,
            default_operator: self.setup.default_operator,
            matching: self.setup.matching,
            date_hints,
            tokenizer: self.setup.index.tokenizer(),
        }
    }
}
