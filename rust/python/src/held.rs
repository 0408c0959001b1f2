//! What takes long to drop.

use std::ops::Deref;

use pyo3::prelude::*;

/// A handle of the engine that an object of Python holds. Dropping the last one closes a file, which
/// may wait for the disk: other threads of Python run meanwhile.
pub struct Held<T: Send>(Option<T>);

impl<T: Send> Held<T> {
    pub fn new(handle: T) -> Self {
        Self(Some(handle))
    }
}

impl<T: Send> Deref for Held<T> {
    type Target = T;

    fn deref(&self) -> &T {
        match &self.0 {
            Some(handle) => handle,
            None => unreachable!("it is taken when it is dropped"),
        }
    }
}

impl<T: Send> Drop for Held<T> {
    fn drop(&mut self) {
        let handle = self.0.take();
        // Where the interpreter is going, the handle is dropped all the same.
        Python::try_attach(|py| py.detach(|| drop(handle)));
    }
}
