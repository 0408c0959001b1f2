//! The rerank step: the head ordered by the scores of a reranker, alone or blended with the fused
//! scores (spec/retrieval.md, "Reranking").

use std::cmp::Ordering;
use std::time::Duration;

use super::explanation::{ExplainedHit, RerankBlend};
use super::rerank_text::{rerank_text, whole_text};
use super::search::SearchResult;
use super::trace::Stage;

/// The score that a reranker gave one document of the head.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RerankScore {
    /// The index of the document in the head. An index past its end is ignored.
    pub index: usize,
    /// A finite number on the reranker's own scale; higher is better.
    pub score: f64,
}

/// How the scores of a reranker become an order.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Reranking<'a> {
    /// The number of hits that the reranker was given.
    pub head: usize,
    /// The share of the reranker in the blend, from 0 to 1. At 1 its scores alone decide.
    pub weight: f64,
    /// Whether a hit without a score stays, with the lowest score; otherwise it is dropped.
    pub keeps_unscored: bool,
    /// The name of the reranker, for the trace.
    pub provider: &'a str,
    /// How long the reranker took.
    pub time: Duration,
}

/// A document for a reranker.
#[derive(Debug, Clone, PartialEq)]
pub struct RerankDocument<'a> {
    /// The id of the hit.
    pub id: &'a str,
    /// The title of the hit.
    pub title: &'a str,
    /// The text to score.
    pub text: String,
    /// The fused score of the hit.
    pub score: f64,
}

impl SearchResult {
    /// The documents of the first `head` hits. Each has its whole text up to `chars` characters, or
    /// the short rerank text of the specification if `chars` is None.
    pub fn rerank_documents(&self, head: usize, chars: Option<usize>) -> Vec<RerankDocument<'_>> {
        let text = |found: &ExplainedHit| match chars {
            Some(chars) => whole_text(&found.hit, chars),
            None => rerank_text(&found.hit),
        };
        self.hits
            .iter()
            .take(head)
            .map(|found| RerankDocument {
                id: &found.hit.id,
                title: &found.hit.title,
                text: text(found),
                score: found.hit.score,
            })
            .collect()
    }

    /// Order the head by `scores`, which may be in any order.
    ///
    /// Of several scores for one hit the first counts. Among equals the order of the answer holds. The
    /// hits after the head follow unchanged.
    pub fn rerank(&mut self, scores: &[RerankScore], step: &Reranking<'_>) {
        let tail = self.hits.split_off(step.head.min(self.hits.len()));
        let fused: Vec<f64> = self.hits.iter().map(|found| found.hit.score).collect();
        let mut waiting: Vec<Option<ExplainedHit>> = self.hits.drain(..).map(Some).collect();
        let mut ordered: Vec<(usize, ExplainedHit, f64)> = Vec::with_capacity(waiting.len());
        for RerankScore { index, score } in scores {
            if let Some(mut found) = waiting.get_mut(*index).and_then(Option::take) {
                found.hit.rerank_score = Some(*score);
                found.explanation.rerank_score = Some(*score);
                ordered.push((*index, found, *score));
            }
        }
        ordered.sort_by(|(_, _, one), (_, _, other)| other.total_cmp(one));
        let given: Vec<f64> = ordered.iter().map(|(_, _, score)| *score).collect();
        let mut deviations = deviations(&given);
        if step.keeps_unscored {
            let lowest = deviations.iter().copied().fold(0.0, f64::min);
            for (index, found) in waiting.into_iter().enumerate() {
                ordered.extend(found.map(|found| (index, found, f64::NEG_INFINITY)));
            }
            deviations.resize(ordered.len(), lowest);
        }
        self.hits = if step.weight < 1.0 {
            blended(ordered, &deviations, &self::deviations(&fused), step.weight)
        } else {
            ordered.into_iter().map(|(_, found, _)| found).collect()
        };
        self.hits.extend(tail);
        self.trace.reranked = true;
        self.trace.rerank_provider = Some(step.provider.to_owned());
        self.trace.rerank_weight = (step.weight < 1.0).then_some(step.weight);
        self.trace.timings.rerank = step.time;
    }

    /// Note that the reranker failed: the hits stay as they were.
    pub fn rerank_failed(&mut self, time: Duration) {
        self.trace.error_stage.get_or_insert(Stage::Rerank);
        self.trace.timings.rerank = time;
    }
}

/// The hits by their blend, best first; equals keep the order they come in.
fn blended(
    scored: Vec<(usize, ExplainedHit, f64)>,
    reranked: &[f64],
    fused: &[f64],
    weight: f64,
) -> Vec<ExplainedHit> {
    let mut hits: Vec<(f64, ExplainedHit)> = scored
        .into_iter()
        .zip(reranked)
        .map(|((index, mut found, _), &rerank_deviations)| {
            let fused_deviations = fused.get(index).copied().unwrap_or_default();
            let total = (1.0 - weight) * fused_deviations + weight * rerank_deviations;
            found.explanation.rerank_blend = Some(RerankBlend {
                weight,
                fused_deviations,
                rerank_deviations,
                total,
            });
            (total, found)
        })
        .collect();
    hits.sort_by(|(one, _), (other, _)| other.total_cmp(one));
    hits.into_iter().map(|(_, found)| found).collect()
}

/// Return the (population) standard deviations of each number above their mean; 0 for all if they are equal.
/// The numbers are finite.
fn deviations(numbers: &[f64]) -> Vec<f64> {
    let largest = numbers.iter().fold(0.0, |most: f64, n| most.max(n.abs()));
    let equal = numbers
        .windows(2)
        .all(|pair| pair[0].partial_cmp(&pair[1]) == Some(Ordering::Equal));
    if equal || largest == 0.0 {
        return vec![0.0; numbers.len()];
    }
    // Scaled first, so that no sum or square of large numbers overflows.
    let scaled: Vec<f64> = numbers.iter().map(|n| n / largest).collect();
    #[allow(clippy::cast_precision_loss, reason = "a few documents")]
    let count = scaled.len() as f64;
    let mean = scaled.iter().sum::<f64>() / count;
    let variance = scaled.iter().map(|n| (n - mean) * (n - mean)).sum::<f64>() / count;
    let spread = variance.sqrt();
    if spread == 0.0 {
        return vec![0.0; numbers.len()];
    }
    scaled.iter().map(|n| (n - mean) / spread).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn deviations_are_of_the_population() {
        let spread = 1.5_f64.sqrt();
        for (numbers, expected) in [
            (&[3.0, 1.0][..], &[1.0, -1.0][..]),
            (&[0.9, 0.5, 0.1], &[spread, 0.0, -spread]),
        ] {
            for (one, other) in deviations(numbers).iter().zip(expected) {
                assert!((one - other).abs() < 1e-12);
            }
        }
    }

    #[test]
    fn equal_numbers_do_not_deviate() {
        for numbers in [
            &[][..],
            &[7.0],
            &[0.0, -0.0],
            &[0.1, 0.1, 0.1],
            &[f64::MAX; 5],
        ] {
            assert!(
                deviations(numbers)
                    .iter()
                    .all(|deviation| *deviation == 0.0)
            );
        }
    }

    #[test]
    fn the_largest_and_smallest_numbers_have_finite_deviations() {
        let tiny = f64::from_bits(1);
        for numbers in [
            [f64::MAX, -f64::MAX, 0.0],
            [tiny, -tiny, 0.0],
            [1.0, 1.0 + f64::EPSILON, 1.0],
        ] {
            let found = deviations(&numbers);
            assert!(
                found.iter().all(|deviation| deviation.is_finite()),
                "{found:?}"
            );
        }
    }
}
