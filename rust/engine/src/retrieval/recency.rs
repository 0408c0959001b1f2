//! The score of a chunk decreases with its age (spec/retrieval.md, "Recency").

use super::explanation::ByRecency;
use super::fused::Document;
use super::request::Recency;
use crate::calendar::iso_day;
use crate::chunks::Turn;

/// The weight of a chunk without a day: that of one as old as the half-life.
const WITHOUT_DAY: f64 = 0.5;

/// Lower the scores of documents by their age; each document has its turn.
pub(super) fn lower(recency: Recency, turns: &[Turn], documents: &mut [Document<'_>]) {
    for (document, turn) in documents.iter_mut().zip(turns) {
        let age = turn.day.map(|day| recency.age(day));
        let weight = age.map_or(WITHOUT_DAY, |age| recency.weight(age));
        let explanation = &mut document.explanation;
        // A negative score moves away from zero too, so that age never raises a hit.
        let contribution = (weight - 1.0) * explanation.score.abs();
        explanation.score += contribution;
        explanation.recency = Some(ByRecency {
            day: turn.day.map(iso_day),
            age,
            weight,
            contribution,
        });
    }
}

impl Recency {
    /// The age of a day in days: 0 for the day itself and later ones.
    fn age(self, day: i32) -> u32 {
        u32::try_from(i64::from(self.day) - i64::from(day)).unwrap_or_default()
    }

    fn weight(self, age: u32) -> f64 {
        (-f64::from(age) / f64::from(self.half_life.max(1))).exp2()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::retrieval::fused::document_with_score;

    #[test]
    fn a_score_is_halved_with_each_half_life_and_a_negative_one_moves_away_from_zero() {
        let recency = Recency {
            half_life: 30,
            day: 20_000,
        };
        for (day, score, weight, expected) in [
            (Some(20_000), 0.8, 1.0, 0.8),
            (Some(20_001), 0.8, 1.0, 0.8),
            (Some(19_970), 0.8, 0.5, 0.4),
            (Some(19_940), 0.8, 0.25, 0.2),
            (Some(19_970), -0.8, 0.5, -1.2),
            (Some(i32::MIN), 0.8, 0.0, 0.0),
            (None, 0.8, 0.5, 0.4),
            (Some(19_970), 0.0, 0.5, 0.0),
        ] {
            let turn = Turn {
                day,
                ..Turn::default()
            };
            let mut documents = [document_with_score(0, score)];
            lower(recency, &[turn], &mut documents);
            let explanation = &documents[0].explanation;
            let by = explanation.recency.as_ref().unwrap();
            assert_eq!(by.weight.to_bits(), f64::to_bits(weight), "{day:?}");
            assert!((explanation.score - expected).abs() < 1e-12, "{day:?}");
            assert_eq!(explanation.score.to_bits(), explanation.raised().to_bits());
            assert!(by.contribution <= 0.0);
        }
    }

    #[test]
    fn a_day_and_an_age_are_explained() {
        let recency = Recency {
            half_life: 7,
            day: 19_782,
        };
        for (day, expected) in [
            (Some(19_780), (Some("2024-02-27".to_owned()), Some(2))),
            (Some(19_790), (Some("2024-03-08".to_owned()), Some(0))),
            (None, (None, None)),
        ] {
            let turn = Turn {
                day,
                ..Turn::default()
            };
            let mut documents = [document_with_score(0, 0.5)];
            lower(recency, &[turn], &mut documents);
            let [document] = documents;
            let by = document.explanation.recency.unwrap();
            assert_eq!((by.day, by.age), expected);
        }
    }
}
