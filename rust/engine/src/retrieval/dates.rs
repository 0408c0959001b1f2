//! The chunks of a day or a period that a question names count more (spec/retrieval.md, "Dates").

use super::explanation::ByDate;
use super::fused::Document;
use super::request::{Request, Setup};
use crate::calendar::{NamedPeriod, NamedPeriods, Unit, iso_day, periods};
use crate::chunks::Turn;
use crate::rule;

/// The gain of a chunk of a named day; the best keyword match gains 1.
const ON_DAY: f64 = 0.6;
/// The gain of a chunk of one of the days after a named day: events are mentioned a little later.
const AFTER_DAY: f64 = 0.4;
/// The gain of a chunk of a named week.
const IN_WEEK: f64 = 0.6;
/// The gain of a chunk of a named month. Years gain nothing: most chunks are of few years.
const IN_MONTH: f64 = 0.4;
/// The number of days after a named day that gain.
const DAYS_AFTER: i32 = 3;

rule! {
    /// Texts from a day, a week or a month that a question names rank higher, relative ones as counted from the day of
    /// the question.
    pub static NAMED_PERIODS = "named periods" { ON_DAY, AFTER_DAY, DAYS_AFTER, IN_WEEK, IN_MONTH }
}

/// The periods that the question of a request names, if they can change a score of documents with these turns.
pub(super) fn named(
    setup: &Setup<'_>,
    request: &Request<'_>,
    turns: &[Turn],
) -> Option<NamedPeriods> {
    if !setup.counts_dates()
        || !NAMED_PERIODS.is_on()
        || turns.iter().all(|turn| turn.day.is_none())
    {
        return None;
    }
    let named = periods(request.query, request.today);
    (!named.periods.is_empty()).then_some(named)
}

/// Add to the scores of the documents of named days and periods; each document has its turn.
pub(super) fn raise(named: &NamedPeriods, turns: &[Turn], documents: &mut [Document<'_>]) {
    for (document, turn) in documents.iter_mut().zip(turns) {
        let gain = turn.day.and_then(|day| Some((day, gain(day, named)?)));
        let Some((day, (unit, contribution))) = gain else {
            continue;
        };
        document.explanation.score += contribution;
        document.explanation.date = Some(ByDate {
            day: iso_day(day),
            because: unit,
            contribution,
        });
    }
}

/// The highest gain of a day by a named period, and the unit of the period. None if it is in none.
fn gain(day: i32, named: &NamedPeriods) -> Option<(Unit, f64)> {
    let gains = named.periods.iter().filter_map(|period| {
        let unit = period.unit();
        Some((unit, gain_of(day, period)?))
    });
    gains.reduce(|best, other| if other.1 > best.1 { other } else { best })
}

fn gain_of(day: i32, period: &NamedPeriod) -> Option<f64> {
    let is_within = period.contains(day);
    match period.unit() {
        Unit::Day if is_within => Some(ON_DAY),
        Unit::Day => (1..=DAYS_AFTER)
            .any(|after| period.contains(day.saturating_sub(after)))
            .then_some(AFTER_DAY),
        Unit::Week => is_within.then_some(IN_WEEK),
        Unit::Month => is_within.then_some(IN_MONTH),
        Unit::Year => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::calendar::{day_of, read};
    use crate::retrieval::fused::document_with_score;

    #[test]
    fn a_chunk_of_a_shorter_period_gains_more() {
        let first = day_of(read("2024-02-27").unwrap().date());
        for (question, expected) in [
            ("on 27 February", [0.6, 0.4, 0.4, 0.4, 0.0, 0.0]),
            ("on 2024-02-28", [0.0, 0.6, 0.4, 0.4, 0.4, 0.0]),
            ("on 2023-02-28", [0.0; 6]),
            ("in March 2024", [0.0, 0.0, 0.0, 0.4, 0.4, 0.4]),
            ("in March, on 2 March", [0.0, 0.0, 0.0, 0.4, 0.6, 0.4]),
            ("gestern", [0.0, 0.0, 0.6, 0.4, 0.4, 0.4]),
            ("diese Woche", [0.6; 6]),
            ("last month", [0.4, 0.4, 0.4, 0.0, 0.0, 0.0]),
            ("今年", [0.0; 6]),
            ("some day", [0.0; 6]),
        ] {
            let turns: Vec<Turn> = (0..6)
                .map(|after| Turn {
                    day: Some(first + after),
                    ..Turn::default()
                })
                .collect();
            let mut documents: Vec<Document<'_>> =
                (0..6).map(|row| document_with_score(row, 0.5)).collect();
            // 1 March 2024 was a Friday.
            raise(&periods(question, Some(first + 3)), &turns, &mut documents);
            for (document, expected) in documents.iter().zip(expected) {
                let explanation = &document.explanation;
                assert_eq!(
                    explanation.score.to_bits(),
                    (0.5_f64 + expected).to_bits(),
                    "{question}"
                );
                let given = explanation.date.as_ref().map_or(0.0, |by| by.contribution);
                assert_eq!(given.to_bits(), f64::to_bits(expected));
            }
        }
    }

    #[test]
    fn a_chunk_without_a_day_is_not_of_it() {
        let mut documents = [document_with_score(0, 0.5)];
        raise(
            &periods("on 27 February", None),
            &[Turn::default()],
            &mut documents,
        );
        assert!(documents[0].explanation.date.is_none());
    }
}
