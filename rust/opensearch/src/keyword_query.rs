//! A keyword query, and the scores of its hits from the counts of the server.

use hedgerow_engine::Result;
use hedgerow_engine::bm25::{
    Conjunction, Counts, PhraseCounts, PhraseTokens, Plan, ScoredPhrase, term_score,
};
use hedgerow_engine::query::{MatchExpression, Matching, Phrase};
use hedgerow_engine::text::tokenizer::TokenizerKind;

use crate::token_phrase::TokenPhrase;

/// An expression that the server searches for and that is scored here. Phrases and conjunctions are
/// identified by their indices.
#[derive(Debug)]
pub struct KeywordQuery {
    plan: Plan,
    tokenizer: TokenizerKind,
    counts: Counts,
    matching: Matching,
}

impl KeywordQuery {
    /// A query whose counts are still unknown. `matching` decides how lengths count. Fails if the tokenizer
    /// fails.
    pub(crate) fn of(
        expression: &MatchExpression,
        tokenizer: TokenizerKind,
        matching: Matching,
    ) -> Result<Self> {
        Ok(Self {
            plan: Plan::of(expression, tokenizer)?,
            tokenizer,
            counts: Counts::default(),
            matching,
        })
    }

    /// The distinct phrases.
    pub fn phrases(&self) -> Vec<TokenPhrase> {
        self.plan.phrases().iter().map(TokenPhrase::from).collect()
    }

    /// Set the counts that scores are computed from. Their document frequencies are in the order of
    /// [`Self::phrases`].
    pub(crate) fn set_counts(&mut self, counts: Counts) {
        self.counts = counts;
    }

    /// Whether no chunk can match, according to the counts.
    pub(crate) fn matches_nothing(&self) -> bool {
        let occurs = |phrase: &usize| self.counts.document_frequencies.get(*phrase) > Some(&0);
        let possible = |all: &Conjunction| all.iter().all(|group| group.iter().any(occurs));
        // Without tokens the mean length is zero, and scores would divide by it.
        self.counts.rows == 0
            || self.counts.tokens == 0
            || !self.plan.conjunctions().iter().any(possible)
    }

    /// The distinct conjunctions. A chunk matches if it meets any of them.
    pub fn conjunctions(&self) -> &[Conjunction] {
        self.plan.conjunctions()
    }

    /// The phrases that a match must not have.
    pub fn excluded(&self) -> &[usize] {
        self.plan.excluded()
    }

    /// The scored phrases in the order in which their term scores are added up, each with the number of
    /// times it is added before the next.
    pub fn scoring_order(&self) -> impl Iterator<Item = (ScoredPhrase, u32)> {
        self.plan.scoring_order()
    }

    /// The inverse document frequency of each phrase, times its weight.
    pub fn idf(&self) -> Vec<f64> {
        let frequencies = self.counts.document_frequencies.iter();
        let weighted = frequencies.zip(self.plan.phrases());
        let idfs = weighted.map(|(n, phrase)| self.counts.idf(*n) * phrase.weight());
        idfs.collect()
    }

    /// The length norm of a chunk as a line: its value at length 0, and what each token adds.
    pub fn length_norm_line(&self) -> (f64, f64) {
        self.counts.length_norm_line(self.matching)
    }

    /// The score of a chunk of `length` tokens, given the column-weighted frequency of each phrase in
    /// the chunk. None if the chunk does not match.
    pub(crate) fn score(&self, length: u32, frequencies: &[u32]) -> Option<f64> {
        let frequency = |phrase: usize| frequencies.get(phrase).copied().unwrap_or_default();
        if self.excluded().iter().any(|phrase| frequency(*phrase) > 0) {
            return None;
        }
        let meets = |all: &Conjunction| {
            all.iter()
                .all(|group| group.iter().any(|phrase| frequency(*phrase) > 0))
        };
        let met: Vec<bool> = self.conjunctions().iter().map(meets).collect();
        let norm = self.counts.length_norm(length, self.matching);
        let idf = self.idf();
        let mut score = None;
        // Every repeat is a separate addition, as in FTS5. A product would be rounded differently.
        for (scored, repeats) in self.scoring_order() {
            let weight = frequency(scored.phrase);
            if met[scored.conjunction] && weight > 0 {
                let term_score = term_score(idf[scored.phrase], f64::from(weight), norm);
                let sum = score.get_or_insert(0.0);
                for _ in 0..repeats {
                    *sum += term_score;
                }
            }
        }
        score
    }

