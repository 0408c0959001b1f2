//! An open folder, which reads the status of its files.

#[cfg(not(unix))]
mod other;
#[cfg(unix)]
mod unix;

#[cfg(not(unix))]
pub(super) use other::{Listed, Place};
#[cfg(unix)]
pub(super) use unix::{Listed, Place};
