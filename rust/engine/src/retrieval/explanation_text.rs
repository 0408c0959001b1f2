//! An explanation in words (spec/retrieval.md, "Explanations").

use std::fmt::{self, Display, Formatter};

use super::explanation::Explanation;
use super::fuse::DEFAULT_K;
use super::multiplier::Condition;
use super::request::Fusion;

/// One short paragraph.
impl Display for Explanation {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self.fusion {
            Fusion::Rrf => self.write_places(f)?,
            Fusion::Score => self.write_shares(f)?,
        }
        self.write_multiplier(f)?;
        match self.rerank_score {
            Some(score) => write!(f, "; reranker's score {}", digits(score, 4)),
            None => Ok(()),
        }
    }
}

impl Explanation {
    fn write_places(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let rank_line = |rank: usize, leg: &str, contribution: f64| {
            #[allow(clippy::cast_precision_loss, reason = "to be read")]
            let below = DEFAULT_K + rank as f64 + 1.0;
            let contribution = digits(contribution, 4);
            format!("number {} by {leg}: 1/{below} = {contribution}", rank + 1)
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
                let divided = self.fused < 0.0;
                let verb = if divided { "divided" } else { "multiplied" };
                write!(f, "; {verb} by {conditions} = {}", hundredths(self.score))
            }
        }
    }
}

fn write_joined(f: &mut Formatter<'_>, parts: [Option<String>; 2], separator: &str) -> fmt::Result {
    let parts: Vec<String> = parts.into_iter().flatten().collect();
    f.write_str(&parts.join(separator))
}

/// A number to read. What would be all zeros, but is not nothing, keeps two digits of its own.
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
mod tests {
    use super::*;
    use crate::chunks::Texts;
    use crate::index::Hit;
    use crate::retrieval::explanation::{ByKeywords, ByMeaning};
    use crate::retrieval::intent::Intent;
    use crate::retrieval::multiplier::Multiplier;

    fn rrf() -> Explanation {
        Explanation {
            fusion: Fusion::Rrf,
            keywords: Some(ByKeywords {
                rank: 0,
                score: 12.412,
                fuzzy: false,
                share: None,
                contribution: 1.0 / 61.0,
            }),
            meaning: Some(ByMeaning {
                rank: Some(2),
                cosine: 0.53214,
                deviations: None,
                contribution: 1.0 / 63.0,
            }),
            fused: 1.0 / 61.0 + 1.0 / 63.0,
            best_possible: Some(2.0 / 61.0),
            coverage: None,
            weight: None,
            multiplier: Multiplier::default(),
            score: 1.0 / 61.0 + 1.0 / 63.0,
            rerank_score: None,
        }
    }

    fn score() -> Explanation {
        Explanation {
            fusion: Fusion::Score,
            keywords: Some(ByKeywords {
                rank: 1,
                score: 6.0,
                fuzzy: false,
                share: Some(6.0 / 9.0),
                contribution: 6.0 / 9.0,
            }),
            meaning: Some(ByMeaning {
                rank: None,
                cosine: 0.5,
                deviations: Some(4.0),
                contribution: 0.8,
            }),
            fused: 6.0 / 9.0 + 0.8,
            best_possible: None,
            coverage: Some(0.5),
            weight: Some(1.0),
            multiplier: Multiplier::default(),
            score: 6.0 / 9.0 + 0.8,
            rerank_score: None,
        }
    }

    fn multiplier(path: &str) -> Multiplier {
        let intent = Intent {
            preference: true,
            concrete_fact: true,
        };
        let texts = Texts {
            path: path.to_owned(),
            ..Texts::default()
        };
        Multiplier::of(intent, &Hit::from(texts)).unwrap()
    }

    #[test]
    fn places_and_what_they_give() {
        assert_eq!(
            rrf().to_string(),
            "number 1 by keywords (BM25 12.41): 1/61 = 0.0164; number 3 by meaning (cosine \
             0.5321): 1/63 = 0.0159; together 0.0323, 98 % of the best possible 0.0328"
        );
        let one_leg = Explanation {
            meaning: None,
            fused: 1.0 / 61.0,
            rerank_score: Some(0.9314),
            ..rrf()
        };
        assert_eq!(
            one_leg.to_string(),
            "number 1 by keywords (BM25 12.41): 1/61 = 0.0164, 50 % of the best possible 0.0328; \
             reranker's score 0.9314"
        );
        let common = Explanation {
            keywords: rrf().keywords.map(|by| ByKeywords { score: 2e-6, ..by }),
            ..one_leg.clone()
        };
        assert!(common.to_string().contains("(BM25 2.0e-6)"), "{common}");
        let fuzzy = Explanation {
            keywords: rrf().keywords.map(|by| ByKeywords {
                score: 0.5,
                fuzzy: true,
                ..by
            }),
            ..one_leg
        };
        let by_spelling = "number 1 by spelling (similarity 0.50): 1/61";
        assert!(fuzzy.to_string().starts_with(by_spelling), "{fuzzy}");
    }

    #[test]
    fn every_multiplier_is_named() {
        let multiplier = multiplier("memory/global/user-preference-milestone-tea.md");
        let factor = multiplier.factor();
        let mut explanation = Explanation {
            multiplier,
            score: rrf().fused * factor,
            ..rrf()
        };
        assert!(
            explanation.to_string().ends_with(
                "0.0328; multiplied by 2.35 (a preference is asked for and this is a user \
                 preference) and 2.2 (a fact is asked for and this is one) = 0.1668"
            ),
            "{explanation}"
        );
        explanation = Explanation {
            fused: -0.5,
            score: -0.5 / factor,
            multiplier,
            ..score()
        };
        let text = explanation.to_string();
        assert!(text.contains(" = -0.50; divided by 2.35 (a pref"), "{text}");
        assert!(text.ends_with(" = -0.10"), "{text}");
    }

    #[test]
    fn shares_and_deviations() {
        assert_eq!(
            score().to_string(),
            "keywords 0.67 (67 % of the best keyword match) + meaning 0.80 (4.0 standard \
             deviations closer than the average document) = 1.47"
        );
        let lowered = Explanation {
            coverage: Some(0.1),
            weight: Some(0.5),
            meaning: None,
            ..score()
        };
        assert_eq!(
            lowered.to_string(),
            "keywords 0.67 (67 % of the best keyword match); the best keyword match covers 10 % \
             of the question, so keywords count half"
        );
        let little = Explanation {
            coverage: Some(0.001),
            weight: Some(0.005),
            ..lowered
        };
        let end = "covers under 1 % of the question, so keywords count under 1 %";
        assert!(little.to_string().ends_with(end), "{little}");
    }

    #[test]
    fn nearer_and_further() {
        for (deviations, expected) in [
            (
                -1.54,
                "meaning -0.31 (1.5 standard deviations further than the average document)",
            ),
            (0.0, "meaning 0.00 (as close as the average document)"),
            (-0.01, "meaning 0.00 (as close as the average document)"),
            (
                2.0,
                "meaning 0.40 (2.0 standard deviations closer than the average document)",
            ),
        ] {
            let meaning = ByMeaning {
                rank: Some(0),
                cosine: 0.1,
                deviations: Some(deviations),
                contribution: 0.2 * deviations,
            };
            let explanation = Explanation {
                keywords: None,
                meaning: Some(meaning),
                coverage: Some(0.1),
                weight: Some(0.5),
                ..score()
            };
            assert_eq!(explanation.to_string(), expected);
        }
    }
}
