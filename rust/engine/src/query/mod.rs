//! The query language: parse, alias expansion and the two compiled forms (spec/query.md).

pub mod alias;
pub mod ast;
pub mod compile;
pub mod explain;
pub mod expression;
mod extended;
mod groups;
pub mod limits;
mod notices;
pub mod options;
pub mod parse;
mod runs;
pub mod stopwords;
mod variants;
mod vocabulary;

pub use alias::{AliasTable, expand};
pub use ast::{Connective, Operator, Query, Token, TokenKind};
pub use compile::{compile_fts, compile_fts_text, compile_match, match_expression, plain_signs};
pub use explain::{QueryExplanation, explain, not_searched_for};
pub use expression::{MatchExpression, Phrase};
pub use extended::has_words;
pub(crate) use extended::{NAMES_AND_SHORT_WORDS, PHRASES_OF_PARTS};
pub use notices::notices;
pub use options::{MatchOptions, Matching};
pub use parse::{parse, parse_augmented, parse_with};
pub(crate) use stopwords::FUNCTION_WORDS;
pub use stopwords::StopWords;
pub(crate) use variants::{BEGINNINGS, EDITS, JOINS, SPLITS, VOWEL_MARKS};
pub use vocabulary::Vocabulary;
