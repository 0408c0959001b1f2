//! The legs of a search joined, every document once, and fused (spec/retrieval.md).

use std::cmp::Ordering;

use super::explanation::{ByKeywords, ByMeaning, Explanation};
use super::fuse::{DEFAULT_K, contribution};
#[cfg(test)]
use super::fused::Fused;
use super::fused::{Document, before};
use super::legs::Nearest;
use super::matches::{Match, Matches, TextSource};
use super::multiplier::Multiplier;
use super::request::Fusion;
use super::score_fusion::Scale;
use crate::vectors::CosineStats;

/// The hits of the legs.
pub(super) struct Candidates<'a> {
    /// The documents found by keywords first.
    documents: Vec<Candidate<'a>>,
    /// The bound of BM25, where it is known.
    bound: Option<f64>,
    spread: CosineStats,
}

/// A document, known by its row alone, and what each leg knows of it.
#[derive(Clone, Copy)]
struct Candidate<'a> {
    /// The key shared with the same document of the other leg, if possible.
    key: Option<i64>,
    source: TextSource<'a>,
    /// The row under which the vector leg found the keyword hit elsewhere.
    partner: Option<i64>,
    keywords: Option<ByKeywords>,
    meaning: Option<ByMeaning>,
}

impl<'a> Candidates<'a> {
    pub fn join(matches: &Matches<'a>, nearest: &Nearest) -> Self {
        // Sorted, which for so few is faster than a hash map.
        let keys = nearest.rows.iter().map(|found| found.key);
        let mut positions: Vec<(i64, usize)> = keys.zip(0..).collect();
        positions.sort_unstable();
        let position = |key: i64| {
            let found = positions.binary_search_by_key(&key, |(key, _)| *key);
            found.ok().map(|at| positions[at].1)
        };
        let mut is_new = vec![true; nearest.rows.len()];
        let mut documents = Vec::with_capacity(matches.found.len() + nearest.rows.len());
        for (rank, Match { source, key, score }) in matches.found.iter().enumerate() {
            let position = key.and_then(position);
            if let Some(position) = position {
                is_new[position] = false;
            }
            let partner = position.map(|position| nearest.rows[position]);
            let known = nearest.cosines.get(rank).copied().flatten();
            let cosine = partner.map(|found| found.score).or(known);
            documents.push(Candidate {
                key: *key,
                source: *source,
                partner: partner.map(|found| found.row),
                keywords: Some(ByKeywords {
                    rank,
                    score: *score,
                    fuzzy: matches.fuzzy,
                    share: None,
                    contribution: 0.0,
                }),
                meaning: cosine.map(|cosine| by_meaning(position, cosine)),
            });
        }
        let others = nearest.rows.iter().enumerate().zip(is_new);
        let others = others.filter(|(_, is_new)| *is_new);
        documents.extend(others.map(|((rank, found), _)| Candidate {
            key: Some(found.key),
            source: TextSource::Row(found.row),
            partner: None,
            keywords: None,
            meaning: Some(by_meaning(Some(rank), found.score)),
        }));
        Self {
            documents,
            bound: matches.bound,
            spread: nearest.spread,
        }
    }

    /// Compute what each leg contributes to each document; `legs` is the number of legs that took part.
    pub fn score(mut self, fusion: Fusion, legs: usize) -> ScoredCandidates<'a> {
        let mut scored = ScoredCandidates {
            documents: Vec::new(),
            fusion,
            best_possible: None,
            scale: None,
        };
        match fusion {
            Fusion::Rrf => scored.best_possible = Some(self.by_rank(legs)),
            Fusion::Score => scored.scale = Some(self.by_score()),
        }
        scored.documents = self.documents;
        scored
    }

    /// Score by ranks. Returns the best possible score.
    fn by_rank(&mut self, legs: usize) -> f64 {
        #[allow(clippy::cast_precision_loss, reason = "far fewer than 2^52 ranks")]
        let of_rank = |rank: usize| contribution(DEFAULT_K, rank as f64);
        for candidate in &mut self.documents {
            if let Some(keywords) = &mut candidate.keywords {
                keywords.contribution = of_rank(keywords.rank);
            }
            if let Some(meaning) = &mut candidate.meaning {
                meaning.contribution = meaning.rank.map_or(0.0, of_rank);
            }
        }
        (0..legs).map(|_| of_rank(0)).sum()
    }

    fn by_score(&mut self) -> Scale {
        let scores = self.documents.iter().filter_map(|one| one.keywords);
        let scale = Scale::new(scores.map(|by| by.score), self.bound, self.spread);
        for candidate in &mut self.documents {
            if let Some(keywords) = &mut candidate.keywords {
                let share = scale.share(keywords.score);
                keywords.share = Some(share);
                keywords.contribution = scale.keywords(share);
            }
            candidate.meaning = candidate.meaning.map(|by| on_scale(&scale, by));
        }
        scale
    }
}

