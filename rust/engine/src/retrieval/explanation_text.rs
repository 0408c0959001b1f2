//! An explanation in words (spec/retrieval.md, "Explanations").

use std::fmt::{self, Display, Formatter};

use super::explanation::{Because, ByNeighbor, Explanation};
use super::fuse::DEFAULT_K;
use super::multiplier::Condition;
use super::neighbors::gain;
use super::request::Fusion;
use super::request::SHARES;
use super::speakers::{ANSWERS_SHARE, is_role};
use crate::calendar::Unit;

/// A short paragraph.
impl Display for Explanation {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self.fusion {
            Fusion::Rrf => self.write_places(f)?,
            Fusion::Score => self.write_shares(f)?,
        }
        self.write_neighbors(f)?;
        self.write_given(f)?;
        self.write_multiplier(f)?;
        self.write_rerank(f)
    }
}

impl Explanation {
    fn write_places(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let rank_line = |rank: usize, leg: &str, contribution: f64| {
            #[allow(clippy::cast_precision_loss, reason = "to be read")]
            let below = DEFAULT_K + rank as f64 + 1.0;
            let contribution = digits(contribution, 4);
            let place = rank as u128 + 1;
            format!("number {place} by {leg}: 1/{below} = {contribution}")
        };
        let keywords = self.keywords.map(|by| {
            let leg = if by.fuzzy {
                format!("spelling (similarity {})", digits(by.score, 2))
            } else {
                format!("keywords (BM25 {})", digits(by.score, 2))
            };
            rank_line(by.rank, &leg, by.contribution)
        });
        let meaning = self.meaning.and_then(|by| {
            let leg = format!("meaning (cosine {})", digits(by.cosine, 4));
            Some(rank_line(by.rank?, &leg, by.contribution))
        });
        let both = keywords.is_some() && meaning.is_some();
        write_joined(f, [keywords, meaning], "; ")?;
        if both {
            write!(f, "; together {}", digits(self.fused, 4))?;
        }
        match self.best_possible {
            Some(best) => write!(
                f,
                ", {} of the best possible {}",
                percent(self.fused / best),
                digits(best, 4)
            ),
            None => Ok(()),
        }
    }

    fn write_shares(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let keywords = self.keywords.map(|by| {
            let what = if by.fuzzy {
                "match by spelling"
            } else {
                "keyword match"
            };
            let share = percent(by.share.unwrap_or_default());
            let contribution = hundredths(by.contribution);
            format!("keywords {contribution} ({share} of the best {what})")
        });
        let meaning = self.meaning.map(|by| {
            let contribution = hundredths(by.contribution);
            let nearness = nearness(by.deviations.unwrap_or_default());
            format!("meaning {contribution} ({nearness} the average document)")
        });
        let both = keywords.is_some() && meaning.is_some();
        write_joined(f, [keywords, meaning], " + ")?;
        if both {
            write!(f, " = {}", hundredths(self.fused))?;
        }
        match (self.keywords, self.coverage, self.weight) {
            (Some(_), Some(coverage), Some(weight)) if weight < 1.0 => {
                let covered = percent(coverage);
                let counted = percent(weight);
                let counted = if counted == "50 %" { "half" } else { &counted };
                write!(
                    f,
                    "; the best keyword match covers {covered} of the question, so keywords \
                     count {counted}"
                )
            }
            _ => Ok(()),
        }
    }

    /// A part of the score in digits: those of ranks are small.
    fn number(&self, number: f64) -> String {
        match self.fusion {
            Fusion::Rrf => digits(number, 4),
            Fusion::Score => hundredths(number),
        }
    }

    fn write_neighbors(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let number = |number| self.number(number);
        let given = |by: &ByNeighbor| {
            let place = if by.distance == 1 {
                "next to it"
            } else {
                "two away"
            };
            let share = SHARES[usize::from(by.distance) - 1];
            let total = number(by.total);
            #[allow(clippy::float_cmp, reason = "computed alike")]
            let counted = if by.contribution == share * by.total {
                total
            } else {
                let (gain, own) = (number(gain(by.total, self.fused)), number(self.fused));
                format!("{gain}, its {total} less half of {own}")
            };
            let (contribution, share) = (number(by.contribution), percent(share));
            format!(
                "{:?}, {place}, gives {contribution} ({share} of {counted})",
                by.id
            )
        };
        let given: Vec<String> = self.neighbors.iter().map(given).collect();
        if given.is_empty() {
            return Ok(());
        }
        let raised = number(self.with_neighbors());
        if self.keywords.is_some() || self.meaning.is_some() {
            f.write_str("; ")?;
        }
        write!(f, "{}; with its neighbors {raised}", given.join(" and "))
    }

    fn write_rerank(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self.rerank_score {
            Some(score) => write!(f, "; reranker's score {}", digits(score, 4))?,
            None if self.rerank_blend.is_some() => f.write_str("; no score of the reranker")?,
            None => return Ok(()),
        }
        let Some(blend) = self.rerank_blend else {
            return Ok(());
        };
        write!(
            f,
            ", {} standard deviations {} the average of the reranked hits, counts {}, and the score of \
             the search, {}, {} = {}",
            hundredths(blend.rerank_deviations.abs()),
            side(blend.rerank_deviations),
            percent(blend.weight),
            above_or_below(blend.fused_deviations),
            percent(1.0 - blend.weight),
            hundredths(blend.total)
        )
    }

