//! `ChunkIterator`: the chunks of an index, one after the other.

use std::sync::{Arc, Mutex, PoisonError};

use hedgerow_engine::chunks::{Chunk, Filters};
use hedgerow_engine::index::{ChunkReader, Index};
use pyo3::prelude::*;

use crate::chunk::PyChunk;
use crate::engine_handle::EngineHandle;
use crate::errors;

/// An iterator over the chunks that an index had when the iteration began, in row order.
#[pyclass(name = "ChunkIterator", module = "hedgerow._engine", frozen)]
pub struct PyChunks {
    index: EngineHandle<Arc<Index>>,
    state: EngineHandle<Mutex<Iteration>>,
}

struct Iteration {
    /// None once all chunks were read, or reading failed: then the snapshot has ended.
    reader: Option<ChunkReader>,
    /// The rest of the page, the next chunk last.
    left: Vec<Chunk>,
}

impl PyChunks {
    pub fn new(py: Python<'_>, index: &Arc<Index>, filters: &Filters) -> PyResult<Self> {
        let reader = errors::call_detached(py, || index.chunks(filters))?;
        Ok(Self {
            index: EngineHandle::new(Arc::clone(index)),
            state: EngineHandle::new(Mutex::new(Iteration {
                reader: Some(reader),
                left: Vec::new(),
            })),
        })
    }
}

#[pymethods]
impl PyChunks {
    fn __iter__(slf: Bound<'_, Self>) -> Bound<'_, Self> {
        slf
    }

    fn __next__(&self, py: Python<'_>) -> PyResult<Option<PyChunk>> {
        // The lock is taken while detached, or two threads could wait for each other.
        let next = errors::call_detached(py, || {
            let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
            if state.left.is_empty()
                && let Some(mut reader) = state.reader.take()
            {
                state.left = self.index.next_chunks(&mut reader)?;
                state.left.reverse();
                if !state.left.is_empty() {
                    state.reader = Some(reader);
                }
            }
            Ok(state.left.pop())
        })?;
        Ok(next.map(PyChunk))
    }
}
