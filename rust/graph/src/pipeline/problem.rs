//! Problems in the text of a pipeline, with their positions.

use std::fmt::{self, Display, Formatter};

macro_rules! kinds {
    ($($(#[$doc:meta])* $kind:ident,)*) => {
        /// The kind of a problem in a pipeline.
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub enum ProblemKind { $($(#[$doc])* $kind,)* }

        impl ProblemKind {
            /// Every kind, in the order of spec/pipeline.md.
            pub const ALL: &'static [Self] = &[$(Self::$kind,)*];

            /// Return the name of the kind, as in spec/pipeline.md.
            pub fn as_str(self) -> &'static str {
                match self { $(Self::$kind => stringify!($kind),)* }
            }
        }
    };
}

kinds! {
    /// No stage at all.
    EmptyPipeline,
    /// Nothing between two bars.
    EmptyStage,
    /// Over 4,096 bytes or 32 stages.
    TooLong,
    /// A stage of no known name.
    UnknownStage,
    /// A parameter of no known name.
    UnknownParam,
    /// A parameter given twice.
    DuplicateParam,
    /// Something other than `name=value`.
    BadParam,
    /// Nothing where a value is needed.
    MissingValue,
    /// A value where none is taken.
    UnexpectedValue,
    /// A value out of its range or set.
    BadValue,
    /// A word outside the closed set of its field.
    UnknownValue,
    /// A field of no known name.
    UnknownField,
    /// No number to compare with.
    BadComparison,
    /// No duration.
    BadDuration,
    /// A bracket that is not closed, or a reversed range.
    BadGlob,
    /// No order.
    BadSort,
    /// Text that belongs to nothing.
    BadSyntax,
    /// A quote that is not closed.
    UnterminatedQuote,
    /// `!` before something other than a filter, or twice.
    NotNegatable,
    /// A generator after the first stage.
    GeneratorNotFirst,
    /// A stage after one that must be last.
    NotTerminal,
    /// An algorithm with nothing to begin with.
    NoSeeds,
    /// Terms together with a generator.
    AmbiguousInput,
}

/// The first problem of a text, and what to do about it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    /// The kind of the problem.
    pub kind: ProblemKind,
    /// The number of its stage, from 0.
    pub stage: usize,
    /// Where it begins, in characters.
    pub start: usize,
    /// Where it ends, in characters.
    pub end: usize,
    /// The description of the problem, a sentence.
    pub sentence: String,
    /// The known word nearest to the unknown word, if one is near.
    pub suggestion: Option<String>,
    /// The part of the text that is shown, with a line of carets.
    shown: String,
}

/// How much of a text is shown on both sides of a problem, in characters.
const AROUND: usize = 36;

impl Problem {
    /// `start` and `end` are offsets in bytes here.
    pub(super) fn new(
        text: &str,
        kind: ProblemKind,
        stage: usize,
        (start, end): (usize, usize),
        sentence: String,
        suggestion: Option<String>,
    ) -> Self {
        let characters = |end: usize| text[..end].chars().count();
        let (start, end) = (characters(start), characters(end));
        let sentence = match &suggestion {
            Some(word) => format!("{sentence}; did you mean {word:?}?"),
            None => sentence,
        };
        Self {
            kind,
            stage,
            start,
            end,
            sentence,
            suggestion,
            shown: shown(text, start, end),
        }
    }

    /// Return the sentence, the text, and a line of carets below the problem.
    pub fn message(&self) -> String {
        if self.shown.is_empty() {
            return self.sentence.clone();
        }
        format!("{}\n{}", self.sentence, self.shown)
    }
}

/// The line of the text that is shown, and the carets below it.
fn shown(text: &str, start: usize, end: usize) -> String {
    let from = start.saturating_sub(AROUND);
    let until = end.min(start + AROUND) + AROUND;
    let line: String = text
        .chars()
        .skip(from)
        .take(until - from)
        .map(|c| if c.is_control() { ' ' } else { c })
        .collect();
    if line.trim().is_empty() {
        return String::new();
    }
    let carets = "^".repeat((end.min(until) - start).max(1));
    format!("  {line}\n  {}{carets}", " ".repeat(start - from))
}

impl Display for Problem {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message())
    }
}

impl std::error::Error for Problem {}
