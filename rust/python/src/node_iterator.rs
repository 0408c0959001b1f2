//! `NodeIterator`: the nodes of a store, one after the other.

use std::sync::{Mutex, PoisonError};
use std::vec;

use hedgerow_graph::graph::Node;
use pyo3::prelude::*;

use crate::node::PyNode;

/// An iterator over the nodes of a store, in the order of their keys.
#[pyclass(name = "NodeIterator", module = "hedgerow._engine", frozen)]
pub struct PyNodeIterator(Mutex<vec::IntoIter<Node>>);

impl PyNodeIterator {
    pub fn new(nodes: Vec<Node>) -> Self {
        Self(Mutex::new(nodes.into_iter()))
    }
}

#[pymethods]
impl PyNodeIterator {
    fn __iter__(slf: Bound<'_, Self>) -> Bound<'_, Self> {
        slf
    }

    fn __next__(&self) -> Option<PyNode> {
        let mut nodes = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        nodes.next().map(PyNode)
    }

    fn __length_hint__(&self) -> usize {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).len()
    }
}
