//! The list of the rules of memory roots (docs/explanation/rules.md).

use hedgerow_engine::rule::Rule;

/// The rules of this crate, by subject.
pub static RULES: &[&Rule] = &[
    &crate::turns::CONVERSATIONS,
    &crate::duplicates::NEAR_DUPLICATES,
];
