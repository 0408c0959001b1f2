//! The legs of a search joined, every document once, and fused (spec/retrieval.md).

use std::cmp::Ordering;
use std::collections::HashMap;

use super::explanation::{ByKeywords, ByMeaning, ExplainedHit, Explanation};
use super::fuse::{DEFAULT_K, contribution, fill};
use super::keywords::Matches;
use super::order;
use super::request::Fusion;
use super::reweight::Multiplier;
use super::score_fusion::Scale;
use crate::index::{GroupBy, Hit, NearestChunks, Spread};
use crate::text::utf16;

/// What makes two hits one document.
pub(super) fn name(hit: &Hit, group_by: Option<GroupBy>) -> &str {
    match group_by {
        None => &hit.id,
        Some(GroupBy::Path) => &hit.path,
    }
}

/// What the legs found.
pub(super) struct Candidates {
    /// Those that keywords found first.
    documents: Vec<Candidate>,
    /// What no BM25 can exceed, where that is known.
    greatest: Option<f64>,
    spread: Spread,
}

/// A document and what each leg knows of it.
struct Candidate {
    hit: Hit,
    keywords: Option<ByKeywords>,
    meaning: Option<ByMeaning>,
}

impl Candidates {
    pub fn join(matches: Matches, nearest: NearestChunks, group_by: Option<GroupBy>) -> Self {
        let by_keywords = matches.hits;
        let places: HashMap<&str, usize> = (nearest.hits.iter())
            .map(|hit| name(hit, group_by))
            .zip(0..)
            .collect();
        let partners: Vec<Option<usize>> = (by_keywords.iter())
            .map(|hit| places.get(name(hit, group_by)).copied())
            .collect();
        let mut by_meaning: Vec<Option<Hit>> = nearest.hits.into_iter().map(Some).collect();
        let mut documents = Vec::with_capacity(by_keywords.len() + by_meaning.len());
        for (rank, (mut hit, partner)) in by_keywords.into_iter().zip(partners).enumerate() {
            if let Some(other) = partner.and_then(|place| by_meaning[place].take()) {
                add(&mut hit, &other);
            }
            let known = nearest.cosines.get(rank).copied().flatten();
            hit.vector_similarity = hit.vector_similarity.or(known);
            let keywords = ByKeywords {
                rank,
                score: hit.score,
                fuzzy: matches.fuzzy,
                share: None,
                contribution: 0.0,
            };
            documents.push(Candidate::new(hit, Some(keywords), partner));
        }
        let others = (by_meaning.into_iter().enumerate())
            .filter_map(|(rank, hit)| Some(Candidate::new(hit?, None, Some(rank))));
        documents.extend(others);
        Self {
            documents,
            greatest: matches.greatest,
            spread: nearest.spread,
        }
    }

    /// The fused hits, best first; `legs` is how many could have found them.
    pub fn fuse(self, fusion: Fusion, legs: usize) -> Vec<ExplainedHit> {
        let mut fused = match fusion {
            Fusion::Rrf => self.by_place(legs),
            Fusion::Score => self.by_score(),
        };
        fused.sort_by(|left, right| before(fusion, &left.hit, &right.hit));
        fused
    }

    fn by_place(self, legs: usize) -> Vec<ExplainedHit> {
        #[allow(clippy::cast_precision_loss, reason = "far fewer than 2^52 places")]
        let of_rank = |rank: usize| contribution(DEFAULT_K, rank as f64);
        let best_possible = (0..legs).map(|_| of_rank(0)).sum();
        let fuse = |mut candidate: Candidate| {
            if let Some(keywords) = &mut candidate.keywords {
                keywords.contribution = of_rank(keywords.rank);
            }
            if let Some(meaning) = &mut candidate.meaning {
                meaning.contribution = meaning.rank.map_or(0.0, of_rank);
            }
            let mut fused = candidate.fused(Fusion::Rrf);
            fused.explanation.best_possible = Some(best_possible);
            fused
        };
        self.documents.into_iter().map(fuse).collect()
    }

    fn by_score(self) -> Vec<ExplainedHit> {
        let scores = self.documents.iter().filter_map(|one| one.keywords);
        let scale = Scale::new(scores.map(|by| by.score), self.greatest, self.spread);
        let fuse = |mut candidate: Candidate| {
            if let Some(keywords) = &mut candidate.keywords {
                let share = scale.share(keywords.score);
                keywords.share = Some(share);
                keywords.contribution = scale.keywords(share);
            }
            if let Some(meaning) = &mut candidate.meaning {
                let deviations = scale.deviations(meaning.cosine);
                meaning.deviations = Some(deviations);
                meaning.contribution = Scale::meaning(deviations);
            }
            let mut fused = candidate.fused(Fusion::Score);
            fused.explanation.coverage = scale.coverage;
            fused.explanation.weight = Some(scale.weight);
            fused
        };
        self.documents.into_iter().map(fuse).collect()
    }
}

