//! The turns of a conversation in a text: lines that begin with the name of a speaker (spec/ingest.md,
//! "Conversations").

use std::collections::{BTreeMap, HashMap};

use hedgerow_engine::rule;
use hedgerow_engine::text::speech::is_name;
use serde_json::{Map, Value};

use crate::text;

/// The least lines with names that make a conversation.
const MIN_TURNS: usize = 3;
/// The least words of a turn on its first line, on average. Fewer are fields, such as `Status: done`.
const MIN_WORDS: usize = 3;

rule! {
    /// A text whose lines begin with names or roles is cut at its turns, each with its speaker.
    pub(crate) static CONVERSATIONS = "conversations" { MIN_TURNS, MIN_WORDS }
}

/// Who says something.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Voice {
    /// The name of the speaker; None if only the role is known.
    pub speaker: Option<String>,
    /// `user`, `assistant`, `system` or `tool`.
    pub role: Option<&'static str>,
}

impl Voice {
    fn of(name: &str) -> Self {
        match role_of(name) {
            Some(role) => Self {
                speaker: None,
                role: Some(role),
            },
            None => Self {
                speaker: Some(name.to_owned()),
                role: None,
            },
        }
    }

    /// Add the speaker and the role to the metadata of a chunk.
    pub fn add_to(&self, metadata: &mut Map<String, Value>) {
        if let Some(speaker) = &self.speaker {
            metadata.insert("speaker".to_owned(), speaker.as_str().into());
        }
        if let Some(role) = self.role {
            metadata.insert("role".to_owned(), role.into());
        }
    }
}

/// The role that a name means.
fn role_of(name: &str) -> Option<&'static str> {
    Some(match name.to_lowercase().as_str() {
        "user" | "human" => "user",
        "assistant" | "ai" | "chatgpt" | "claude" => "assistant",
        "system" => "system",
        "tool" => "tool",
        _ => return None,
    })
}

/// The lines on which turns begin.
#[derive(Debug, Default)]
pub struct Turns(BTreeMap<usize, Voice>);

/// Consecutive lines, and who says them.
#[derive(Debug, PartialEq, Eq)]
pub struct Piece<'t> {
    /// The index of the first line.
    pub start: usize,
    /// The index of the line after the last one.
    pub end: usize,
    /// The speaker; None for text before the first turn.
    pub voice: Option<&'t Voice>,
}

impl Turns {
    /// Return the turns of a text; empty if it is not a conversation.
    pub fn of(lines: &[&str]) -> Self {
        if !CONVERSATIONS.is_on() {
            return Self::default();
        }
        let named = named_lines(lines);
        let roles: Vec<&str> = named
            .iter()
            .filter_map(|(_, name, _)| role_of(name))
            .collect();
        let has_roles = roles.contains(&"user") && roles.contains(&"assistant");
        let has_names = is_talk(&named, lines);
        let counts = |name: &str| match role_of(name) {
            Some(_) => has_roles,
            None => has_names,
        };
        let turns = named.iter().filter(|(_, name, _)| counts(name));
        Self(
            turns
                .map(|(line, name, _)| (*line, Voice::of(name)))
                .collect(),
        )
    }

    /// The number of turns.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Cut the lines from `start` to `end` before each turn. Headings before the first turn belong to it.
    pub fn pieces(&self, lines: &[&str], start: usize, end: usize) -> Vec<Piece<'_>> {
        let mut pieces = Vec::new();
        let mut begin = Piece {
            start,
            end,
            voice: None,
        };
        for (line, voice) in self.0.range(start..end) {
            let is_text = |line: &&str| !text::is_blank(line) && !line.starts_with('#');
            if begin.voice.is_some() || lines[begin.start..*line].iter().any(is_text) {
                pieces.push(Piece {
                    end: *line,
                    ..begin
                });
                begin.start = *line;
            }
            begin = Piece {
                start: begin.start,
                end,
                voice: Some(voice),
            };
        }
        pieces.push(begin);
        pieces
    }
}

/// Whether headings are those of a conversation: the user and an assistant are among them.
pub fn are_roles<'h>(headings: impl Iterator<Item = &'h str>) -> bool {
    let (mut has_user, mut has_assistant) = (false, false);
    for role in headings.filter_map(role_of) {
        has_user |= role == "user";
        has_assistant |= role == "assistant";
    }
    has_user && has_assistant
}

/// The voice of a section of a conversation under a heading that is a role, such as `## User`.
pub fn voice_of_heading(headings: &[String]) -> Option<Voice> {
    let voice = headings.last().map(|heading| Voice::of(heading))?;
    voice.role.is_some().then_some(voice)
}

/// A line with the name that it begins with, and the number of words after that.
type NamedLine<'a> = (usize, &'a str, usize);

