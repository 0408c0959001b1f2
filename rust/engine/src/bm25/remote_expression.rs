//! Scoring chunks whose postings are kept elsewhere, from the counts that are asked for there.

use super::counts::{Counts, gain};
use super::phrase::{RemotePhrase, Tokens};
use super::phrase_counts::PhraseCounts;
use super::plan::Plan;
use crate::chunks::Chunk;
use crate::error::Result;
use crate::query::{MatchExpression, Phrase};
use crate::text::tokenizer::TokenizerKind;

/// An expression that is searched for elsewhere and scored here. Phrases, and conjunctions of them, are
/// identified by their indices.
#[derive(Debug)]
pub struct RemoteExpression {
    plan: Plan,
    tokenizer: TokenizerKind,
    counts: Counts,
}

impl RemoteExpression {
    /// The expression, before anything is known of its phrases.
    pub fn of(expression: &MatchExpression, tokenizer: TokenizerKind) -> Result<Self> {
        Ok(Self {
            plan: Plan::of(expression, tokenizer)?,
            tokenizer,
            counts: Counts::default(),
        })
    }

    /// Its different phrases.
    pub fn phrases(&self) -> Vec<RemotePhrase> {
        self.plan.phrases.iter().map(Tokens::to_remote).collect()
    }

    /// Take in how common its phrases are.
    pub fn learn(&mut self, counts: Counts) {
        self.counts = counts;
    }

    /// Whether nothing can match it.
    pub fn is_hopeless(&self) -> bool {
        let held = |phrase: &usize| self.counts.document_frequencies.get(*phrase) > Some(&0);
        let possible = |all: &Vec<Vec<usize>>| all.iter().all(|group| group.iter().any(held));
        // Without tokens there is no mean length to score by.
        self.counts.rows == 0
            || self.counts.tokens == 0
            || !self.plan.conjunctions.iter().any(possible)
    }

    /// OR of ANDs of alternatives.
    pub fn any(&self) -> &[Vec<Vec<usize>>] {
        &self.plan.conjunctions
    }

    /// What a chunk must not hold.
    pub fn none(&self) -> &[usize] {
        &self.plan.none
    }

    /// Conjunction, phrase and number of times: the gain of the phrase is added to the score of a
    /// chunk that meets the conjunction so many times.
    pub fn addends(&self) -> impl Iterator<Item = (usize, usize, u32)> {
        self.plan.order.iter().map(|(addend, times)| {
            let addend = self.plan.addends[*addend];
            (addend.conjunction, addend.phrase, *times)
        })
    }

    /// The inverse document frequency of each phrase.
    pub fn idf(&self) -> Vec<f64> {
        let frequencies = self.counts.document_frequencies.iter();
        frequencies.map(|n| self.counts.idf(*n)).collect()
    }

    /// The mean number of tokens.
    pub fn mean_length(&self) -> f64 {
        self.counts.mean_length()
    }

    /// The score of a chunk of so many tokens, given the column-weighted frequency of each phrase in
    /// it; None where it does not match.
    pub fn score(&self, length: u32, frequencies: &[u32]) -> Option<f64> {
        let frequency = |phrase: usize| frequencies.get(phrase).copied().unwrap_or_default();
        if self.plan.none.iter().any(|phrase| frequency(*phrase) > 0) {
            return None;
        }
        let meets = |all: &Vec<Vec<usize>>| {
            all.iter()
                .all(|group| group.iter().any(|phrase| frequency(*phrase) > 0))
        };
        let met: Vec<bool> = self.plan.conjunctions.iter().map(meets).collect();
        let norm = self.counts.length_norm(length);
        let idf = self.idf();
        let mut score = None;
        // One after the other as FTS5 does it: rounding makes a difference.
        for (conjunction, phrase, times) in self.addends() {
            let weight = frequency(phrase);
            if met[conjunction] && weight > 0 {
                let gain = gain(idf[phrase], f64::from(weight), norm);
                let sum = score.get_or_insert(0.0);
                for _ in 0..times {
                    *sum += gain;
                }
            }
        }
        score
    }

    /// How common the phrases of the expression are, as often as they stand in it.
    pub fn phrase_counts(&self, expression: &MatchExpression) -> Result<PhraseCounts> {
        let document_frequency = |phrase: &Phrase| {
            let tokens = Tokens::of(phrase, self.tokenizer)?;
            let at = self.plan.phrases.iter().position(|one| *one == tokens);
            let known = at.and_then(|at| self.counts.document_frequencies.get(at));
            Ok(known.copied().unwrap_or_default())
        };
        Ok(PhraseCounts {
            rows: self.counts.rows,
            document_frequencies: expression
                .phrases()
                .map(document_frequency)
                .collect::<Result<_>>()?,
        })
    }
}

