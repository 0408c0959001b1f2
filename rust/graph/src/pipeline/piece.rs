//! Pieces of the text of a pipeline, which know their place in it.

use super::problem::{Problem, ProblemKind};
use hedgerow_engine::text::suggest::nearest;

/// A part of the text, with its place.
#[derive(Debug, Clone, Copy)]
pub(super) struct Piece<'t> {
    /// The whole text.
    text: &'t str,
    /// The stage of the piece.
    pub stage: usize,
    start: usize,
    end: usize,
}

pub(super) fn is_space(c: char) -> bool {
    matches!(c, ' ' | '\t' | '\r' | '\n')
}

impl<'t> Piece<'t> {
    /// The whole of a text.
    pub fn whole(text: &'t str) -> Self {
        Self {
            text,
            stage: 0,
            start: 0,
            end: text.len(),
        }
    }

    /// Return the text of the piece.
    pub fn str(self) -> &'t str {
        &self.text[self.start..self.end]
    }

    pub fn is_empty(self) -> bool {
        self.start == self.end
    }

    /// Return the piece as part of another stage.
    pub fn of_stage(self, stage: usize) -> Self {
        Self { stage, ..self }
    }

    /// Return the piece without the white space around it. A piece of white space becomes its empty
    /// end.
    pub fn trimmed(self) -> Self {
        let trimmed = self.str().trim_start_matches(is_space);
        let start = self.end - trimmed.len();
        let end = start + trimmed.trim_end_matches(is_space).len();
        Self { start, end, ..self }
    }

    /// Return the first `length` bytes, and the rest unchanged.
    pub fn split_at(self, length: usize) -> (Self, Self) {
        let middle = self.start + length;
        let (first, rest) = (
            Self {
                end: middle,
                ..self
            },
            Self {
                start: middle,
                ..self
            },
        );
        (first, rest)
    }

    /// The pieces between the bars outside quotes, not trimmed.
    pub fn stages(self) -> Vec<Self> {
        let pieces = self.pieces(false, |c| c == '|').into_iter().enumerate();
        pieces
            .map(|(number, piece)| piece.of_stage(number))
            .collect()
    }

    /// The trimmed pieces between the separators outside quotes, and outside brackets too if
    /// `brackets` is true.
    pub fn split(self, brackets: bool, separator: impl Fn(char) -> bool) -> Vec<Self> {
        let pieces = self.pieces(brackets, separator);
        pieces.into_iter().map(Self::trimmed).collect()
    }

    fn pieces(self, brackets: bool, separator: impl Fn(char) -> bool) -> Vec<Self> {
        let mut pieces = Vec::new();
        let mut start = self.start;
        for (offset, c) in Scan::new(self.str(), brackets) {
            if separator(c) {
                let end = self.start + offset;
                pieces.push(Self { start, end, ..self });
                start = end + c.len_utf8();
            }
        }
        pieces.push(Self { start, ..self });
        pieces
    }

    /// The offset of the first `wanted` character outside quotes.
    pub fn find(self, wanted: impl Fn(char) -> bool) -> Option<usize> {
        let mut found = Scan::new(self.str(), false).filter(|(_, c)| wanted(*c));
        found.next().map(|(offset, _)| offset)
    }

    /// The text from a quote on that is not closed, and the number of its stage.
    pub fn unterminated(self) -> Option<(Self, usize)> {
        let mut scan = Scan::new(self.str(), false);
        let mut bars = 0;
        for (_, c) in scan.by_ref() {
            bars += usize::from(c == '|');
        }
        let quote = scan.quote?;
        Some((self.split_at(quote).1, bars))
    }

    /// Return the value of the piece: its text, or the text between its quotes.
    pub fn string(self) -> Result<String, Problem> {
        let missing = || self.problem(ProblemKind::MissingValue, "there is no value here");
        let Some(quoted) = self.str().strip_prefix('"') else {
            return match self.str() {
                "" => Err(missing()),
                bare if bare.contains('"') => Err(self.misquoted()),
                bare => Ok(bare.to_owned()),
            };
        };
        let mut string = String::new();
        let mut rest = quoted.chars();
        loop {
            match rest.next() {
                Some('"') if !rest.as_str().is_empty() => return Err(self.misquoted()),
                Some('"') | None if string.is_empty() => return Err(missing()),
                Some('"') | None => return Ok(string),
                Some('\\') if rest.as_str().starts_with(['"', '\\']) => string.extend(rest.next()),
                Some(c) => string.push(c),
            }
        }
    }

    fn misquoted(self) -> Problem {
        let sentence = "put the quotes around the whole value";
        self.problem(ProblemKind::BadSyntax, sentence)
    }

    /// Return a problem with this piece.
    pub fn problem(self, kind: ProblemKind, sentence: impl Into<String>) -> Problem {
        self.suggesting(kind, sentence.into(), None)
    }

    /// Return the problem of an unknown word. The suggestion is the known word nearest to `word`,
    /// the piece in its usual spelling; if none is near, the sentence lists all known words.
    pub fn unknown<'w>(
        self,
        kind: ProblemKind,
        what: &str,
        word: &str,
        known: impl IntoIterator<Item = &'w str>,
    ) -> Problem {
        let mut known: Vec<&str> = known.into_iter().collect();
        let suggestion = nearest(word, known.iter().copied()).map(str::to_owned);
        known.sort_unstable();
        known.dedup();
        let listed = match suggestion {
            None if !known.is_empty() => format!("; known are {}", known.join(", ")),
            _ => String::new(),
        };
        let sentence = format!("there is no {what} {:?}{listed}", self.str());
        self.suggesting(kind, sentence, suggestion)
    }

    /// Return a problem with this piece. The suggestion is the known word nearest to it.
    pub fn misspelled<'w>(
        self,
        kind: ProblemKind,
        sentence: &str,
        known: impl IntoIterator<Item = &'w str>,
    ) -> Problem {
        let suggestion = nearest(&hyphened(self.str()), known).map(str::to_owned);
        self.suggesting(kind, sentence.to_owned(), suggestion)
    }

    fn suggesting(
        self,
        kind: ProblemKind,
        sentence: String,
        suggestion: Option<String>,
    ) -> Problem {
        let span = (self.start, self.end);
        Problem::new(self.text, kind, self.stage, span, sentence, suggestion)
    }
}

