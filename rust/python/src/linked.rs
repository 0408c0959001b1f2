//! The files of a root's store with their links, and the lookup of files by name.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use hedgerow_memory::facts::{FileTitles, Names};
use hedgerow_memory::format::NodeLink;
use hedgerow_memory::sync::{NodeState, Nodes};
use pyo3::prelude::*;

use crate::errors;
use crate::folder::PyLedger;
use crate::text::Text;

/// The target, the relation, the strength and whether it is a path.
type ResolvedLinkTuple = (String, String, f64, bool);
type EdgesTuple = (Vec<(String, String, String, f64)>, Vec<(String, String)>);

/// The files that names mean.
#[pyclass(frozen, module = "hedgerow._engine", name = "_Names")]
pub struct PyNames(Arc<Names>);

#[pymethods]
impl PyNames {
    /// The names of files, each its path, its title and its other names.
    #[new]
    fn new(files: Vec<(String, String, Vec<String>)>) -> Self {
        let mut files = files;
        files.sort();
        let named = files.iter().map(|(path, title, aliases)| FileTitles {
            path,
            title,
            aliases,
        });
        Self(Arc::new(Names::new(named)))
    }

    /// The file that a name in the file `source` means; None where there is none.
    fn find(&self, name: Text, is_path: bool, source: Text) -> Option<&str> {
        self.0.find(&name, is_path, &source)
    }

    /// The files that a name from the top folder may mean.
    fn candidates(&self, name: Text) -> Vec<&str> {
        self.0.candidates(&name)
    }

    /// The files with a title or an alias, in the order of their paths.
    fn by_title(&self, name: Text) -> Vec<&str> {
        self.0.by_title(&name)
    }

    /// The file that was probably meant; None if no name is near.
    fn nearest(&self, name: Text) -> Option<&str> {
        self.0.nearest(&name)
    }
}

/// The nodes of a store as of one state of its ledger. They are read when they are first needed.
#[pyclass(frozen, module = "hedgerow._engine", name = "_Nodes")]
pub struct PyNodes {
    pub state: Arc<NodeState>,
    ledger: Py<PyLedger>,
}

impl PyNodes {
    pub fn new(py: Python<'_>, state: Arc<NodeState>) -> PyResult<Self> {
        let ledger = Py::new(py, PyLedger(state.ledger().clone()))?;
        Ok(Self { state, ledger })
    }

    /// Return the nodes, which the first call reads.
    pub fn nodes(&self, py: Python<'_>) -> PyResult<Arc<Nodes>> {
        errors::call_detached(py, || self.state.nodes().map(Arc::clone))
    }
}

#[pymethods]
impl PyNodes {
    /// The ledger of the store.
    #[getter]
    fn ledger(&self, py: Python<'_>) -> Py<PyLedger> {
        self.ledger.clone_ref(py)
    }

    /// The files that names mean.
    #[getter]
    fn names(&self, py: Python<'_>) -> PyResult<PyNames> {
        Ok(PyNames(Arc::clone(self.nodes(py)?.names())))
    }

    /// Return the nodes of the visible files, as if there were no others.
    fn within(&self, py: Python<'_>, visible: HashSet<String>) -> PyResult<Self> {
        let state = errors::call_detached(py, || self.state.within(&visible))?;
        Ok(Self {
            state: Arc::new(state),
            ledger: self.ledger.clone_ref(py),
        })
    }

    /// Return the names after a file moves to another path.
    fn names_after(&self, py: Python<'_>, file: Text, to: Text) -> PyResult<PyNames> {
        Ok(PyNames(Arc::new(self.nodes(py)?.names_after(&file, &to))))
    }

    /// Return the titles of files by path. Files without a title are left out.
    fn titles(&self, py: Python<'_>, files: Vec<Text>) -> PyResult<HashMap<String, String>> {
        let nodes = self.nodes(py)?;
        let titles = files.iter().filter_map(|file| {
            let title = &nodes.get(file)?.title;
            (!title.is_empty()).then(|| (file.to_string(), title.clone()))
        });
        Ok(titles.collect())
    }

    fn __contains__(&self, py: Python<'_>, path: Text) -> PyResult<bool> {
        Ok(self.nodes(py)?.get(&path).is_some())
    }

    /// The paths of all files, in their order.
    fn paths(&self, py: Python<'_>) -> PyResult<Vec<String>> {
        Ok(self.nodes(py)?.paths().map(str::to_owned).collect())
    }

    /// Return the links of a file, in their order; empty if it is not a node.
    fn links(&self, py: Python<'_>, path: Text) -> PyResult<Vec<ResolvedLinkTuple>> {
        let nodes = self.nodes(py)?;
        let links = nodes.get(&path).map(|file| file.links.iter());
        let tuple = |link: &NodeLink| (link.0.clone(), link.1.clone(), link.2, link.3);
        Ok(links.into_iter().flatten().map(tuple).collect())
    }

    /// The files with a link to a file, in their order.
    fn linking_to(&self, py: Python<'_>, file: Text) -> PyResult<Vec<String>> {
        let nodes = self.nodes(py)?;
        errors::call_detached(py, || Ok(nodes.linking_to(&file)))
    }

    /// The edges (source, target, relation, strength) between the files, in order, and the links (file, target) that
    /// lead to none of them.
    fn edges(&self, py: Python<'_>) -> PyResult<EdgesTuple> {
        let nodes = self.nodes(py)?;
        errors::call_detached(py, || {
            let (edges, missing) = nodes.edges(None);
            let tuple =
                |((source, target, relation), strength)| (source, target, relation, strength);
            Ok((edges.into_iter().map(tuple).collect(), missing))
        })
    }
}
