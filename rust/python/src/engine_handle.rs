//! Handles that take long to drop.

use std::ops::Deref;

use pyo3::prelude::*;

/// A handle of the engine that a Python object holds. Dropping the last one closes a file, which
/// may wait for the disk, so that it is dropped while detached.
pub struct EngineHandle<T: Send>(Option<T>);

impl<T: Send> EngineHandle<T> {
    pub fn new(handle: T) -> Self {
        Self(Some(handle))
    }
}

impl<T: Send> Deref for EngineHandle<T> {
    type Target = T;

    fn deref(&self) -> &T {
        match &self.0 {
            Some(handle) => handle,
            None => unreachable!("it is taken when it is dropped"),
        }
    }
}

impl<T: Send> Drop for EngineHandle<T> {
    fn drop(&mut self) {
        let handle = self.0.take();
        // If the interpreter is shutting down, the handle is dropped all the same.
        Python::try_attach(|py| py.detach(|| drop(handle)));
    }
}
