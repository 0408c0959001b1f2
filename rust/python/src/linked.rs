//! The files of a root's store with their links, and the lookup of files by name.

use std::collections::HashSet;
use std::sync::Arc;

use hedgerow_memory::names::{FileTitles, Names};
use hedgerow_memory::nodes::{LinkedFile, Nodes};
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
        self.0.meant(&name)
    }

    /// The file that was probably meant; None if no name is near.
    fn nearest(&self, name: Text) -> Option<&str> {
        self.0.nearest(&name)
    }
}

/// The data of the store about the files that are nodes.
#[pyclass(frozen, module = "hedgerow._engine", name = "_Nodes")]
pub struct PyNodes(pub Nodes);

#[pymethods]
impl PyNodes {
    /// Read the nodes of a ledger; nodes unchanged since `before` are taken from there.
    #[new]
    #[pyo3(signature = (ledger, before=None))]
    fn new(
        py: Python<'_>,
        ledger: &Bound<'_, PyLedger>,
        before: Option<&Bound<'_, Self>>,
    ) -> PyResult<Self> {
        let (ledger, before) = (&ledger.get().0, before.map(|before| &before.get().0));
        errors::call_detached(py, || Nodes::of(ledger, before)).map(Self)
    }

    /// The files that names mean.
    #[getter]
    fn names(&self) -> PyNames {
        PyNames(Arc::clone(self.0.names()))
    }

    /// Return the nodes of the visible files, as if there were no others.
    fn within(&self, py: Python<'_>, visible: HashSet<String>) -> PyResult<Self> {
        errors::call_detached(py, || Ok(self.0.within(&visible))).map(Self)
    }

    /// Return the names after a file moves to another path.
    fn names_after(&self, file: Text, to: Text) -> PyNames {
        PyNames(Arc::new(self.0.names_after(&file, &to)))
    }

    fn __contains__(&self, path: Text) -> bool {
        self.0.get(&path).is_some()
    }

    /// The paths of all files, in their order.
    fn paths(&self) -> Vec<&str> {
        self.0.paths().collect()
    }

    /// Return the links of a file, in their order; empty if it is not a node.
    fn links(&self, path: Text) -> Vec<ResolvedLinkTuple> {
        let links = self
            .0
            .get(&path)
            .map(|LinkedFile { links, .. }| links.iter());
        let tuple = |link: &hedgerow_memory::nodes::NodeLink| {
            (link.0.clone(), link.1.clone(), link.2, link.3)
        };
        links.into_iter().flatten().map(tuple).collect()
    }

    /// The files with a link to a file, in their order.
    fn linking_to(&self, py: Python<'_>, file: Text) -> PyResult<Vec<String>> {
        errors::call_detached(py, || Ok(self.0.linking_to(&file)))
    }

    /// The edges (source, target, relation, strength) between the files, in order, and the links (file, target) that
    /// lead to none of them.
    fn edges(&self, py: Python<'_>) -> PyResult<EdgesTuple> {
        errors::call_detached(py, || {
            let (edges, missing) = self.0.edges(None);
            let tuple =
                |((source, target, relation), strength)| (source, target, relation, strength);
            Ok((edges.into_iter().map(tuple).collect(), missing))
        })
    }
}
