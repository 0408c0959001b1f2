//! The BM25 leg: keyword searches for one request, one for each rung of the ladder.

use super::collection::Reader;
use super::leg_error::of_the_leg;
use super::matches::{Match, Matches, TextSource};
use super::request::{Request, Setup};
use super::score_fusion::bm25_bound;
use crate::calendar::periods;
use crate::chunks::{FullText, RankedRow};
use crate::error::Result;
use crate::query::{
    self, MatchExpression, MatchOptions, Matching, Vocabulary, compile_fts, expand,
    match_expression, not_searched_for, notices, parse_augmented, parse_with, plain_signs,
};
use crate::rule;

/// Searches by keywords of one request.
pub(super) struct Keywords<'a> {
    pub reader: &'a dyn Reader,
    pub setup: &'a Setup<'a>,
    pub request: &'a Request<'a>,
}

/// The query, compiled to the normative text and to the expression to run.
pub(super) struct Compiled {
    /// The normative text.
    pub fts: String,
    /// The expression to search.
    pub expression: MatchExpression,
    /// The words of the query that are not searched for.
    pub not_searched_for: Vec<String>,
    /// Notices about the query for the reader of results.
    pub notices: Vec<String>,
    /// Whether extended matching could not look up other spellings, because the collection lists no words.
    pub has_no_spellings: bool,
}

impl Compiled {
    /// Compile the query of a request with its dates. A reader adds spellings from its vocabulary.
    pub fn new(
        reader: Option<&dyn Reader>,
        setup: &Setup<'_>,
        request: &Request<'_>,
    ) -> Result<Self> {
        let extended = setup.matching == Matching::Extended;
        let vocabulary = reader
            .filter(|_| extended)
            .and_then(|reader| reader.vocabulary(request.filters));
        let Some(vocabulary) = vocabulary else {
            let mut compiled = Self::with(reader, setup, request, None)?;
            compiled.has_no_spellings =
                extended && reader.is_some() && !compiled.expression.is_empty();
            return Ok(compiled);
        };
        match Self::with(reader, setup, request, Some(&*vocabulary)) {
            // The query is still useful without other spellings.
            Err(error) => {
                of_the_leg(error)?;
                Self::with(reader, setup, request, None)
            }
            compiled => compiled,
        }
    }

    fn with(
        reader: Option<&dyn Reader>,
        setup: &Setup<'_>,
        request: &Request<'_>,
        vocabulary: Option<&dyn Vocabulary>,
    ) -> Result<Self> {
        let Request {
            augmented,
            date_hints,
            ..
        } = request;
        let undated = undated(setup, request);
        let text = undated.as_deref().unwrap_or(request.query);
        let stopwords = setup.collection.stopwords();
        let query = match augmented {
            Some(augmented) => parse_augmented(text, augmented, stopwords)?,
            None => parse_with(text, stopwords)?,
        };
        let options = MatchOptions {
            vocabulary,
            ..options(reader, setup, date_hints)?
        };
        let (fts, expression) = match setup.matching {
            Matching::Spec => {
                // Aliases are expanded once, for both forms.
                let expanded = |query| match setup.aliases {
                    Some(aliases) => expand(&query, aliases),
                    None => Ok(query),
                };
                let plain = plain_signs(&query.raw);
                let query = expanded(query)?;
                let options = MatchOptions {
                    aliases: None,
                    ..options
                };
                let expression = match plain {
                    Some(text) => {
                        match_expression(&expanded(parse_with(&text, stopwords)?)?, &options)?
                    }
                    None => match_expression(&query, &options)?,
                };
                let fts = compile_fts(&query, None, setup.default_operator)?;
                (fts, expression)
            }
            Matching::Extended => {
                let fts = compile_fts(&query, setup.aliases, setup.default_operator)?;
                // Extended matching reads the words of the query itself; dates are hints.
                let expression = match augmented {
                    Some(_) => match_expression(&parse_with(text, stopwords)?, &options)?,
                    None => match_expression(&query, &options)?,
                };
                (fts, expression)
            }
        };
        Ok(Self {
            not_searched_for: not_searched_for(text, &options)?,
            notices: notices(text, &options, &expression)?,
            fts,
            expression,
            has_no_spellings: false,
        })
    }
}

