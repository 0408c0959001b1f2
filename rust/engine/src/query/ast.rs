//! The parsed query: tokens, each with the operator before it.

use crate::named_enum;

use std::borrow::Cow;

named_enum! {
    /// How a token was written.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
    pub enum TokenKind {
        /// A bare word.
        Term = "term",
        /// A quoted text.
        Phrase = "phrase",
        /// A bare word that ended in `*`.
        Prefix = "prefix",
    }
}

/// An operator written in a query.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Operator {
    /// `AND`
    And,
    /// `OR`
    Or,
    /// `NOT`
    Not,
}

impl Operator {
    /// Return the operator as written: upper case only.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::And => "AND",
            Self::Or => "OR",
            Self::Not => "NOT",
        }
    }

    /// The operator a word is, if it is one.
    pub fn from_word(word: &str) -> Option<Self> {
        match word {
            "AND" => Some(Self::And),
            "OR" => Some(Self::Or),
            "NOT" => Some(Self::Not),
            _ => None,
        }
    }
}

/// The operator between two tokens without an operator between them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Connective {
    /// Any of them: the specification's default.
    #[default]
    Or,
    /// All tokens.
    And,
}

/// A searchable unit of a query, with an owned or a borrowed text.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Token<T = String> {
    /// How it was written.
    pub kind: TokenKind,
    /// The text, cleaned and in lower case.
    pub text: T,
    /// The operator written before it.
    pub operator: Option<Operator>,
}

impl Token<Cow<'_, str>> {
    /// Return the token with an owned text.
    pub fn into_owned(self) -> Token {
        Token {
            kind: self.kind,
            text: self.text.into_owned(),
            operator: self.operator,
        }
    }
}

/// A parsed query, before or after alias expansion.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Query {
    /// The normalised text.
    pub raw: String,
    /// The tokens, in the order of the text.
    pub tokens: Vec<Token>,
    /// Whether the text has a quote or an operator, which switches filtering off.
    pub has_operators: bool,
    /// After aliases are expanded: the number of tokens that each token of the text became.
    pub groups: Option<Vec<usize>>,
}

impl Query {
    /// Whether aliases were expanded already; they do not chain.
    pub fn is_expanded(&self) -> bool {
        self.groups.is_some()
    }

    /// The tokens in groups: the alternatives of one alias stand together.
    pub fn token_groups(&self) -> impl Iterator<Item = &[Token]> {
        let mut rest = self.tokens.as_slice();
        let mut sizes = self.groups.as_deref().map(<[usize]>::iter);
        std::iter::from_fn(move || {
            let size = match &mut sizes {
                Some(sizes) => *sizes.next()?,
                None => 1,
            };
            let (group, tail) = rest.split_at_checked(size)?;
            rest = tail;
            Some(group)
        })
    }
}
