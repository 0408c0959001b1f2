//! The chunks of the speaker that a question asks about count more (spec/retrieval.md, "Speakers").

use std::collections::HashSet;
use std::sync::Arc;

use super::collection::Reader;
use super::explanation::{Because, BySpeaker};
use super::fused::{Document, NeighborContribution};
use super::request::{Request, Setup};
use crate::chunks::Turn;
use crate::error::Result;
use crate::query::StopWords;
use crate::rule;
use crate::text::speech::folded_words;

/// The gain of a chunk of the speaker in question; the best keyword match gains 1.
pub(super) const ASKED: f64 = 0.6;

/// The share of the total of a question that is added to the answer of a named speaker.
pub(super) const ANSWERS_SHARE: f64 = 0.3;

rule! {
    /// Turns of the speaker whom a question names rank higher.
    pub static SPEAKERS = "speakers" { ASKED, ROLES.len() }
}

rule! {
    /// Turns of the user, or of the asker, rank higher if a question says *I* or *my* and names no speaker.
    pub static FIRST_PERSON = "first person" { ASKED, FIRST_PERSON_WORDS.len() }
}

rule! {
    /// The turn of a named speaker ranks higher after a question by another speaker that matches.
    pub static ANSWERS = "answers" { ANSWERS_SHARE }
}

/// The words of the first person, of English and Dutch, as [`folded_words`] gives them.
const FIRST_PERSON_WORDS: [&str; 20] = [
    "i", "im", "ive", "id", "ill", "my", "me", "mine", "myself", "we", "us", "our", "ours", "ik",
    "mij", "mijn", "me", "wij", "ons", "onze",
];

/// Words of roles, which are not names: a question about "the user" names nobody.
const ROLES: [&str; 11] = [
    "agent",
    "ai",
    "assistant",
    "bot",
    "developer",
    "function",
    "human",
    "model",
    "system",
    "tool",
    "user",
];

/// The name of a speaker who is known by the role of the user alone.
const USER: &str = "user";

/// Whether a name is that of a role.
pub(super) fn is_role(name: &str) -> bool {
    ROLES.iter().any(|role| name.eq_ignore_ascii_case(role))
}

/// A question, as it says whom it asks about.
struct Question {
    /// The words that can be part of a name.
    words: HashSet<String>,
    first_person: bool,
    /// The folded name of the asking user.
    asker: Option<Vec<String>>,
}

impl Question {
    fn of(query: &str, asker: Option<&str>, stopwords: &StopWords) -> Self {
        let words: HashSet<String> = folded_words(query).collect();
        Self {
            first_person: FIRST_PERSON.is_on()
                && FIRST_PERSON_WORDS.iter().any(|word| words.contains(*word)),
            words: (words.into_iter())
                .filter(|word| {
                    !stopwords.contains_function_word(word) && !ROLES.contains(&word.as_str())
                })
                .collect(),
            asker: asker.map(|name| folded_words(name).collect()),
        }
    }

    fn names(&self, speaker: &str) -> bool {
        folded_words(speaker).any(|word| self.words.contains(&word))
    }

    fn is_asker(&self, speaker: &str) -> bool {
        let asker = self.asker.as_deref();
        asker.is_some_and(|asker| folded_words(speaker).eq(asker.iter().cloned()))
    }
}

/// Whether [`raise`] can change a score of documents with these turns.
pub(super) fn may_raise(setup: &Setup<'_>, request: &Request<'_>, turns: &[Turn]) -> bool {
    if !turns
        .iter()
        .any(|turn| turn.by_user || turn.speaker.is_some())
    {
        return false;
    }
    let stopwords = setup.collection.stopwords();
    let question = Question::of(request.query, request.asker, stopwords);
    let mut named = ForEachSpeaker::new(|name| question.names(name));
    question.first_person || turns.iter().any(|turn| named.holds(turn))
}