    /// Write the parts of the speaker, of the question before it, of the day and of the age, and the
    /// total with them.
    fn write_given(&self, f: &mut Formatter<'_>) -> fmt::Result {
        self.write_speaker(f)?;
        self.write_answers(f)?;
        self.write_date(f)?;
        self.write_recency(f)?;
        let is_given = self.speaker.is_some() || self.answers.is_some() || self.date.is_some();
        if is_given || self.recency.is_some() {
            write!(f, " = {}", self.number(self.raised()))?;
        }
        Ok(())
    }

    fn write_recency(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let Some(by) = &self.recency else {
            return Ok(());
        };
        match (&by.day, by.age) {
            (Some(day), Some(1)) => write!(f, "; from {day}, 1 day old")?,
            (Some(day), Some(age)) => write!(f, "; from {day}, {age} days old")?,
            _ => f.write_str("; without a date")?,
        }
        let weight = digits(by.weight, 2);
        let contribution = self.number(by.contribution.abs());
        write!(f, ", so that it counts {weight}: -{contribution}")
    }

    fn write_speaker(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let Some(by) = &self.speaker else {
            return Ok(());
        };
        let name = if is_role(&by.name) {
            format!("the {}", by.name)
        } else {
            by.name.clone()
        };
        let because = match by.because {
            Because::Named => format!("{name}, whom the question names"),
            Because::FirstPerson => format!("{name}, and the question says I"),
        };
        write!(f, "; said by {because}: ")?;
        write_gain(f, by.contribution)
    }

    fn write_answers(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let Some(by) = &self.answers else {
            return Ok(());
        };
        let share = percent(ANSWERS_SHARE);
        write!(
            f,
            "; answers {:?} ({share} of {}): ",
            by.id,
            hundredths(by.total)
        )?;
        write_gain(f, by.contribution)
    }

    fn write_date(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let Some(by) = &self.date else {
            return Ok(());
        };
        let because = match by.because {
            Unit::Day => ", or up to 3 days later",
            Unit::Week | Unit::Month | Unit::Year => "",
        };
        let unit = by.because.as_str();
        write!(
            f,
            "; from {}, a {unit} that the question names{because}: ",
            by.day
        )?;
        write_gain(f, by.contribution)
    }

    fn write_multiplier(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let condition =
            |condition: Condition| format!("{} ({})", condition.factor(), condition.as_str());
        let conditions: Vec<String> = self.multiplier.conditions().map(condition).collect();
        if conditions.is_empty() {
            return Ok(());
        }
        let conditions = conditions.join(" and ");
        match self.fusion {
            Fusion::Rrf => {
                let score = digits(self.score, 4);
                write!(f, "; multiplied by {conditions} = {score}")
            }
            Fusion::Score => {
                let divided = self.raised() < 0.0;
                let verb = if divided { "divided" } else { "multiplied" };
                write!(f, "; {verb} by {conditions} = {}", hundredths(self.score))
            }
        }
    }
}

/// A distance from the mean, to read: `0.50 below`.
fn above_or_below(deviations: f64) -> String {
    format!("{:.2} {}", deviations.abs(), side(deviations))
}

fn side(deviations: f64) -> &'static str {
    if deviations < 0.0 { "below" } else { "above" }
}

fn write_gain(f: &mut Formatter<'_>, contribution: f64) -> fmt::Result {
    write!(f, "+{}", hundredths(contribution))
}

fn write_joined(f: &mut Formatter<'_>, parts: [Option<String>; 2], separator: &str) -> fmt::Result {
    let parts: Vec<String> = parts.into_iter().flatten().collect();
    f.write_str(&parts.join(separator))
}

/// Return a readable number. A nonzero number that would be all zeros keeps two significant digits.
fn digits(number: f64, places: usize) -> String {
    let text = format!("{number:.places$}");
    if number != 0.0 && !text.contains(|c: char| ('1'..='9').contains(&c)) {
        return format!("{number:.1e}");
    }
    text
}

/// A number about as large as 1, to read; zero has no sign.
fn hundredths(number: f64) -> String {
    let text = format!("{number:.2}");
    if text == "-0.00" {
        "0.00".to_owned()
    } else {
        text
    }
}

/// Up to the words "the average document".
fn nearness(deviations: f64) -> String {
    let far = format!("{:.1}", deviations.abs());
    if far == "0.0" {
        return "as close as".to_owned();
    }
    let side = if deviations > 0.0 {
        "closer"
    } else {
        "further"
    };
    format!("{far} standard deviations {side} than")
}

fn percent(part: f64) -> String {
    let whole = format!("{:.0} %", 100.0 * part);
    if part > 0.0 && whole == "0 %" {
        return "under 1 %".to_owned();
    }
    whole
}

#[cfg(test)]
mod tests;
