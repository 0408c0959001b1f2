//! Scores multiplied by the intent of the query (spec/retrieval.md, "Multipliers").

use super::explanation::ExplainedHit;
use super::intent::Intent;
use super::multiplier::Multiplier;
use super::order;
use super::request::Fusion;
use super::score_fusion::multiplied;
use crate::error::Result;
use crate::index::Hit;
use crate::interrupt::{self, CancelTicker};

/// A hit with its new score, and where that comes from.
#[derive(Debug, Clone, PartialEq)]
pub struct ReweightedHit {
    /// The hit; its score is multiplied already.
    pub hit: Hit,
    /// The factor, with its reasons.
    pub multiplier: Multiplier,
}

/// Multiply the scores of `hits` and put the best first; equal scores keep their order.
///
/// Without an intent the hits stay as they are, sorted or not.
pub fn reweight(intent: Intent, hits: Vec<Hit>) -> Result<Vec<ReweightedHit>> {
    let mut pace = CancelTicker::default();
    let mut reweighted = hits
        .into_iter()
        .map(|mut hit| {
            pace.step(1 + hit.content.len())?;
            let multiplier = Multiplier::of(intent, &hit)?;
            hit.score *= multiplier.factor();
            Ok(ReweightedHit { hit, multiplier })
        })
        .collect::<Result<Vec<_>>>()?;
    if intent.any() {
        interrupt::sort(&mut reweighted, |left, right| {
            order::descending(left.hit.score, right.hit.score)
        })?;
    }
    Ok(reweighted)
}

/// [`reweight`] within a search; only score fusion has scores below 0, and its own way there.
pub(super) fn reweight_explained(
    intent: Intent,
    mut hits: Vec<ExplainedHit>,
) -> Result<Vec<ExplainedHit>> {
    if !intent.any() {
        return Ok(hits);
    }
    let mut pace = CancelTicker::default();
    for ExplainedHit { hit, explanation } in &mut hits {
        pace.step(1 + hit.content.len())?;
        let multiplier = Multiplier::of(intent, hit)?;
        hit.score = match explanation.fusion {
            Fusion::Rrf => hit.score * multiplier.factor(),
            Fusion::Score => multiplied(hit.score, multiplier.factor()),
        };
        explanation.multiplier = multiplier;
        explanation.score = hit.score;
    }
    interrupt::sort(&mut hits, |left, right| {
        order::descending(left.hit.score, right.hit.score)
    })?;
    Ok(hits)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::chunks::Texts;
    use crate::error::ErrorCode;

    #[test]
    fn it_stops_when_nobody_waits() {
        let intent = Intent {
            preference: true,
            concrete_fact: false,
        };
        let keys = json!({
            "fusion": "rrf", "fused": 1.0, "neighbors": [], "multipliers": [], "score": 1.0,
        });
        let texts = Texts {
            content: "oak ".repeat(100),
            ..Texts::default()
        };
        let hit = ExplainedHit {
            hit: texts.into(),
            explanation: serde_json::from_value(keys).unwrap(),
        };
        let reweight = || reweight_explained(intent, vec![hit.clone(); 3]);
        assert_eq!(reweight().unwrap().len(), 3);
        let stopped = interrupt::with_cancellation(|| true, reweight).unwrap_err();
        assert_eq!(stopped.code(), ErrorCode::Interrupted);
    }
}
