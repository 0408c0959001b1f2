//! The names of facts, and of the fields of front matter that say what holds.

/// Paths or names of the memories that this one replaces.
pub const SUPERSEDES: &str = "supersedes";
/// Paths or names of what replaced a memory.
pub const SUPERSEDED_BY: &str = "superseded_by";
/// Paths or names of the memories that this one was concluded from.
pub const DERIVED_FROM: &str = "derived_from";
/// The mark of a memory that was wrong.
pub const RETRACTED: &str = "retracted";
/// Why a memory was wrong.
pub const RETRACTION_REASON: &str = "retraction_reason";
/// From when a memory holds.
pub const VALID_FROM: &str = "valid_from";
/// Until when a memory holds.
pub const VALID_UNTIL: &str = "valid_until";
/// When to look at a memory again.
pub const STALE_AFTER: &str = "stale_after";

/// The fact with the marks.
pub const MARKS: &str = "marks";
/// The fact with the time.
pub const TIME: &str = "time";
/// The fact that the time is a date alone.
pub const DAY: &str = "day";
/// The fact with the title.
pub const TITLE: &str = "title";
/// The fact with the other names.
pub const ALIASES: &str = "aliases";
/// The fact with the words of the type that not every root has.
pub const TYPES: &str = "types";
/// The fact with the type that front matter states.
pub const TYPE: &str = "type";
/// The fact with the tags as they are compared.
pub const TAGS: &str = "tags";
/// The fact that the front matter names a session.
pub const SESSION: &str = "session";
/// Whether Latin words of the text have stems.
pub const INFLECTED: &str = "inflected";
/// The field and the fact with the names of the writers.
pub const WRITTEN_BY: &str = "written_by";
/// The fact with the memory strength.
pub const STRENGTH: &str = "strength";
/// The fact with the values of the front matter, in lower case.
pub const WORDS: &str = "words";