    /// The counts of the phrases of `expression`, in its order and with repetitions. `expression` must be
    /// the one that the query was made of.
    pub(crate) fn phrase_counts(&self, expression: &MatchExpression) -> Result<PhraseCounts> {
        let document_frequency = |phrase: &Phrase| {
            let tokens = PhraseTokens::of(phrase, self.tokenizer)?;
            let at = self.plan.phrases().iter().position(|one| *one == tokens);
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

#[cfg(test)]
mod tests {
    use hedgerow_engine::chunks::{Chunk, Filters, RankedRow, Selection};
    use hedgerow_engine::index::Index;
    use hedgerow_engine::index::session::Needs;
    use hedgerow_engine::query::{MatchOptions, match_expression, parse};
    use hedgerow_engine::retrieval::Collection;

    use super::*;
    use crate::token_phrase::columns;

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

    fn weighted(chunk: &Chunk, phrase: &TokenPhrase) -> u32 {
        let columns = columns(chunk).into_iter().zip([3, 10, 5, 4, 1]);
        let of_column = |(column, weight): (String, u32)| {
            let tokens = TokenizerKind::Porter.tokens(&column).unwrap();
            let found = tokens.windows(phrase.tokens.len().max(1));
            weight * u32::try_from(found.filter(|at| phrase.matches(at)).count()).unwrap()
        };
        columns.map(of_column).sum()
    }

    fn length(chunk: &Chunk) -> u32 {
        let count = |column: &String| TokenizerKind::Porter.tokens(column).unwrap().len();
        u32::try_from(columns(chunk).iter().map(count).sum::<usize>()).unwrap()
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
        for (text, matching) in [
            "winter",
            "winter feeding hedgehog",
            "winter AND feeding",
            "winter OR hedge* NOT birds",
            "\"feeding in winter\" OR \"in win\"*",
            "winter NOT feeding",
            "nothing AND winter",
        ]
        .into_iter()
        .flat_map(|text| [(text, Matching::Spec), (text, Matching::Extended)])
        {
            let expression = match_expression(&parse(text).unwrap(), &MatchOptions::default());
            let expression = expression.unwrap();
            let mut query = KeywordQuery::of(&expression, TokenizerKind::Porter, matching).unwrap();
            let phrases = query.phrases();
            let holding = |phrase| chunks.iter().filter(move |one| weighted(one, phrase) > 0);
            query.set_counts(Counts {
                rows: 6,
                tokens: chunks.iter().map(|one| u64::from(length(one))).sum(),
                document_frequencies: phrases
                    .iter()
                    .map(|one| holding(one).count() as u64)
                    .collect(),
            });
            let score = |one: &Chunk| {
                let frequencies: Vec<u32> = phrases.iter().map(|p| weighted(one, p)).collect();
                query.score(length(one), &frequencies)
            };
            let mut scored: Vec<(String, u64)> = chunks
                .iter()
                .filter_map(|one| Some((one.id.clone(), score(one)?.to_bits())))
                .collect();
            scored.sort();
            assert_eq!(scored.is_empty(), query.matches_nothing(), "{text}");
            let needs = Needs {
                keywords: true,
                ..Needs::default()
            };
            let filters = Filters::default();
            let selection = Selection {
                limit: 9,
                filters: &filters,
                group_by: None,
                statistics: false,
                matching,
            };
            let mut found = Vec::new();
            let read = Collection::read(&index, needs, &mut |reader| {
                let rows = reader.match_rows(&expression, &selection).unwrap().rows;
                let named = |one: &RankedRow| (reader.id(one.row).unwrap(), one.score.to_bits());
                found = rows.iter().map(named).collect();
            });
            read.unwrap();
            found.sort();
            assert_eq!(scored, found, "{text}");
        }
    }

    #[test]
    fn counts_of_chunks_without_tokens_give_no_score() {
        let expression = match_expression(&parse("winter").unwrap(), &MatchOptions::default());
        let expression = expression.unwrap();
        let mut query =
            KeywordQuery::of(&expression, TokenizerKind::Porter, Matching::Spec).unwrap();
        for (rows, tokens, document_frequency, nothing) in [
            (0, 0, 0, true),
            (3, 9, 0, true),
            (3, 0, 1, true),
            (3, 9, 1, false),
        ] {
            query.set_counts(Counts {
                rows,
                tokens,
                document_frequencies: vec![document_frequency],
            });
            assert_eq!(
                query.matches_nothing(),
                nothing,
                "{rows} {tokens} {document_frequency}"
            );
        }
    }
}