/// Whether a chunk holds a phrase.
pub(crate) fn holds(chunk: &Chunk, phrase: &Phrase, tokenizer: TokenizerKind) -> Result<bool> {
    let phrase = Tokens::of(phrase, tokenizer)?.to_remote();
    for column in chunk.columns() {
        let tokens = tokenizer.tokens(&column)?;
        let mut windows = tokens.windows(phrase.tokens.len().max(1));
        if windows.any(|window| phrase.is_in(window)) {
            return Ok(true);
        }
    }
    Ok(false)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chunks::{Filters, Selection};
    use crate::index::Index;
    use crate::index::session::Needs;
    use crate::query::{MatchOptions, match_expression, parse};

    const TEXTS: [&str; 6] = [
        "winter feeding of the hedgehog in winter",
        "feeding birds",
        "the hedgehog sleeps in winter",
        "winter",
        "a garden with a hedge and a hedgehog, feeding in winter",
        "",
    ];

    fn chunk(text: &str, number: usize) -> Chunk {
        Chunk {
            id: number.to_string(),
            path: format!("p{number}.md"),
            title: text.split(' ').next().unwrap_or_default().to_owned(),
            content: text.to_owned(),
            tags: vec!["hedge".to_owned()],
            ..Chunk::default()
        }
    }

    fn weighted(chunk: &Chunk, phrase: &RemotePhrase) -> u32 {
        let columns = chunk.columns().into_iter().zip([3, 10, 5, 4, 1]);
        let of_column = |(column, weight): (String, u32)| {
            let tokens = TokenizerKind::Porter.tokens(&column).unwrap();
            let found = tokens.windows(phrase.tokens.len().max(1));
            weight * u32::try_from(found.filter(|at| phrase.is_in(at)).count()).unwrap()
        };
        columns.map(of_column).sum()
    }

    fn length(chunk: &Chunk) -> u32 {
        let count = |column: &String| TokenizerKind::Porter.tokens(column).unwrap().len();
        u32::try_from(chunk.columns().iter().map(count).sum::<usize>()).unwrap()
    }

    #[test]
    fn scores_from_counts_are_those_of_the_index_to_the_bit() {
        let chunks: Vec<Chunk> = TEXTS
            .iter()
            .zip(0..)
            .map(|(text, n)| chunk(text, n))
            .collect();
        let index = Index::in_memory(TokenizerKind::Porter).unwrap();
        index.upsert(&chunks.iter().collect::<Vec<_>>()).unwrap();
        for query in [
            "winter",
            "winter feeding hedgehog",
            "winter AND feeding",
            "winter OR hedge* NOT birds",
            "\"feeding in winter\" OR \"in win\"*",
            "winter NOT feeding",
            "nothing AND winter",
        ] {
            let expression = match_expression(&parse(query).unwrap(), &MatchOptions::default());
            let expression = expression.unwrap();
            let mut remote = RemoteExpression::of(&expression, TokenizerKind::Porter).unwrap();
            let phrases = remote.phrases();
            let holding = |phrase| chunks.iter().filter(move |one| weighted(one, phrase) > 0);
            remote.learn(Counts {
                rows: 6,
                tokens: chunks.iter().map(|one| u64::from(length(one))).sum(),
                document_frequencies: phrases
                    .iter()
                    .map(|one| holding(one).count() as u64)
                    .collect(),
            });
            let score = |one: &Chunk| {
                let frequencies: Vec<u32> = phrases.iter().map(|p| weighted(one, p)).collect();
                remote.score(length(one), &frequencies)
            };
            let mut scored: Vec<(String, u64)> = chunks
                .iter()
                .filter_map(|one| Some((one.id.clone(), score(one)?.to_bits())))
                .collect();
            scored.sort();
            assert_eq!(scored.is_empty(), remote.is_hopeless(), "{query}");
            let needs = Needs {
                keywords: true,
                ..Needs::default()
            };
            let filters = Filters::default();
            let found = index.session(needs, |session| {
                let found = session.match_rows(&expression, &Selection::plain(9, &filters))?;
                let named = |one: &crate::chunks::RankedRow| {
                    Ok((session.id(one.row)?, one.score.to_bits()))
                };
                found.rows.iter().map(named).collect::<Result<Vec<_>>>()
            });
            let mut found = found.unwrap();
            found.sort();
            assert_eq!(scored, found, "{query}");
        }
    }

    #[test]
    fn counts_of_chunks_without_tokens_give_no_score() {
        let expression = match_expression(&parse("winter").unwrap(), &MatchOptions::default());
        let expression = expression.unwrap();
        let mut remote = RemoteExpression::of(&expression, TokenizerKind::Porter).unwrap();
        for (rows, tokens, holding, hopeless) in [
            (0, 0, 0, true),
            (3, 9, 0, true),
            (3, 0, 1, true),
            (3, 9, 1, false),
        ] {
            remote.learn(Counts {
                rows,
                tokens,
                document_frequencies: vec![holding],
            });
            assert_eq!(remote.is_hopeless(), hopeless, "{rows} {tokens} {holding}");
        }
    }
}
