//! An expression without its repetitions, ready to be looked up.

use std::collections::HashMap;
use std::hash::Hash;

use super::phrase::Tokens;
use crate::error::Result;
use crate::query::MatchExpression;
use crate::text::tokenizer::TokenizerKind;

/// Phrases of which all must be there: of each group, one.
pub(super) type Conjunction = Vec<Vec<usize>>;

/// An expression in which everything that comes again is called by the place of the first.
#[derive(Debug, Default)]
pub(in crate::index) struct Plan {
    /// The different phrases.
    pub(super) phrases: Vec<Tokens>,
    /// The different conjunctions, of places of phrases.
    pub(super) conjunctions: Vec<Conjunction>,
    /// What adds to a score: a phrase where it stands in a conjunction. A chunk gets it when it
    /// holds the phrase and meets the conjunction.
    pub(super) addends: Vec<Addend>,
    /// In which order addends are added up, and how often each before the next.
    pub(super) order: Vec<(usize, u32)>,
    /// Phrases that a chunk must not hold.
    pub(super) none: Vec<usize>,
    /// Whether FTS5 alone knows what it makes of the expression.
    pub(super) only_fts5: bool,
}

/// A phrase in a conjunction, by their places.
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
        let mut addends = Numbers::default();
        let mut order: Vec<(usize, u32)> = Vec::new();
        for all in &expression.any {
            let mut conjunction = Vec::with_capacity(all.len());
            for alternatives in all {
                let mut group = Vec::with_capacity(alternatives.len());
                for phrase in alternatives {
                    group.push(phrases.of(Tokens::of(phrase, tokenizer)?));
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
            none.push(phrases.of(Tokens::of(phrase, tokenizer)?));
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
            phrases: phrases.things,
            conjunctions: conjunctions.things,
            addends: addends.things,
            order,
            none,
        })
    }
}

/// Different things, in the order in which they came first.
struct Numbers<T> {
    things: Vec<T>,
    places: HashMap<T, usize>,
}

impl<T> Default for Numbers<T> {
    fn default() -> Self {
        Self {
            things: Vec::new(),
            places: HashMap::new(),
        }
    }
}

impl<T: Clone + Eq + Hash> Numbers<T> {
    fn of(&mut self, thing: T) -> usize {
        let Self { things, places } = self;
        *places.entry(thing).or_insert_with_key(|thing| {
            things.push(thing.clone());
            things.len() - 1
        })
    }
}
