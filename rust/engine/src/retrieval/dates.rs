//! The chunks of a day or a month that a question names count more (spec/retrieval.md, "Dates").

use super::explanation::{ByDate, DateKind};
use super::fused::Document;
use super::question_dates::{NamedDate, named_dates};
use crate::chunks::{Turn, civil, iso_day};

/// The gain of a chunk of a named day; the best keyword match gains 1.
const ON_DAY: f64 = 0.4;
/// The gain of a chunk of a named month.
const IN_MONTH: f64 = 0.2;
/// Days after a named day on which chunks still count as of the day: events are mentioned a little later.
const DAYS_AFTER: i32 = 3;

/// Whether [`raise`] can change a score of documents with these turns.
pub(super) fn may_raise(question: &str, turns: &[Turn]) -> bool {
    turns.iter().any(|turn| turn.day.is_some()) && !named_dates(question).is_empty()
}

/// Add to the scores of the documents of the days and months that a question names; each has its turn.
pub(super) fn raise(question: &str, turns: &[Turn], documents: &mut [Document<'_>]) {
    let named = named_dates(question);
    if named.is_empty() {
        return;
    }
    for (document, turn) in documents.iter_mut().zip(turns) {
        let Some((day, kind)) = turn.day.and_then(|day| Some((day, kind_of(day, &named)?))) else {
            continue;
        };
        let contribution = match kind {
            DateKind::Day => ON_DAY,
            DateKind::Month => IN_MONTH,
        };
        document.explanation.score += contribution;
        document.explanation.date = Some(ByDate {
            day: iso_day(day),
            because: kind,
            contribution,
        });
    }
}

/// Whether a day is one of the named ones, or in a named month. None if it is neither.
fn kind_of(day: i32, named: &[NamedDate]) -> Option<DateKind> {
    let is_day = |date: &NamedDate| {
        date.day.is_some() && (0..=DAYS_AFTER).any(|after| is_of(day - after, date))
    };
    if named.iter().any(is_day) {
        return Some(DateKind::Day);
    }
    let is_month = |date: &NamedDate| date.day.is_none() && is_of(day, date);
    named.iter().any(is_month).then_some(DateKind::Month)
}

fn is_of(day: i32, date: &NamedDate) -> bool {
    let (year, month, day) = civil(day);
    date.year.is_none_or(|named| named == year)
        && date.month == month
        && date.day.is_none_or(|named| named == day)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::retrieval::fused::document_with_score;

    #[test]
    fn a_named_day_counts_more_than_a_named_month() {
        // 2024-02-27 and the days after it.
        let first = 19_780;
        for (question, expected) in [
            ("on 27 February", [0.4, 0.4, 0.4, 0.4, 0.0, 0.0]),
            ("on 2024-02-28", [0.0, 0.4, 0.4, 0.4, 0.4, 0.0]),
            ("on 2023-02-28", [0.0; 6]),
            ("in March 2024", [0.0, 0.0, 0.0, 0.2, 0.2, 0.2]),
            ("in March, on 2 March", [0.0, 0.0, 0.0, 0.2, 0.4, 0.4]),
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
            raise(question, &turns, &mut documents);
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
        raise("on 27 February", &[Turn::default()], &mut documents);
        assert!(documents[0].explanation.date.is_none());
    }
}
