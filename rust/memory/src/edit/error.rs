//! The errors of edits.

use std::fmt::{self, Display, Formatter};

/// The reason for which front matter was not changed; its code is `invalid_front_matter`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EditError {
    message: String,
}

impl EditError {
    pub(crate) fn new(problem: impl Into<String>) -> Self {
        Self {
            message: problem.into(),
        }
    }

    /// The reason, as part of a sentence.
    pub fn message(&self) -> &str {
        &self.message
    }
}

impl Display for EditError {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for EditError {}
