//! `ChunkIterator`: the chunks of an index, one after the other.

use std::sync::{Arc, Mutex, PoisonError};

use hedgerow_engine::chunks::{Chunk, Page};
use hedgerow_engine::index::Index;
use pyo3::prelude::*;

use crate::chunk::PyChunk;
use crate::errors;
use crate::held::Held;

/// An iterator over the chunks of an index, in row order.
#[pyclass(name = "ChunkIterator", module = "hedgerow._engine", frozen)]
pub struct PyChunks {
    index: Held<Arc<Index>>,
    page: Mutex<PageState>,
}

impl PyChunks {
    pub fn new(index: &Arc<Index>) -> Self {
        Self {
            index: Held::new(Arc::clone(index)),
            page: Mutex::new(PageState::default()),
        }
    }
}

#[derive(Default)]
struct PageState {
    /// What is left of the page, the next chunk last.
    left: Vec<Chunk>,
    after: i64,
    done: bool,
}

/// How many chunks are read at once: enough to make the cost of a transaction small.
const PAGE: u32 = 256;

#[pymethods]
impl PyChunks {
    fn __iter__(slf: Bound<'_, Self>) -> Bound<'_, Self> {
        slf
    }

    fn __next__(&self, py: Python<'_>) -> PyResult<Option<PyChunk>> {
        // The lock is taken while detached, or two threads could wait for each other.
        let next = errors::call_detached(py, || {
            let mut state = self.page.lock().unwrap_or_else(PoisonError::into_inner);
            if state.left.is_empty() && !state.done {
                let Page { mut chunks, after } = self.index.page(state.after, PAGE)?;
                chunks.reverse();
                *state = PageState {
                    done: chunks.is_empty(),
                    left: chunks,
                    after,
                };
            }
            Ok(state.left.pop())
        })?;
        Ok(next.map(PyChunk))
    }
}
