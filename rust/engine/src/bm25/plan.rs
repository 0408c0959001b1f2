//! An expression without its repetitions, ready to be looked up.

use std::collections::HashMap;
use std::hash::Hash;

use super::phrase::Tokens;
use crate::error::Result;
use crate::query::{MatchExpression, Phrase};
use crate::text::tokenizer::TokenizerKind;

/// Groups of phrases: a chunk meets it when it holds one of each group.
pub(super) type Conjunction = Vec<Vec<usize>>;

/// An expression whose phrases and conjunctions are kept once each and referred to by index.
#[derive(Debug, Default)]
pub(crate) struct Plan {
    /// The distinct phrases, as FTS5 is given them and as tokens.
    pub(super) texts: Vec<Phrase>,
    pub(super) phrases: Vec<Tokens>,
    /// The distinct conjunctions, of indices of phrases.
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

/// FTS5 has a flaw that is not copied. Where all tokens of an AND within an OR or
/// a NOT meet in a row, but not as the phrases they make, FTS5 forgets the occurrences that the
/// alternatives in it have in *later* rows, and scores those rows too low. Such expressions, with
/// alternatives and phrases of several tokens in one AND, are left to FTS5.
impl Plan {
    pub fn of(expression: &MatchExpression, tokenizer: TokenizerKind) -> Result<Self> {
        let (mut phrases, mut conjunctions) = (Interner::default(), Interner::default());
        let mut texts = Vec::new();
        let mut number = |phrase: &Phrase| -> Result<usize> {
            let index = phrases.intern(Tokens::of(phrase, tokenizer)?);
            if index == texts.len() {
                texts.push(phrase.clone());
            }
            Ok(index)
        };
        let mut addends = Interner::default();
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
            let conjunction = conjunctions.intern(conjunction);
            for phrase in members {
                let addend = addends.intern(Addend {
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
                    .any(|phrase| phrases.items[*phrase].len() > 1)
        };
        Ok(Self {
            only_fts5: nested && conjunctions.items.iter().any(forgetful),
            texts,
            phrases: phrases.items,
            conjunctions: conjunctions.items,
            addends: addends.items,
            order,
            none,
        })
    }
}

impl Plan {
    /// What FTS5 is to run for an expression, and which phrases of that to add up, in order.
    ///
    /// Repetitions are left out, except where FTS5's flaw depends on them.
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
            let mut groups = Interner::default();
            for group in all {
                let mut alternatives = Interner::default();
                for phrase in group {
                    alternatives.intern(*phrase);
                }
                groups.intern(alternatives.items);
            }
            for phrase in groups.items.iter().flatten() {
                numbers.entry((conjunction, *phrase)).or_insert(number);
                number += 1;
            }
            let groups = groups
                .items
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

/// Distinct items, in the order in which they first came; equal ones share an index.
struct Interner<T> {
    items: Vec<T>,
    indices: HashMap<T, usize>,
}

impl<T> Default for Interner<T> {
    fn default() -> Self {
        Self {
            items: Vec::new(),
            indices: HashMap::new(),
        }
    }
}

impl<T: Clone + Eq + Hash> Interner<T> {
    fn intern(&mut self, item: T) -> usize {
        let Self { items, indices } = self;
        *indices.entry(item).or_insert_with_key(|item| {
            items.push(item.clone());
            items.len() - 1
        })
    }
}
