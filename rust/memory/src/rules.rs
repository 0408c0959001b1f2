//! The list of the rules of memory roots (docs/explanation/rules.md).

use hedgerow_engine::rule::Rule;

/// The rules of this crate, by subject.
pub static RULES: &[&Rule] = &[
    &crate::turns::CONVERSATIONS,
    &crate::recall::PERIOD_LISTS,
    &crate::secrets::SECRET_FORMATS,
    &crate::secrets::SECRET_FIELDS,
    &crate::documents::quotes::QUOTES,
    &crate::conflict::GIT_CONFLICTS,
    &crate::duplicates::NEAR_DUPLICATES,
];