impl Candidate {
    fn new(hit: Hit, keywords: Option<ByKeywords>, rank: Option<usize>) -> Self {
        let meaning = hit.vector_similarity.map(|cosine| ByMeaning {
            rank,
            cosine,
            deviations: None,
            contribution: 0.0,
        });
        Self {
            hit,
            keywords,
            meaning,
        }
    }

    /// The hit with what both legs contribute to its score.
    fn fused(self, fusion: Fusion) -> ExplainedHit {
        let Self {
            mut hit,
            keywords,
            meaning,
        } = self;
        // Two numbers add up to the same in either order.
        let fused =
            keywords.map_or(0.0, |by| by.contribution) + meaning.map_or(0.0, |by| by.contribution);
        hit.score = fused;
        ExplainedHit {
            hit,
            explanation: Explanation {
                fusion,
                keywords,
                meaning,
                fused,
                best_possible: None,
                coverage: None,
                weight: None,
                multiplier: Multiplier::default(),
                score: fused,
                rerank_score: None,
            },
        }
    }
}

/// Add what the vector leg has of a document.
fn add(hit: &mut Hit, other: &Hit) {
    if hit.id == other.id {
        fill(hit, other);
    } else {
        // Another chunk of the group: its nearness counts for the group, its texts do not.
        hit.vector_similarity = other.vector_similarity;
    }
}

/// By score, in score fusion then by cosine, then by path and id.
fn before(fusion: Fusion, left: &Hit, right: &Hit) -> Ordering {
    let cosine = |hit: &Hit| hit.vector_similarity.unwrap_or(f64::NEG_INFINITY);
    let by_cosine = match fusion {
        Fusion::Rrf => Ordering::Equal,
        Fusion::Score => order::descending(cosine(left), cosine(right)),
    };
    order::descending(left.score, right.score)
        .then(by_cosine)
        .then_with(|| utf16::compare(&left.path, &right.path))
        .then_with(|| utf16::compare(&left.id, &right.id))
}

#[cfg(test)]
mod tests {
    use super::super::fuse::reciprocal_rank_fusion;
    use super::*;

    /// A hit whose path is what stands before the dash of its id.
    fn hit(id: &str) -> Hit {
        Hit {
            id: id.to_owned(),
            path: id.split('-').next().unwrap_or_default().to_owned(),
            title: format!("title of {id}"),
            ..Hit::default()
        }
    }

    /// Both legs of these scores by keywords and these cosines, each leg cut to `limit`.
    fn legs(bm25: &[(&str, f64)], cosines: &[(&str, f64)], limit: usize) -> (Matches, Vec<Hit>) {
        let by_keywords = bm25.iter().take(limit).enumerate();
        let hits = by_keywords.map(|(rank, (id, score))| Hit {
            score: *score,
            bm25_rank: Some(rank),
            ..hit(id)
        });
        let matches = Matches {
            hits: hits.collect(),
            ..Matches::default()
        };
        let mut by_cosine = cosines.to_vec();
        by_cosine.sort_by(|left, right| order::descending(left.1, right.1));
        let nearest = by_cosine.iter().take(limit).map(|(id, cosine)| Hit {
            score: *cosine,
            vector_similarity: Some(*cosine),
            ..hit(id)
        });
        (matches, nearest.collect())
    }

    /// The totals of score fusion, best first.
    fn totals(
        bm25: &[(&str, f64)],
        cosines: &[(&str, f64)],
        (mean, deviation): (f64, f64),
        greatest: Option<f64>,
        limit: usize,
    ) -> Vec<(String, f64)> {
        let (matches, nearest) = legs(bm25, cosines, limit);
        let cosine = |hit: &Hit| cosines.iter().find(|(id, _)| *id == hit.id).map(|c| c.1);
        let nearest = NearestChunks {
            cosines: matches.hits.iter().map(cosine).collect(),
            hits: nearest,
            spread: Spread { mean, deviation },
        };
        let matches = Matches {
            greatest,
            ..matches
        };
        let fused = Candidates::join(matches, nearest, None).fuse(Fusion::Score, 2);
        for ExplainedHit { hit, explanation } in &fused {
            let known = cosine(hit);
            assert_eq!(hit.vector_similarity, known, "{}", hit.id);
            assert_eq!(explanation.meaning.map(|by| by.cosine), known);
            assert_eq!(explanation.score.to_bits(), hit.score.to_bits());
        }
        fused
            .into_iter()
            .map(|fused| (fused.hit.id, fused.hit.score))
            .collect()
    }

