//! The options of the executable form.

use super::alias::AliasTable;
use super::ast::Connective;
use super::stopwords::{FUNCTION_WORDS, StopWords};
use super::vocabulary::Vocabulary;
use crate::text::tokenizer::TokenizerKind;

/// How a query's words are matched.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Matching {
    /// As the specification has it.
    #[default]
    Spec,
    /// For better recall: word parts, numbers, abbreviations (spec/compile.md, "Extended matching").
    Extended,
}

impl Matching {
    /// Return the name.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Spec => "spec",
            Self::Extended => "extended",
        }
    }
}

/// The options of `compile_match`. The default is the specification's, not that of new files.
#[derive(Debug, Clone, Copy)]
pub struct MatchOptions<'a> {
    /// Alternatives for terms.
    pub aliases: Option<&'a AliasTable>,
    /// The operator between tokens without one.
    pub default_operator: Connective,
    /// How words are matched.
    pub matching: Matching,
    /// Dates to look for in addition to a bare query.
    pub date_hints: &'a [String],
    /// The tokenizer of the index that will run the expression.
    pub tokenizer: TokenizerKind,
    /// Whether Latin words have stems in that index, which the tokenizer `words` gives some texts.
    pub latin_stems: bool,
    /// The stop words of a bare query in extended matching. In other matching they are dropped by
    /// the parser.
    pub stopwords: &'a StopWords,
    /// The words of the index, in which extended matching finds other spellings. None to skip other
    /// spellings.
    pub vocabulary: Option<&'a dyn Vocabulary>,
    /// Whether the query has so few words that short ones are searched as the beginnings of others too.
    pub is_short: bool,
}

impl MatchOptions<'_> {
    /// Whether a bare query is not searched for `token` (lower-case).
    pub(super) fn is_stopword(&self, token: &str) -> bool {
        match self.matching {
            Matching::Extended if FUNCTION_WORDS.is_on() => {
                self.stopwords.contains_function_word(token)
            }
            Matching::Spec | Matching::Extended => self.stopwords.contains(token),
        }
    }

    /// Whether a term is a key of the alias table.
    pub(super) fn has_alias(&self, text: &str) -> bool {
        self.aliases.is_some_and(|aliases| aliases.has_key(text))
    }
}

impl Default for MatchOptions<'_> {
    fn default() -> Self {
        Self {
            aliases: None,
            default_operator: Connective::default(),
            matching: Matching::default(),
            date_hints: &[],
            tokenizer: TokenizerKind::Porter,
            latin_stems: false,
            stopwords: Default::default(),
            vocabulary: None,
            is_short: false,
        }
    }
}