/// The characters outside quotes, and outside brackets too if `brackets` is true, with their
/// offsets.
struct Scan<'t> {
    rest: std::str::CharIndices<'t>,
    brackets: bool,
    depth: usize,
    /// Where the open quote began.
    quote: Option<usize>,
}

impl<'t> Scan<'t> {
    fn new(text: &'t str, brackets: bool) -> Self {
        Self {
            rest: text.char_indices(),
            brackets,
            depth: 0,
            quote: None,
        }
    }
}

impl Iterator for Scan<'_> {
    type Item = (usize, char);

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            let (offset, c) = self.rest.next()?;
            if self.quote.is_some() {
                match c {
                    '"' => self.quote = None,
                    '\\' => {
                        self.rest.next();
                    }
                    _ => {}
                }
                continue;
            }
            match c {
                '"' => self.quote = Some(offset),
                '(' if self.brackets => self.depth += 1,
                ')' if self.brackets => self.depth = self.depth.saturating_sub(1),
                _ if self.depth > 0 => {}
                _ => return Some((offset, c)),
            }
        }
    }
}

/// `name` in the spelling of stages: lower case, with hyphens.
pub(super) fn hyphened(name: &str) -> String {
    name.to_ascii_lowercase().replace('_', "-")
}

/// `name` in the spelling of parameters: lower case, with underscores.
pub(super) fn underscored(name: &str) -> String {
    name.to_ascii_lowercase().replace('-', "_")
}