/// Raise the score of each document by a speaker in question. Each document has its turn.
pub(super) fn raise(
    reader: &dyn Reader,
    setup: &Setup<'_>,
    request: &Request<'_>,
    turns: &[Turn],
    documents: &mut [Document<'_>],
) -> Result<()> {
    let stopwords = setup.collection.stopwords();
    let question = Question::of(request.query, request.asker, stopwords);
    let named = count(&question, turns, documents);
    let before = |one: &Document<'_>| one.before.map(|(row, _)| row);
    let asked = documents.iter().zip(&named).filter(|(_, named)| **named);
    let rows: Vec<i64> = asked.filter_map(|(one, _)| before(one)).collect();
    if rows.is_empty() {
        return Ok(());
    }
    let mut questions = reader.turns(&rows)?.into_iter();
    for ((document, turn), named) in documents.iter_mut().zip(turns).zip(named) {
        if named && let Some((row, total)) = document.before {
            let question = questions.next().unwrap_or_default();
            count_answer(document, turn, &question, row, total);
        }
    }
    Ok(())
}

/// Add to the scores of the documents whose speakers a question asks about. Returns which of them it names.
fn count(question: &Question, turns: &[Turn], documents: &mut [Document<'_>]) -> Vec<bool> {
    let mut named = ForEachSpeaker::new(|name| question.names(name));
    let which: Vec<bool> = turns.iter().map(|turn| named.holds(turn)).collect();
    if which.contains(&true) {
        if !SPEAKERS.is_on() {
            return which;
        }
        for ((document, turn), _) in (documents.iter_mut().zip(turns))
            .zip(&which)
            .filter(|(_, named)| **named)
        {
            add(document, turn, Because::Named);
        }
    } else if question.first_person {
        let mut askers = ForEachSpeaker::new(|name| question.is_asker(name));
        for (document, turn) in documents.iter_mut().zip(turns) {
            if turn.by_user || askers.holds(turn) {
                add(document, turn, Because::FirstPerson);
            }
        }
    }
    which
}

/// Raise the score of a named speaker's turn if the chunk before it asks, and is by another speaker.
fn count_answer(document: &mut Document<'_>, turn: &Turn, question: &Turn, row: i64, total: f64) {
    let by_another = question.speaker.is_some() && question.speaker != turn.speaker;
    if !question.asks || !by_another || total <= 0.0 || !ANSWERS.is_on() {
        return;
    }
    let contribution = ANSWERS_SHARE * total;
    document.explanation.score += contribution;
    document.answers = Some(NeighborContribution {
        row,
        distance: 1,
        total,
        contribution,
    });
}

/// The answers to a question about speakers, each asked once. There are few speakers, so that a list is
/// faster than a map.
struct ForEachSpeaker<F> {
    condition: F,
    known: Vec<(Arc<str>, bool)>,
}

impl<F: Fn(&str) -> bool> ForEachSpeaker<F> {
    fn new(condition: F) -> Self {
        Self {
            condition,
            known: Vec::new(),
        }
    }

    /// Whether the condition is true for the speaker of a turn. False without a speaker.
    fn holds(&mut self, turn: &Turn) -> bool {
        let Some(name) = &turn.speaker else {
            return false;
        };
        let known = self
            .known
            .iter()
            .find(|(other, _)| Arc::ptr_eq(other, name));
        if let Some((_, holds)) = known {
            return *holds;
        }
        let holds = (self.condition)(name);
        self.known.push((Arc::clone(name), holds));
        holds
    }
}

fn add(document: &mut Document<'_>, turn: &Turn, because: Because) {
    document.explanation.score += ASKED;
    document.explanation.speaker = Some(BySpeaker {
        name: turn.speaker.as_deref().unwrap_or(USER).to_owned(),
        because,
        contribution: ASKED,
    });
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::retrieval::explanation::Explanation;
    use crate::retrieval::fused::document_with_score;

    fn said_by(name: &str) -> Turn {
        Turn {
            speaker: Some(Arc::from(name)),
            ..Turn::default()
        }
    }

    fn question(query: &str, asker: Option<&str>) -> Question {
        Question::of(query, asker, &StopWords::default())
    }

    fn counted(question: &Question, said: &[(f64, Turn)]) -> Vec<Explanation> {
        let turns: Vec<Turn> = said.iter().map(|(_, turn)| turn.clone()).collect();
        let mut documents: Vec<Document<'_>> = (0..)
            .zip(said)
            .map(|(row, (score, _))| document_with_score(row, *score))
            .collect();
        count(question, &turns, &mut documents);
        documents.into_iter().map(|one| one.explanation).collect()
    }

    #[test]
    fn the_chunks_of_a_named_speaker_count_more() {
        let said = [
            (0.9, said_by("Melanie")),
            (0.5, said_by("Caroline")),
            (0.31, said_by("Caroline")),
        ];
        let found = counted(&question("What did Caroline's sister say?", None), &said);
        let scores: Vec<f64> = found.iter().map(|one| one.score).collect();
        assert_eq!(scores, [0.9, 1.1, 0.31 + 0.6]);
        let speaker = found[1].speaker.as_ref().unwrap();
        assert_eq!(speaker.name, "Caroline");
        assert_eq!(speaker.because, Because::Named);
        assert!(found[0].speaker.is_none());
    }

    #[test]
    fn whole_words_of_names_count_and_no_stop_words_and_no_roles() {
        for (query, speaker, expected) in [
            ("what did JOSÉ buy", "Jose", true),
            ("what did jose buy", "José García", true),
            ("Garcías house", "José García", false),
            ("what did Caro buy", "Caroline", false),
            ("what will he do", "Will", false),
            ("what does the user want", "User", false),
            ("what did agent Smith want", "Agent Smith", true),
            ("what does the assistant say", "Assistant", false),
            ("O’Brien's hat", "O'Brien", true),
        ] {
            let found = counted(&question(query, None), &[(0.5, said_by(speaker))]);
            assert_eq!(
                found[0].speaker.is_some(),
                expected,
                "{query:?} {speaker:?}"
            );
        }
    }

    #[test]
    fn the_first_person_means_the_user_and_the_asker_if_nobody_is_named() {
        let user = Turn {
            by_user: true,
            ..Turn::default()
        };
        let said = [(0.1, user), (0.2, said_by("Zoë")), (0.3, said_by("Bob"))];
        for (query, asker, expected) in [
            ("where is my car", None, [true, false, false]),
            ("where is my car", Some("zoe"), [true, true, false]),
            ("waar is mijn auto", None, [true, false, false]),
            ("where I'd been", None, [true, false, false]),
            ("where is the car", Some("zoe"), [false, false, false]),
            ("did Bob take my car", Some("zoe"), [false, false, true]),
        ] {
            let found = counted(&question(query, asker), &said);
            let raised: Vec<bool> = found.iter().map(|one| one.speaker.is_some()).collect();
            assert_eq!(raised, expected, "{query}");
        }
        let found = counted(&question("my car", None), &said);
        let speaker = found[0].speaker.as_ref().unwrap();
        assert_eq!(
            (speaker.name.as_str(), speaker.because),
            ("user", Because::FirstPerson)
        );
        assert_eq!(found[0].score.to_bits(), (0.1_f64 + 0.6).to_bits());
    }

    #[test]
    fn the_answer_to_a_question_counts_by_the_question() {
        let asking = |name: &str| Turn {
            asks: true,
            ..said_by(name)
        };
        let anonymous = Turn {
            asks: true,
            ..Turn::default()
        };
        for (question, total, expected) in [
            (asking("Bob"), 0.5, 0.15),
            (asking("Bob"), -0.5, 0.0),
            (said_by("Bob"), 0.5, 0.0),
            (asking("Ann"), 0.5, 0.0),
            (anonymous, 0.5, 0.0),
        ] {
            let mut document = document_with_score(1, 0.2);
            count_answer(&mut document, &said_by("Ann"), &question, 0, total);
            let score: f64 = 0.2 + expected;
            assert_eq!(document.explanation.score.to_bits(), score.to_bits());
            assert_eq!(document.answers.is_some(), expected > 0.0);
        }
    }
}