    #[test]
    fn both_legs_on_one_scale() {
        let bm25 = [("a", 9.0), ("b", 6.0), ("c", 1.5)];
        let cosines = [("a", 0.2), ("b", 0.5), ("c", 0.1), ("d", 0.6)];
        let spread = (0.1, 0.1);
        let few = [("a", 4.0), ("n", 4.0)];
        let equal = [("a", 0.3), ("b", 0.3)];
        let cases = [
            (
                totals(&bm25, &cosines, spread, Some(18.0), 60),
                vec![("b", 1.466_667), ("a", 1.2), ("d", 1.0), ("c", 0.166_667)],
            ),
            (
                totals(&bm25, &cosines, spread, Some(90.0), 60),
                vec![("b", 1.133_333), ("d", 1.0), ("a", 0.7), ("c", 0.083_333)],
            ),
            (
                // Cosines count also beyond the vector leg.
                totals(&bm25, &cosines, spread, Some(18.0), 3),
                vec![("b", 1.466_667), ("a", 1.2), ("d", 1.0), ("c", 0.166_667)],
            ),
            (
                totals(&few, &[("a", 0.05)], spread, None, 60),
                vec![("n", 1.0), ("a", 0.9)],
            ),
            (
                totals(&[], &[("x", 0.4), ("y", 0.6)], spread, None, 60),
                vec![("y", 1.0), ("x", 0.6)],
            ),
            (
                totals(&[("a", 2.0)], &equal, (0.3, 0.0), None, 60),
                vec![("a", 1.0), ("b", 0.0)],
            ),
        ];
        for (found, expected) in cases {
            let same = found.len() == expected.len()
                && found
                    .iter()
                    .zip(&expected)
                    .all(|(left, right)| left.0 == right.0 && (left.1 - right.1).abs() < 1e-6);
            assert!(same, "{found:?}, expected {expected:?}");
        }
    }

    #[test]
    fn equal_totals_stand_by_cosine_then_path() {
        let cosines = [("z", 0.5), ("a", 0.5), ("m", 0.5), ("h", 0.25)];
        // h makes up by keywords what it lacks in nearness, to the bit.
        let bm25 = [("best", 5.0), ("h", 1.0)];
        let found = totals(&bm25, &cosines, (0.0, 0.25), None, 60);
        let ids: Vec<&str> = found.iter().map(|(id, _)| id.as_str()).collect();
        assert_eq!(ids, ["best", "a", "m", "z", "h"]);
        assert_eq!(found[1].1.to_bits(), found[4].1.to_bits());
        let found = totals(
            &[("n", 4.0), ("b", 4.0)],
            &[("n", 0.1)],
            (0.1, 0.1),
            None,
            60,
        );
        assert_eq!(found, [("n".to_owned(), 1.0), ("b".to_owned(), 1.0)]);
    }

    #[test]
    fn places_fuse_as_lists_do() {
        let bm25 = [("a", 9.0), ("b", 6.0), ("c", 1.5), ("e", 1.0)];
        let cosines = [("c", 0.9), ("b", 0.5), ("f", 0.1), ("d", 0.6)];
        for limit in 0..=4 {
            let (matches, nearest) = legs(&bm25, &cosines, limit);
            let expected = reciprocal_rank_fusion([&matches.hits, &nearest], DEFAULT_K);
            let nearest = NearestChunks {
                hits: nearest,
                ..NearestChunks::default()
            };
            let fused = Candidates::join(matches, nearest, None).fuse(Fusion::Rrf, 2);
            for one in &fused {
                assert_eq!(one.explanation.best_possible, Some(2.0 / 61.0));
            }
            let hits: Vec<Hit> = fused.into_iter().map(|one| one.hit).collect();
            assert_eq!(hits, expected);
        }
    }

    #[test]
    fn a_group_is_its_best_chunk_by_keywords() {
        let (matches, nearest) = legs(
            &[("p-1", 3.0), ("q-1", 2.0)],
            &[("p-2", 0.9), ("r-1", 0.5), ("q-1", 0.1)],
            60,
        );
        let nearest = NearestChunks {
            hits: nearest,
            ..NearestChunks::default()
        };
        let fused = Candidates::join(matches, nearest, Some(GroupBy::Path)).fuse(Fusion::Rrf, 2);
        let found: Vec<(&str, &str, Option<f64>)> = (fused.iter())
            .map(|one| (&*one.hit.id, &*one.hit.title, one.hit.vector_similarity))
            .collect();
        assert_eq!(
            found,
            [
                ("p-1", "title of p-1", Some(0.9)),
                ("q-1", "title of q-1", Some(0.1)),
                ("r-1", "title of r-1", Some(0.5)),
            ]
        );
        let ranks = fused[0].explanation.meaning.map(|by| by.rank);
        assert_eq!(ranks, Some(Some(0)));
    }
}
