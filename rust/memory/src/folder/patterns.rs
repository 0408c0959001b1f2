//! Patterns of paths by the rules of gitignore.

use std::collections::HashMap;

use hedgerow_engine::{Error, ErrorCode, Result};
use ignore::Match;
use ignore::gitignore::{Gitignore, GitignoreBuilder};

/// Patterns of which the last that matches a path decides.
#[derive(Debug)]
pub struct Patterns {
    /// The patterns as they were given, each once.
    given: Vec<String>,
    /// The number of each pattern, by the form in which it is compared.
    numbers: HashMap<String, usize>,
    compared: Gitignore,
    /// The patterns that are not taken back.
    positive: Gitignore,
}

/// The pattern that decides about a path, by its number, and whether it matches or takes back
/// (`!`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Decision {
    pub(super) number: usize,
    pub(super) matches: bool,
}

impl Patterns {
    /// Read patterns. A comment and a pattern that is none, such as `[z-a]`, match nothing.
    pub fn new<T: AsRef<str>>(patterns: impl IntoIterator<Item = T>) -> Result<Self> {
        let mut builder = GitignoreBuilder::new("");
        let mut positive = GitignoreBuilder::new("");
        let (mut given, mut numbers) = (Vec::new(), HashMap::new());
        for pattern in patterns {
            let pattern = pattern.as_ref();
            let form = form_of(pattern);
            if form.starts_with('#') || numbers.contains_key(&form) {
                continue;
            }
            if has_no_name(&form) {
                // Reported with the patterns that match nothing.
                given.push(pattern.to_owned());
                continue;
            }
            // An invalid pattern matches nothing, and is reported with the patterns that match
            // nothing.
            let _ = builder.add_line(None, &form);
            if !form.starts_with('!') {
                let _ = positive.add_line(None, &form);
            }
            numbers.insert(form, given.len());
            given.push(pattern.to_owned());
        }
        let built = |builder: GitignoreBuilder| {
            builder.build().map_err(|error| {
                let message = format!("the patterns of paths are too much to compare: {error}");
                Error::new(ErrorCode::InvalidOption, message)
            })
        };
        Ok(Self {
            given,
            numbers,
            compared: built(builder)?,
            positive: built(positive)?,
        })
    }

    /// Whether the patterns match a path; a file below a folder that matches is not looked at.
    pub fn matches(&self, path: &str, is_folder: bool) -> bool {
        self.decision(path, is_folder)
            .is_some_and(|decision| decision.matches)
    }

    /// Return the pattern that decides about a path; None if no pattern matches, or if `!` takes back what no other
    /// pattern matches.
    pub(super) fn decision(&self, path: &str, is_folder: bool) -> Option<Decision> {
        let (glob, matches) = match self.compared.matched(path, is_folder) {
            Match::Ignore(glob) => (glob, true),
            Match::Whitelist(glob) if self.positive.matched(path, is_folder).is_ignore() => {
                (glob, false)
            }
            Match::None | Match::Whitelist(_) => return None,
        };
        let number = *self.numbers.get(glob.original())?;
        Some(Decision { number, matches })
    }

    pub(super) fn given(&self) -> &[String] {
        &self.given
    }
}

/// Return the pattern in the form for comparison: `./` at its beginning is `/`, and braces, which have no
/// meaning in gitignore, are escaped.
fn form_of(pattern: &str) -> String {
    let (sign, rest) = match pattern.strip_prefix('!') {
        Some(rest) => ("!", rest),
        None => ("", pattern),
    };
    let rest = match rest.strip_prefix("./") {
        Some(below) => format!("/{below}"),
        None => rest.to_owned(),
    };
    let mut form = sign.to_owned();
    let mut is_escaped = false;
    for letter in rest.chars() {
        if matches!(letter, '{' | '}') && !is_escaped {
            form.push('\\');
        }
        is_escaped = letter == '\\' && !is_escaped;
        form.push(letter);
    }
    if form.ends_with("\\ ") {
        form
    } else {
        form.trim_end_matches(' ').to_owned()
    }
}

fn has_no_name(form: &str) -> bool {
    let name = form.strip_prefix('!').unwrap_or(form);
    name.trim_matches('/').is_empty()
}