/// The lines that begin with a name and a colon, outside of fenced code.
fn named_lines<'a>(lines: &[&'a str]) -> Vec<NamedLine<'a>> {
    let mut named = Vec::new();
    let mut fence: Option<&str> = None;
    for (number, line) in lines.iter().enumerate() {
        let trimmed = line.trim_start();
        let mark = ["```", "~~~"]
            .into_iter()
            .find(|mark| trimmed.starts_with(mark));
        match (fence, mark) {
            (None, Some(mark)) => fence = Some(mark),
            (Some(open), Some(mark)) if open == mark => fence = None,
            (None, None) => {
                if let Some((name, said)) = named_line(line) {
                    named.push((number, name, said.split_whitespace().count()));
                }
            }
            _ => {}
        }
    }
    named
}

/// `Name: text`, `**Name**: text` or `**Name:** text`, where the text may be on the next line.
fn named_line(line: &str) -> Option<(&str, &str)> {
    let (name, said) = match line.strip_prefix("**") {
        Some(bold) => {
            let (name, said) = bold.split_once("**")?;
            match name.strip_suffix(':') {
                Some(name) => (name, said),
                None => (name, said.strip_prefix(':')?),
            }
        }
        None => line.split_once(':')?,
    };
    let is_apart = said.is_empty() || said.starts_with([' ', '\r']);
    (is_apart && is_name(name)).then_some((name, said))
}

/// Whether lines with names make a conversation: there are two names or more, one of them again, they are
/// half of the lines or more, and they are followed by sentences.
fn is_talk(named: &[NamedLine<'_>], lines: &[&str]) -> bool {
    let mut counts: HashMap<&str, usize> = HashMap::new();
    for (_, name, _) in named {
        *counts.entry(name).or_default() += 1;
    }
    let words: usize = named.iter().map(|(_, _, words)| words).sum();
    let is_text = |line: &&&str| !text::is_blank(line) && !line.starts_with('#');
    let of_text = lines.iter().filter(is_text).count();
    named.len() >= MIN_TURNS
        && counts.len() >= 2
        && counts.values().any(|count| *count >= 2)
        && 2 * named.len() >= of_text
        && words >= MIN_WORDS * named.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cut(text: &str) -> Vec<(usize, usize, Option<String>, Option<&'static str>)> {
        let lines: Vec<&str> = text.split('\n').collect();
        let turns = Turns::of(&lines);
        let pieces = turns.pieces(&lines, 0, lines.len());
        let shown = |piece: Piece<'_>| {
            let speaker = piece.voice.and_then(|voice| voice.speaker.clone());
            (
                piece.start,
                piece.end,
                speaker,
                piece.voice.and_then(|voice| voice.role),
            )
        };
        pieces.into_iter().map(shown).collect()
    }

    #[test]
    fn a_conversation_is_cut_before_each_turn() {
        let ann = || Some("Ann".to_owned());
        let bob = || Some("Bob".to_owned());
        assert_eq!(
            cut(
                "# Talk\n\nAnn: how are you today?\nBob: I am well\nand you?\n\nAnn: fine, thank you"
            ),
            [
                (0, 3, ann(), None),
                (3, 6, bob(), None),
                (6, 7, ann(), None)
            ]
        );
        assert_eq!(
            cut("Recorded in May\n**Ann**: how are you?\n**Bob:** I am well\n**Ann**: and so am I"),
            [
                (0, 1, None, None),
                (1, 2, ann(), None),
                (2, 3, bob(), None),
                (3, 4, ann(), None)
            ]
        );
        assert_eq!(
            cut(
                "User:\nWhat is this?\n\nAssistant: A text.\n\nIt has many lines.\n\nNote: this too\n"
            ),
            [(0, 3, None, Some("user")), (3, 9, None, Some("assistant"))]
        );
    }

    #[test]
    fn other_texts_are_not_cut() {
        for text in [
            "Status: done\nOwner: Ann\nStatus: open\nOwner: Bob",
            "Ann: I said so and so\nAnn: and again I said so",
            "Note: a long sentence stands here\nand\nand\nand\nand\nTip: another long sentence",
            "```\nAnn: how are you?\nBob: I am well\nAnn: and so am I\n```",
            "User: I have no answer yet",
            "",
        ] {
            let lines = text.split('\n').count();
            assert_eq!(cut(text), [(0, lines, None, None)], "{text}");
        }
    }

    #[test]
    fn headings_of_roles_are_voices() {
        let of = |heading: &str, all: &[&str]| {
            let voice = voice_of_heading(&["Chat".to_owned(), heading.to_owned()]);
            voice
                .filter(|_| are_roles(all.iter().copied()))
                .and_then(|voice| voice.role)
        };
        assert_eq!(of("User", &["Chat", "User", "ChatGPT"]), Some("user"));
        assert_eq!(of("ChatGPT", &["User", "ChatGPT"]), Some("assistant"));
        assert_eq!(of("User", &["User", "Installation"]), None);
        assert_eq!(of("Notes", &["User", "ChatGPT"]), None);
    }
}
