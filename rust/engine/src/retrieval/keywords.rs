//! The BM25 leg: one text searched by keywords, as often as the ladder needs.

use super::request::{Request, Setup};
use crate::error::Result;
use crate::index::Hit;
use crate::query::{MatchOptions, Matching, Query, compile_fts, compile_match, parse};

/// Searches by keywords of one request.
pub(super) struct Keywords<'a> {
    pub setup: &'a Setup<'a>,
    pub request: &'a Request<'a>,
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
    pub fn run(&self, compiled: &Compiled) -> Result<Vec<Hit>> {
        self.search_query(&compiled.query, self.request.date_hints)
    }

    /// Parse, expand, compile and run the text of a rung.
    pub fn search(&self, text: &str) -> Result<Vec<Hit>> {
        self.search_query(&parse(text)?, &[])
    }

    /// The fuzzy rung.
    pub fn fuzzy(&self, tokens: &[String]) -> Result<Vec<Hit>> {
        let Setup { index, fuzzy, .. } = self.setup;
        fuzzy.search(
            index,
            tokens,
            self.request.candidate_k,
            self.request.filters,
        )
    }

    fn search_query(&self, query: &Query, date_hints: &[String]) -> Result<Vec<Hit>> {
        let Request {
            candidate_k,
            filters,
            ..
        } = self.request;
        self.setup
            .index
            .search_bm25(query, *candidate_k, filters, &self.options(date_hints))
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
