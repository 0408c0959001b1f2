//! The expression SQLite runs, as a tree of the few shapes we ever emit (spec/compile.md).

use std::borrow::Cow;
use std::fmt::{self, Display, Formatter, Write};

use super::ast::{Connective, Operator, Token, TokenKind};
use crate::text::words::Stems;

/// A quoted text, as FTS5 reads it: its tokens in a row, the last one perhaps a prefix.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub struct Phrase {
    /// The text between the quotes.
    pub text: String,
    /// Whether the last word only begins with the text.
    pub prefix: bool,
    /// The stems that the tokenizer `words` finds it by too.
    pub stems: Stems,
    /// The word of the query that it is another spelling of. Its term scores count half.
    pub variant_of: Option<String>,
}

/// Phrases of which any one will do: a token, or the alternatives of an alias.
pub type Alternatives = Vec<Phrase>;

/// The expression for an index: `any` of its conjunctions, and `none` of its phrases.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct MatchExpression {
    /// OR of ANDs of alternatives.
    pub any: Vec<Vec<Alternatives>>,
    /// Phrases that a result must not hold.
    pub none: Vec<Phrase>,
}

impl Phrase {
    /// Return the FTS5 form of a token.
    pub(super) fn of(token: &Token) -> Self {
        Self {
            text: token.text.clone(),
            prefix: token.kind == TokenKind::Prefix,
            ..Self::default()
        }
    }

    /// Return the phrase of a text, with its words unchanged.
    pub fn of_text(text: &str) -> Self {
        Self {
            text: text.to_owned(),
            ..Self::default()
        }
    }

    /// Another spelling of a word of the query.
    pub(super) fn variant(text: String, word: &str) -> Self {
        Self {
            text,
            variant_of: Some(word.to_owned()),
            ..Self::default()
        }
    }

    /// A word with the symbols that tell it from others, such as `c++`.
    pub(super) fn with_symbols(text: String) -> Self {
        Self {
            text,
            stems: Stems::Symbols,
            ..Self::default()
        }
    }

    /// The text as FTS5 reads it: a NUL would end the expression, and the other control
    /// characters separate words as a space does. A mark before it says which stems count.
    pub fn searched_text(&self) -> Cow<'_, str> {
        let text = self.plain_text();
        match self.stems.mark() {
            None => text,
            Some(mark) => Cow::Owned(format!("{mark}{text}")),
        }
    }

    /// The text without control characters.
    fn plain_text(&self) -> Cow<'_, str> {
        if self.text.contains(char::is_control) {
            Cow::Owned(self.text.replace(char::is_control, " "))
        } else {
            Cow::Borrowed(&self.text)
        }
    }

    /// The phrase as people read it, without the mark of its stems. None if it repeats another phrase to
    /// rank the words as they are written.
    #[must_use]
    pub fn shown(&self) -> Option<Self> {
        (self.stems != Stems::None).then(|| Self {
            stems: Stems::Usual,
            ..self.clone()
        })
    }
}

impl MatchExpression {
    /// Put groups together: every NOT applies to the whole, AND binds tighter than OR.
    pub(super) fn assemble(
        groups: impl Iterator<Item = (Option<Operator>, Alternatives)>,
        default_operator: Connective,
    ) -> Self {
        let mut expression = Self::default();
        for (index, (operator, alternatives)) in groups.enumerate() {
            let conjunctive = match operator {
                // A NOT before the first token has nothing to take away from: it is dropped.
                Some(Operator::Not) if index > 0 => {
                    expression.none.extend(alternatives);
                    continue;
                }
                Some(Operator::And) => true,
                Some(Operator::Or) => false,
                Some(Operator::Not) | None => default_operator == Connective::And,
            };
            match expression.any.last_mut() {
                Some(all) if conjunctive => all.push(alternatives),
                _ => expression.any.push(vec![alternatives]),
            }
        }
        expression
    }

    /// Return the phrases that a result may contain, in order, repeated as in the expression.
    pub fn phrases(&self) -> impl Iterator<Item = &Phrase> {
        self.any.iter().flatten().flatten()
    }

    /// The expression as people read it ([`Phrase::shown`]).
    #[must_use]
    pub fn shown(&self) -> Self {
        let shown = |phrases: &Alternatives| phrases.iter().filter_map(Phrase::shown).collect();
        let mut any: Vec<Vec<Alternatives>> = Vec::with_capacity(self.any.len());
        for all in &self.any {
            let all: Vec<Alternatives> = all.iter().map(shown).collect();
            if all.iter().all(|alternatives| !alternatives.is_empty()) {
                any.push(all);
            }
        }
        Self {
            any,
            none: shown(&self.none),
        }
    }

    /// Whether there is nothing to search for; then nothing must be run.
    pub fn is_empty(&self) -> bool {
        self.any.is_empty()
    }
}

/// The text for FTS5's MATCH. Every phrase is quoted, so no text of a user is syntax, and
/// parentheses nest at most two deep, far from FTS5's limit.
impl Display for MatchExpression {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        if self.is_empty() || self.none.is_empty() {
            return self.write_positives(f);
        }
        f.write_char('(')?;
        self.write_positives(f)?;
        f.write_str(") NOT (")?;
        write_joined(f, &self.none, " OR ", |f, phrase| phrase.fmt(f))?;
        f.write_char(')')
    }
}

impl MatchExpression {
    fn write_positives(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write_joined(f, &self.any, " OR ", |f, all| {
            // Alone between ORs, alternatives need no parentheses.
            let grouped = all.len() > 1;
            write_joined(f, all, " AND ", |f, alternatives| {
                let parentheses = grouped && alternatives.len() > 1;
                if parentheses {
                    f.write_char('(')?;
                }
                write_joined(f, alternatives, " OR ", |f, phrase| phrase.fmt(f))?;
                if parentheses {
                    f.write_char(')')
                } else {
                    Ok(())
                }
            })
        })
    }
}

impl Display for Phrase {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_char('"')?;
        f.write_str(&self.searched_text().replace('"', "\"\""))?;
        f.write_str(if self.prefix { "\" *" } else { "\"" })
    }
}

fn write_joined<T>(
    f: &mut Formatter<'_>,
    items: &[T],
    separator: &str,
    write_item: impl Fn(&mut Formatter<'_>, &T) -> fmt::Result,
) -> fmt::Result {
    for (index, item) in items.iter().enumerate() {
        if index > 0 {
            f.write_str(separator)?;
        }
        write_item(f, item)?;
    }
    Ok(())
}
