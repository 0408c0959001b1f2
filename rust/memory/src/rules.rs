//! The list of the rules of memory roots (docs/explanation/rules.md).

use hedgerow_engine::rule::Rule;

/// The rules of this crate, by subject.
pub static RULES: &[&Rule] = &[
    &crate::format::turns::CONVERSATIONS,
    &crate::recall::rank::PERIOD_LISTS,
    &crate::review::secrets::SECRET_FORMATS,
    &crate::review::secrets::SECRET_FIELDS,
    &crate::review::quotes::QUOTES,
    &crate::format::conflict::GIT_CONFLICTS,
    &crate::review::duplicates::NEAR_DUPLICATES,
];
