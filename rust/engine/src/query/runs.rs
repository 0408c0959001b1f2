//! Expressions for the tokenizer `words`: runs of scripts without spaces as pairs of their units, and words
//! with their stems (spec/compile.md, "Scripts without spaces").

use super::ast::Connective;
use super::expression::{Alternatives, MatchExpression, Phrase};
use super::limits;
use crate::error::Result;
use crate::text::words::{Parts, PhrasePart, Stems};

/// The longest run in units that is also searched for as a phrase.
const LONGEST_PHRASE: usize = 8;
/// The most words of a query that are also searched for as they are written.
const FEW_WORDS: usize = 2;

/// How the expression of a query is split.
#[derive(Debug)]
pub(super) struct Splitting {
    /// Whether the query has no operators.
    bare: bool,
    /// The operator between the words of a bare query.
    connective: Connective,
    /// Whether the query is of one or two words.
    is_short: bool,
    /// The stems that Latin words count by.
    latin: Stems,
    /// Whether Latin words have stems at all.
    has_latin_stems: bool,
}

impl Splitting {
    /// The splitting of a query of `words` words with the text `raw`. `latin_stems` says whether Latin words
    /// have stems in the index.
    pub fn of(
        raw: &str,
        bare: bool,
        words: usize,
        connective: Connective,
        latin_stems: bool,
    ) -> Self {
        let latin = if latin_stems && raw.is_ascii() {
            Stems::Unaccented
        } else {
            Stems::Usual
        };
        Self {
            bare,
            connective,
            is_short: words <= FEW_WORDS,
            latin,
            has_latin_stems: latin_stems,
        }
    }

    /// Split the phrases of an expression. Fails if they have too many pairs.
    pub fn split(&self, expression: &MatchExpression) -> Result<MatchExpression> {
        let mut split = MatchExpression::default();
        let mut pairs = 0;
        let parts = |phrase: &Phrase| Parts::of(&phrase.text);
        for all in &expression.any {
            let mut conjunction: Vec<Alternatives> = Vec::with_capacity(all.len());
            for alternatives in all {
                let read: Vec<(&Phrase, Parts)> = alternatives
                    .iter()
                    .map(|phrase| (phrase, parts(phrase)))
                    .collect();
                pairs += read.iter().map(|(_, parts)| parts.pairs()).sum::<usize>();
                match read.as_slice() {
                    [(phrase, parts)] if self.bare && self.connective == Connective::And => {
                        conjunction.extend(self.all_of(phrase, parts));
                    }
                    read if self.bare && self.connective == Connective::Or => {
                        let any = read
                            .iter()
                            .flat_map(|(phrase, parts)| self.any_of(phrase, parts));
                        split.any.extend(any.map(|phrase| vec![vec![phrase]]));
                    }
                    read => conjunction.push(
                        read.iter()
                            .map(|(phrase, parts)| self.whole(phrase, parts))
                            .collect(),
                    ),
                }
            }
            if !conjunction.is_empty() {
                split.any.push(conjunction);
            }
        }
        for phrase in &expression.none {
            let parts = parts(phrase);
            pairs += parts.pairs();
            split.none.push(self.whole(phrase, &parts));
        }
        limits::check_count(pairs)?;
        Ok(split)
    }

    /// The phrases of which any will do in place of a word: its words, the pairs of its runs, the runs
    /// themselves unless they are long, and the words as they are written.
    fn any_of(&self, phrase: &Phrase, parts: &Parts) -> Vec<Phrase> {
        if phrase.stems == Stems::Symbols {
            return vec![phrase.clone()];
        }
        if is_whole(phrase) {
            return self.with_written(self.whole(phrase, parts), parts);
        }
        let mut any: Vec<Phrase> = Vec::new();
        for part in &parts.parts {
            match part {
                PhrasePart::Words(words) => {
                    let only = Parts {
                        text: words.text.clone(),
                        parts: vec![part.clone()],
                    };
                    any.extend(self.with_written(self.words(&words.text), &only));
                }
                PhrasePart::Run { units, is_hangul } => {
                    any.extend(pairs(units));
                    let as_phrase = if *is_hangul {
                        self.is_short
                    } else {
                        units.len() <= LONGEST_PHRASE
                    };
                    if units.len() > 2 && as_phrase {
                        any.push(plain(units.concat(), false));
                    }
                }
            }
        }
        for part in &mut any {
            part.variant_of.clone_from(&phrase.variant_of);
        }
        any
    }

    /// The groups that replace a word if all its pairs must match.
    fn all_of(&self, phrase: &Phrase, parts: &Parts) -> Vec<Alternatives> {
        if is_whole(phrase) {
            return vec![vec![self.whole(phrase, parts)]];
        }
        let mut all = Vec::new();
        for part in &parts.parts {
            match part {
                PhrasePart::Words(words) => all.push(vec![self.words(&words.text)]),
                PhrasePart::Run { units, .. } => {
                    all.extend(pairs(units).map(|phrase| vec![phrase]));
                }
            }
        }
        all
    }

    /// The phrase as a whole.
    fn whole(&self, phrase: &Phrase, parts: &Parts) -> Phrase {
        if phrase.stems == Stems::Symbols {
            return phrase.clone();
        }
        Phrase {
            prefix: phrase.prefix || parts.ends_with_unit(),
            variant_of: phrase.variant_of.clone(),
            ..self.words(&parts.text)
        }
    }

    fn words(&self, text: &str) -> Phrase {
        Phrase {
            text: text.to_owned(),
            stems: self.latin,
            ..Phrase::default()
        }
    }

    /// A phrase, and in a short query the same without stems, if it has any.
    fn with_written(&self, phrase: Phrase, parts: &Parts) -> Vec<Phrase> {
        let has_stem = parts.parts.iter().any(|part| match part {
            PhrasePart::Words(words) => {
                words.other_stem || (words.latin_stem && self.has_latin_stems)
            }
            PhrasePart::Run { .. } => false,
        });
        let written = (self.is_short && has_stem && !phrase.prefix).then(|| Phrase {
            stems: Stems::None,
            ..phrase.clone()
        });
        [phrase].into_iter().chain(written).collect()
    }
}

/// Whether a phrase of a bare query is not split: a prefix, several words in a row.
fn is_whole(phrase: &Phrase) -> bool {
    phrase.prefix || phrase.text.contains(char::is_whitespace)
}

/// The overlapping pairs of units; one unit alone as a prefix, which finds it in pairs.
fn pairs(units: &[String]) -> impl Iterator<Item = Phrase> {
    let alone = (units.len() == 1).then(|| plain(units.concat(), true));
    let pairs = units.windows(2).map(|pair| plain(pair.concat(), false));
    alone.into_iter().chain(pairs)
}

fn plain(text: String, prefix: bool) -> Phrase {
    Phrase {
        text,
        prefix,
        ..Phrase::default()
    }
}
