//! The slug text of a path, which the fuzzy rung of the ladder compares (spec/retrieval.md).

use super::category::letter_digit_runs;
use super::lower::lower;

/// The last segment of `path`, lower-cased, without `.md`, its words joined by one space.
pub fn slug_text(path: &str) -> String {
    let path = lower(path.to_owned());
    let segment = path.rsplit('/').next().unwrap_or_default();
    let stem = segment.strip_suffix(".md").unwrap_or(segment);
    letter_digit_runs(stem).collect::<Vec<_>>().join(" ")
}
