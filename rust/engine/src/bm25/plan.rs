//! An expression without its repetitions, ready to be looked up.

use std::collections::HashMap;
use std::hash::Hash;

use super::phrase::PhraseTokens;
use crate::error::Result;
use crate::query::{MatchExpression, Phrase};
use crate::text::tokenizer::TokenizerKind;

/// Groups of phrases, by their indices in [`Plan::phrases`]. A chunk meets a conjunction if it has a
/// phrase of each group.
pub type Conjunction = Vec<Vec<usize>>;

/// A match expression without its repetitions: every distinct phrase and conjunction once, referred to
/// by index, and the order in which scores are added up.
#[derive(Debug, Default)]
pub struct Plan {
    /// The distinct phrases, as FTS5 is given them and as tokens.
    pub(super) texts: Vec<Phrase>,
    pub(super) phrases: Vec<PhraseTokens>,
    /// The distinct conjunctions, of indices of phrases.
    pub(super) conjunctions: Vec<Conjunction>,
    /// The distinct phrases that add to a score, each in its conjunction.
    pub(super) scored_phrases: Vec<ScoredPhrase>,
    /// The order in which `scored_phrases` are added up, by index, and the number of repeats of each.
    pub(super) order: Vec<(usize, u32)>,
    /// Phrases that a match must not have.
    pub(super) excluded: Vec<usize>,
    /// Whether only FTS5 can evaluate the expression.
    pub(crate) only_fts5: bool,
}

/// A phrase in a conjunction. The term score of the phrase counts for a chunk that has the phrase and
/// meets the conjunction.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct ScoredPhrase {
    /// The index of the conjunction in [`Plan::conjunctions`].
    pub conjunction: usize,
    /// The index of the phrase in [`Plan::phrases`].
    pub phrase: usize,
}

/// FTS5 has a flaw that is not copied. Where all tokens of an AND within an OR or
/// a NOT meet in a row, but not as the phrases they make, FTS5 forgets the occurrences that the
/// alternatives in it have in *later* rows, and scores those rows too low. Such expressions, with
/// alternatives and phrases of several tokens in one AND, are left to FTS5.
impl Plan {
    /// Plan an expression. Fails if the tokenizer fails.
    pub fn of(expression: &MatchExpression, tokenizer: TokenizerKind) -> Result<Self> {
        let (mut phrases, mut conjunctions) = (Interner::default(), Interner::default());
        let mut texts = Vec::new();
        let mut number = |phrase: &Phrase| -> Result<usize> {
            let index = phrases.intern(PhraseTokens::of(phrase, tokenizer)?);
            if index == texts.len() {
                texts.push(phrase.clone());
            }
            Ok(index)
        };
        let mut scored_phrases = Interner::default();
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
                let scored = scored_phrases.intern(ScoredPhrase {
                    conjunction,
                    phrase,
                });
                match order.last_mut() {
                    Some((last, repeats)) if *last == scored => *repeats += 1,
                    _ => order.push((scored, 1)),
                }
            }
        }
        let mut excluded = Vec::with_capacity(expression.none.len());
        for phrase in &expression.none {
            excluded.push(number(phrase)?);
        }
        excluded.sort_unstable();
        excluded.dedup();
        let nested = expression.any.len() > 1 || !excluded.is_empty();
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
            scored_phrases: scored_phrases.items,
            order,
            excluded,
        })
    }

    /// The distinct phrases, in the order of their first occurrence.
    pub fn phrases(&self) -> &[PhraseTokens] {
        &self.phrases
    }

    /// The distinct conjunctions. A chunk matches if it meets any of them.
    pub fn conjunctions(&self) -> &[Conjunction] {
        &self.conjunctions
    }

    /// The phrases that a match must not have, as ascending indices in [`Self::phrases`].
    pub fn excluded(&self) -> &[usize] {
        &self.excluded
    }

    /// The scored phrases in the order in which FTS5 adds up their term scores, each with the number of
    /// times it is added before the next. A sum in another order can differ in the last bits.
    pub fn scoring_order(&self) -> impl Iterator<Item = (ScoredPhrase, u32)> {
        let order = self.order.iter();
        order.map(|(scored, repeats)| (self.scored_phrases[*scored], *repeats))
    }
}

impl Plan {
    /// Return the FTS5 expression, and the numbers of its phrases whose gains are added, in order.
    ///
    /// Repetitions are left out, except where FTS5's flaw depends on them. A number has the bit
    /// [`VARIANT`] if the phrase is another spelling.
    pub(super) fn for_fts5(&self, expression: &MatchExpression) -> (MatchExpression, Vec<u32>) {
        if self.only_fts5 {
            let phrases = (0..).zip(expression.phrases());
            let numbers = phrases.map(|(number, phrase)| numbered(number, phrase));
            return (expression.clone(), numbers.collect());
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
        for (scored, repeats) in self.scoring_order() {
            if let Some(number) = numbers.get(&(scored.conjunction, scored.phrase)) {
                let number = numbered(*number, &self.texts[scored.phrase]);
                order.extend(std::iter::repeat_n(number, repeats as usize));
            }
        }
        let none = self.excluded.iter().map(text).collect();
        (MatchExpression { any, none }, order)
    }
}

/// The bit in the number of a phrase that says that it is another spelling.
pub(super) const VARIANT: u32 = 1 << 31;

fn numbered(number: u32, phrase: &Phrase) -> u32 {
    match phrase.variant_of {
        Some(_) => number | VARIANT,
        None => number,
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
