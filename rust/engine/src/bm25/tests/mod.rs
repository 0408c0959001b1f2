//! Ranking in memory over whole indexes: against FTS5, through histories of changes, and by whom a
//! search is served.

pub mod differential;
mod histories;
mod outcomes;
mod serving;