impl<'a> Keywords<'a> {
    /// Run the compiled query.
    pub fn run(&self, compiled: &Compiled) -> Result<Matches<'a>> {
        self.search_expression(&compiled.expression)
    }

    /// Parse, expand, compile and run the text of a rung.
    pub fn search(&self, text: &str) -> Result<Matches<'a>> {
        let expression = match_expression(
            &parse_with(text, self.setup.collection.stopwords())?,
            &options(Some(self.reader), self.setup, &[])?,
        )?;
        self.search_expression(&expression)
    }

    /// The fuzzy rung.
    pub fn fuzzy(&self, tokens: &[String]) -> Result<Matches<'a>> {
        let selection = self.request.selection(self.setup);
        let mut found = self.setup.fuzzy.search(self.reader, tokens, &selection)?;
        let group_of = |one: &Match<'_>| self.reader.group_of(one.key?);
        self.request.cut(self.setup, &mut found, group_of);
        Ok(Matches {
            found,
            fuzzy: true,
            bound: None,
        })
    }

    fn search_expression(&self, expression: &MatchExpression) -> Result<Matches<'a>> {
        let selection = self.request.selection(self.setup);
        let mut matched = self.reader.match_rows(expression, &selection)?;
        let group_of = |one: &RankedRow| self.reader.group_of(one.row);
        self.request.cut(self.setup, &mut matched.rows, group_of);
        let found = matched.rows.into_iter().map(|found| Match {
            source: TextSource::Row(found.row),
            key: Some(found.key),
            score: found.score,
        });
        Ok(Matches {
            found: found.collect(),
            fuzzy: false,
            bound: matched.phrases.as_ref().map(bm25_bound),
        })
    }
}

rule! {
    /// The words of a period that counts from the day of the question, such as *last week*, are not searched: texts from
    /// then do not have them.
    pub static WORDS_OF_PERIODS = "words of periods" {}
}

/// The query without phrases for periods that count from its day. None if all its words are searched: without such a
/// phrase, or other words, and in a query with operators, whose operands they are.
fn undated(setup: &Setup<'_>, request: &Request<'_>) -> Option<String> {
    if request.today.is_none() || !setup.counts_dates() || !WORDS_OF_PERIODS.is_on() {
        return None;
    }
    let undated = periods(request.query, request.today).undated?;
    let has_words = undated.contains(char::is_alphanumeric);
    let has_operators = || {
        let query = parse_with(request.query, setup.collection.stopwords());
        query.is_ok_and(|query| query.has_operators)
    };
    (has_words && !has_operators()).then_some(undated)
}

/// Whether a text has a word that a search looks for, beside stop words and short ones.
pub fn has_words(reader: &dyn Reader, setup: &Setup<'_>, text: &str) -> Result<bool> {
    let options = options(Some(reader), setup, &[])?;
    Ok(query::has_words(text, &options))
}

fn options<'a>(
    reader: Option<&dyn Reader>,
    setup: &Setup<'a>,
    date_hints: &'a [String],
) -> Result<MatchOptions<'a>> {
    let full_text = match reader {
        Some(reader) => reader.full_text()?,
        None => FullText {
            tokenizer: setup.collection.tokenizer(),
            latin_stems: false,
        },
    };
    Ok(MatchOptions {
        aliases: setup.aliases,
        default_operator: setup.default_operator,
        matching: setup.matching,
        date_hints,
        tokenizer: full_text.tokenizer,
        latin_stems: full_text.latin_stems,
        stopwords: setup.collection.stopwords(),
        ..MatchOptions::default()
    })
}
