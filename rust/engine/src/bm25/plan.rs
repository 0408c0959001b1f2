//! An expression without its repetitions, ready to be looked up.

use std::collections::HashMap;
use std::hash::Hash;

use super::phrase::Tokens;
use crate::error::Result;
use crate::query::{MatchExpression, Phrase};
use crate::text::tokenizer::TokenizerKind;

/// Phrases of which all must be there: of each group, one.
pub(super) type Conjunction = Vec<Vec<usize>>;

/// An expression in which everything that comes again is named by the index of the first.
#[derive(Debug, Default)]
pub(crate) struct Plan {
    /// The different phrases, as they are given to FTS5 and as tokens.
    pub(super) texts: Vec<Phrase>,
    pub(super) phrases: Vec<Tokens>,
    /// The different conjunctions, of indices of phrases.
    pub(super) conjunctions: Vec<Conjunction>,
    /// What adds to a score: a phrase where it stands in a conjunction. A chunk gets it when it
    /// holds the phrase and meets the conjunction.
    pub(super) addends: Vec<Addend>,
    /// In which order addends are added up, and how often each before the next.
    pub(super) order: Vec<(usize, u32)>,
    /// Phrases that a chunk must not hold.
    pub(super) none: Vec<usize>,
    /// Whether FTS5 alone knows what it makes of the expression.
    pub(crate) only_fts5: bool,
}

/// A phrase in a conjunction, by their indices.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct Addend {
    pub conjunction: usize,
    pub phrase: usize,
}

/// FTS5 has a flaw that no other copy of it should have. Where all tokens of an AND within an OR or
/// a NOT meet in a row, but not as the phrases they make, FTS5 forgets the occurrences that the
/// alternatives in it have in *later* rows, and scores those rows too low. Such expressions, with
/// alternatives and phrases of several tokens in one AND, are left to FTS5.
impl Plan {
    pub fn of(expression: &MatchExpression, tokenizer: TokenizerKind) -> Result<Self> {
        let (mut phrases, mut conjunctions) = (Numbers::default(), Numbers::default());
        let mut texts = Vec::new();
        let mut number = |phrase: &Phrase| -> Result<usize> {
            let index = phrases.of(Tokens::of(phrase, tokenizer)?);
            if index == texts.len() {
                texts.push(phrase.clone());
            }
            Ok(index)
        };
        let mut addends = Numbers::default();
        let mut order: Vec<(usize, u32)> = Vec::new();
        for all in &expression.any {
            let mut conjunction = Vec::with_capacity(all.len());
            for alternatives in all {
                let mut group = Vec::with_capacity(alternatives.len());
                for phrase in alternatives {
                    group.push(number(phrase)?);
                }
                conjunction.push(group);
            }
            let members: Vec<usize> = conjunction.iter().flatten().copied().collect();
            let conjunction = conjunctions.of(conjunction);
            for phrase in members {
                let addend = addends.of(Addend {
                    conjunction,
                    phrase,
                });
                match order.last_mut() {
                    Some((last, times)) if *last == addend => *times += 1,
                    _ => order.push((addend, 1)),
                }
            }
        }
        let mut none = Vec::with_capacity(expression.none.len());
        for phrase in &expression.none {
            none.push(number(phrase)?);
        }
        none.sort_unstable();
        none.dedup();
        let nested = expression.any.len() > 1 || !none.is_empty();
        let forgetful = |all: &Conjunction| {
            all.len() > 1
                && all.iter().any(|group| group.len() > 1)
                && all
                    .iter()
                    .flatten()
                    .any(|phrase| phrases.things[*phrase].len() > 1)
        };
        Ok(Self {
            only_fts5: nested && conjunctions.things.iter().any(forgetful),
            texts,
            phrases: phrases.things,
            conjunctions: conjunctions.things,
            addends: addends.things,
            order,
            none,
        })
    }
}

impl Plan {
    /// What FTS5 is to run for an expression, and which phrases of that to add up, in order.
    ///
    /// Nothing stands there twice that would find the same, except where FTS5's flaw depends on it.
    pub fn for_fts5(&self, expression: &MatchExpression) -> (MatchExpression, Vec<u32>) {
        if self.only_fts5 {
            let phrases = expression.any.iter().flatten().flatten();
            return (
                expression.clone(),
                (0..).zip(phrases).map(|(n, _)| n).collect(),
            );
        }
        let text = |phrase: &usize| self.texts[*phrase].clone();
        let mut any = Vec::with_capacity(self.conjunctions.len());
        let mut numbers = HashMap::new();
        let mut number = 0_u32;
        for (conjunction, all) in self.conjunctions.iter().enumerate() {
            let mut groups = Numbers::default();
            for group in all {
                let mut alternatives = Numbers::default();
                for phrase in group {
                    alternatives.of(*phrase);
                }
                groups.of(alternatives.things);
            }
            for phrase in groups.things.iter().flatten() {
                numbers.entry((conjunction, *phrase)).or_insert(number);
                number += 1;
            }
            let groups = groups
                .things
                .iter()
                .map(|group| group.iter().map(text).collect());
            any.push(groups.collect());
        }
        let mut order = Vec::new();
        for (addend, times) in &self.order {
            let Addend {
                conjunction,
                phrase,
            } = self.addends[*addend];
            if let Some(number) = numbers.get(&(conjunction, phrase)) {
                order.extend(std::iter::repeat_n(*number, *times as usize));
            }
        }
        let none = self.none.iter().map(text).collect();
        (MatchExpression { any, none }, order)
    }
}

/// Different things, in the order in which they came first.
struct Numbers<T> {
    things: Vec<T>,
    indices: HashMap<T, usize>,
}

impl<T> Default for Numbers<T> {
    fn default() -> Self {
        Self {
            things: Vec::new(),
            indices: HashMap::new(),
        }
    }
}

impl<T: Clone + Eq + Hash> Numbers<T> {
    fn of(&mut self, thing: T) -> usize {
        let Self { things, indices } = self;
        *indices.entry(thing).or_insert_with_key(|thing| {
            things.push(thing.clone());
            things.len() - 1
        })
    }
}
