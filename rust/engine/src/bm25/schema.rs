//! BM25's requirements on a connection. It has no separate tables: those of the full-text index are
//! written with the chunks.

use super::function;
use crate::storage::Subject;

/// The function that FTS5 ranks by.
pub static BM25: Subject = Subject {
    name: "bm25",
    migrations: &[],
    since_format: 1,
    register: function::register,
    checks: &[],
    writing_checks: &[],
    maintenance: None,
};
