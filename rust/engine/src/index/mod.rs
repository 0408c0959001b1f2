//! The embedded index: one SQLite file.