/// Candidates with what each leg contributes to them.
pub(super) struct ScoredCandidates<'a> {
    documents: Vec<Candidate<'a>>,
    fusion: Fusion,
    best_possible: Option<f64>,
    /// The scale of score fusion.
    scale: Option<Scale>,
}

impl<'a> ScoredCandidates<'a> {
    /// Add rows that neither leg found, each with its cosine. Returns the total of each.
    pub fn add(&mut self, rows: &[i64], cosines: &[Option<f64>]) -> Vec<(i64, f64)> {
        let scale = self.scale;
        let added = self.documents.len();
        let candidate = |(row, cosine): (&i64, &Option<f64>)| Candidate {
            key: Some(*row),
            source: TextSource::Row(*row),
            partner: None,
            keywords: None,
            meaning: cosine.map(|cosine| {
                let meaning = by_meaning(None, cosine);
                scale.map_or(meaning, |scale| on_scale(&scale, meaning))
            }),
        };
        self.documents
            .extend(rows.iter().zip(cosines).map(candidate));
        let totals = self.documents[added..].iter().map(Candidate::total);
        rows.iter().copied().zip(totals).collect()
    }

    /// The total of a document that no leg found, with this cosine.
    pub fn total_of_others(&self, cosine: f64) -> f64 {
        let meaning = |scale: Scale| on_scale(&scale, by_meaning(None, cosine)).contribution;
        self.scale.map_or(0.0, meaning)
    }

    /// The key of each document, and the total of both legs.
    pub fn totals(&self) -> Vec<(Option<i64>, f64)> {
        let documents = self.documents.iter();
        documents.map(|one| (one.key, one.total())).collect()
    }

    /// The key of a document.
    pub fn key(&self, at: usize) -> Option<i64> {
        self.documents[at].key
    }

    /// Compare two documents with these scores as [`before`] does.
    pub fn order(&self, left: (usize, f64), right: (usize, f64)) -> Ordering {
        let cosine = |at: usize| self.documents[at].meaning.map(|by| by.cosine);
        before(
            self.fusion,
            (left.1, cosine(left.0)),
            (right.1, cosine(right.0)),
        )
    }

    /// The document at a position.
    pub fn document(&self, at: usize) -> Document<'a> {
        let mut document = self.documents[at].fused(self.fusion);
        document.explanation.best_possible = self.best_possible;
        document.explanation.coverage = self.scale.and_then(|scale| scale.coverage);
        document.explanation.weight = self.scale.map(|scale| scale.weight);
        document
    }

    /// All documents fused.
    #[cfg(test)]
    pub fn fused(&self) -> Fused<'a> {
        Fused::of(
            (0..self.documents.len())
                .map(|at| self.document(at))
                .collect(),
        )
    }
}

/// The nearness with its contribution to score fusion.
fn on_scale(scale: &Scale, by: ByMeaning) -> ByMeaning {
    let deviations = scale.deviations(by.cosine);
    ByMeaning {
        deviations: Some(deviations),
        contribution: Scale::meaning(deviations),
        ..by
    }
}

fn by_meaning(rank: Option<usize>, cosine: f64) -> ByMeaning {
    ByMeaning {
        rank,
        cosine,
        deviations: None,
        contribution: 0.0,
    }
}

impl<'a> Candidate<'a> {
    /// The sum of the contributions of both legs.
    fn total(&self) -> f64 {
        let contributions = [
            self.keywords.map(|by| by.contribution),
            self.meaning.map(|by| by.contribution),
        ];
        let [keywords, meaning] = contributions.map(|one| one.unwrap_or(0.0));
        keywords + meaning
    }

    /// The document with the contributions of both legs to its score.
    fn fused(self, fusion: Fusion) -> Document<'a> {
        let Self {
            key,
            source,
            partner,
            keywords,
            meaning,
        } = self;
        let fused = self.total();
        Document {
            key,
            neighbors: Vec::new(),
            before: None,
            answers: None,
            source,
            partner,
            explanation: Explanation {
                fusion,
                keywords,
                meaning,
                fused,
                neighbors: Vec::new(),
                speaker: None,
                answers: None,
                date: None,
                recency: None,
                best_possible: None,
                coverage: None,
                weight: None,
                multiplier: Multiplier::default(),
                score: fused,
                rerank_score: None,
                rerank_blend: None,
            },
        }
    }
}

#[cfg(test)]
mod tests;
