//! The types of nodes: five that every store has, and those that are registered in its file.

use rusqlite::Connection;

use crate::schema::NODE_TYPES;
use hedgerow_engine::error::{Error, ErrorCode, Result};
use hedgerow_engine::storage::settings;

/// The types of every store. The last is the default.
pub const TYPES: [&str; 5] = ["episodic", "daily", "weekly", "monthly", "semantic"];

/// The most characters in the name of a type.
const LENGTH: usize = 64;

/// Return the problem with the name of a type, or None if it is valid.
pub(super) fn problem_of(name: &str) -> Option<String> {
    let is_part = |c: char| (c.is_alphanumeric() && !c.is_uppercase()) || c == '-' || c == '_';
    if name == "session" {
        Some("a \"session\" is of the type \"episodic\"; give that".to_owned())
    } else if name.is_empty() || name.chars().count() > LENGTH || !name.chars().all(is_part) {
        Some(format!(
            "the type {name:?} is not a valid name; use 1 to {LENGTH} small letters, digits, - and _"
        ))
    } else {
        None
    }
}

/// Refuse a name that a type cannot have.
pub fn check(name: &str) -> Result<()> {
    match problem_of(name) {
        Some(problem) => Err(Error::new(ErrorCode::InvalidOption, problem)),
        None => Ok(()),
    }
}

/// The registered types, by name.
pub(crate) fn read(connection: &Connection) -> rusqlite::Result<Vec<String>> {
    let names: Option<String> = settings::get(connection, NODE_TYPES)?;
    let names = names.unwrap_or_default();
    Ok(names.split_whitespace().map(str::to_owned).collect())
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test fails by panicking")]
mod tests {
    use super::*;
    use crate::graph::Store;
    use crate::pipeline::{ProblemKind, parse_for};

    #[test]
    fn names_of_types() {
        for good in ["a", "meeting-notes", "type_2", "straße", "会议"] {
            assert_eq!(problem_of(good), None, "{good}");
        }
        for bad in [
            "",
            "A",
            "two words",
            "a.b",
            "a,b",
            "session",
            &"x".repeat(65),
        ] {
            assert!(problem_of(bad).is_some(), "{bad:?}");
        }
    }

    #[test]
    fn registered_types_are_known_from_then_on_and_never_twice() {
        let store = Store::in_memory().unwrap();
        let parsed = || parse_for(&store, "type:bug,daily", &[]).unwrap();
        assert_eq!(parsed().unwrap_err().kind, ProblemKind::UnknownValue);
        store.register(&["bug", "daily", "bug"]).unwrap();
        store.register(&["bug", "alarm"]).unwrap();
        assert_eq!(store.read_types().unwrap(), ["alarm", "bug"]);
        let pipeline = parsed().unwrap();
        assert_eq!(pipeline.registered_types(), ["bug"]);
        assert_eq!(pipeline.to_string(), "type:bug,daily");
        assert!(store.register(&["Bug"]).is_err());
    }
}
