//! `Store`: nodes, edges and visits in the file of an index.

use std::collections::HashSet;
use std::path::PathBuf;
use std::sync::Arc;

use hedgerow_engine::ErrorCode;
use hedgerow_engine::storage::Durability;
use hedgerow_graph::graph::{EdgeInput, Node, Store, TYPES, VisitInput};
use hedgerow_memory::sync::NodeState;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};

use crate::bulk;
use crate::engine_handle::EngineHandle;
use crate::errors;
use crate::index::PyIndex;
use crate::index_options;
use crate::linked::PyNodes;
use crate::name;
use crate::node::{self, PyNode, outcome_of, relation, time};
use crate::node_iterator::PyNodeIterator;
use crate::notices;
use crate::pipeline::{PipelineLike, named_types};
use crate::text::{Text, Word};
use crate::value::{Argument, FilePath, Flag};

/// Nodes, edges and visits, in the same SQLite file as an Index (spec/pipeline.md).
///
/// Made by `Store.open` or `Store.in_memory`; `Store(path)` is `Store.open(path)`. One handle serves many threads, as that of an
/// Index does; it is a context manager, and pickles as long as it has a file.
///
/// Every method raises IndexFileError when the file cannot be read or written, and when the
/// handle is closed or was opened by another process.
#[pyclass(name = "Store", module = "hedgerow", frozen)]
pub struct PyStore {
    pub store: EngineHandle<Store>,
    pub(crate) index: Py<PyIndex>,
}

#[pymethods]
impl PyStore {
    #[new]
    #[pyo3(
        signature = (path, *, types=None, read_only=Flag::of(false), durability=Word::of("normal")),
        text_signature = "(path, *, types=(), read_only=False, durability='normal')"
    )]
    fn new(
        py: Python<'_>,
        path: FilePath,
        types: Option<&Bound<'_, PyAny>>,
        read_only: Flag<name::ReadOnly>,
        durability: Word,
    ) -> PyResult<Self> {
        Self::open(py, path, types, read_only, durability)
    }

    /// Open the file of a store or an index; it is made when there is none.
    ///
    /// `types` are registered in the file, for good, as types that nodes may have. A `read_only`
    /// handle refuses to write, and needs a file that was opened as a store before. `durability` is as in
    /// `Index.open`.
    ///
    /// Raises IndexFileError for a file that cannot be used, and InvalidInputError for a name that
    /// a type cannot have and an unknown `durability`.
    #[staticmethod]
    #[pyo3(
        signature = (path, *, types=None, read_only=Flag::of(false), durability=Word::of("normal")),
        text_signature = "(path, *, types=(), read_only=False, durability='normal')"
    )]
    fn open(
        py: Python<'_>,
        path: FilePath,
        types: Option<&Bound<'_, PyAny>>,
        read_only: Flag<name::ReadOnly>,
        durability: Word,
    ) -> PyResult<Self> {
        let (FilePath(path), read_only) = (path, read_only.0);
        let types = named_types(types)?;
        index_options::check_path(&path, "Store")?;
        let store = errors::call_writing(py, None, || {
            let durability = Durability::from_option("durability", &durability)?;
            let store = if read_only {
                Store::open_to_read(&path)?
            } else {
                Store::open_with(&path, durability)?
            };
            store.register(&types)?;
            Ok(store)
        })?;
        notices::log_opened(py, store.index());
        Self::of(py, store)
    }

    /// Make a store in memory, of at most 2 GiB; it is gone when it is closed.
    #[staticmethod]
    #[pyo3(signature = (*, types=None), text_signature = "(*, types=())")]
    fn in_memory(py: Python<'_>, types: Option<&Bound<'_, PyAny>>) -> PyResult<Self> {
        let types = named_types(types)?;
        let store = errors::call_writing(py, Some(0), || {
            let store = Store::in_memory()?;
            store.register(&types)?;
            Ok(store)
        })?;
        Self::of(py, store)
    }

    /// The types that nodes of this store may have, as a new list: five, then the registered ones.
    #[getter]
    fn types(&self, py: Python<'_>) -> PyResult<Vec<String>> {
        let registered = self.call(py, || self.store.read_types())?;
        let own = TYPES.into_iter().map(str::to_owned);
        Ok(own.chain(registered).collect())
    }

    /// The index of the same file, which shares this handle, and with which nodes are searched.
    ///
    /// Each live node is a chunk whose id and path are the key. Write nodes through the store
    /// alone.
    #[getter]
    fn index(&self, py: Python<'_>) -> Py<PyIndex> {
        self.index.clone_ref(py)
    }

    /// Store nodes from any iterable, in one transaction: all of them, or none.
    ///
    /// A node replaces the one of the same key, and keeps its id, edges and visits. Unless the new
    /// one has its own, it also keeps the time when it was created and, while the content stays the
    /// same, the vector. A deleted node is live again. Returns the number of distinct keys.
    ///
    /// Raises InvalidInputError, with the position, for anything but a Node, for a type that is not
    /// registered and for an embedding with other dimensions than those of the index.
    fn upsert(&self, py: Python<'_>, nodes: &Bound<'_, PyAny>) -> PyResult<usize> {
        let nodes = node::nodes(nodes)?;
        let now = node::now();
        self.write(py, Some(node::bytes(&nodes)), || {
            let nodes: Vec<&Node> = nodes
                .iter()
                .map(|node: &Py<PyNode>| &node.get().0)
                .collect();
            self.store.upsert(&nodes, now)
        })
    }

    /// Mark the nodes of these keys as deleted; return the number that existed.
    ///
    /// Ids, edges and visits stay, but no query sees them until the node is upserted again.
    ///
    /// Raises InvalidInputError, with the position, for anything but a str.
    fn delete(&self, py: Python<'_>, keys: &Bound<'_, PyAny>) -> PyResult<usize> {
        let keys = keys_of("keys", keys)?;
        self.write(py, Some(keys.len() * errors::ITEM), || {
            self.store.delete(&keys)
        })
    }

    /// The node of a key, with its embedding; None if there is none, or if it was deleted.
    fn get(&self, py: Python<'_>, key: Text<name::Key>) -> PyResult<Option<PyNode>> {
        let node = self.call(py, || self.store.get(&key))?;
        Ok(node.map(PyNode))
    }

    /// The neighbors of the nodes of these keys: for each key a list of keys and strengths.
    ///
    /// Edges have no direction, and of several between two nodes the strongest counts. The
    /// strongest comes first, and of equals the smaller key. Keys without a live node are left out.
    fn neighbors<'py>(
        &self,
        py: Python<'py>,
        keys: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyDict>> {
        let keys = keys_of("keys", keys)?;
        let found = self.call(py, || self.store.neighbors(&keys))?;
        let dict = PyDict::new(py);
        for (key, joined) in found {
            dict.set_item(key, joined)?;
        }
        Ok(dict)
    }

    /// Join two nodes with an edge, which replaces the one of the same nodes and relation.
    ///
    /// `strength` is above 0 and at most 1. To algorithms edges have no direction, and of several
    /// between two nodes the strongest counts.
    ///
    /// Raises InvalidInputError for a key that no node has or had, for an edge from a node to
    /// itself, and for another strength.
    #[pyo3(signature = (a, b, strength=None, rel=None), text_signature = "($self, a, b, strength=1.0, rel='link')")]
    fn link(
        &self,
        py: Python<'_>,
        a: Text<name::A>,
        b: Text<name::B>,
        strength: Option<&Bound<'_, PyAny>>,
        rel: Option<Text<name::Rel>>,
    ) -> PyResult<()> {
        let argument = Argument {
            name: "strength",
            code: ErrorCode::InvalidEdge,
        };
        let edge = EdgeInput {
            source: a.to_owned(),
            target: b.to_owned(),
            relation: relation(rel.as_ref()),
            strength: strength.map_or(Ok(1.0), |strength| argument.number(strength))?,
        };
        self.write(py, Some(errors::ITEM), || self.store.link(&[edge]))
    }

    /// Join many nodes in one transaction; returns the number of distinct edges.
    ///
    /// `edges` are any iterable of what `link` takes: (a, b), (a, b, strength) or (a, b, strength,
    /// rel), or mappings with these names. All are stored, or none.
    ///
    /// Raises InvalidInputError as `link` does, with the position.
    fn link_many(&self, py: Python<'_>, edges: &Bound<'_, PyAny>) -> PyResult<usize> {
        let edges = bulk::edges(edges)?;
        self.write(py, Some(edges.len() * errors::ITEM), || {
            self.store.link_many(&edges)
        })
    }

    /// Remove an edge; returns whether there was one.
    ///
    /// Raises InvalidInputError for a key that no node has or had.
    #[pyo3(signature = (a, b, rel=None), text_signature = "($self, a, b, rel='link')")]
    fn unlink(
        &self,
        py: Python<'_>,
        a: Text<name::A>,
        b: Text<name::B>,
        rel: Option<Text<name::Rel>>,
    ) -> PyResult<bool> {
        let relation = relation(rel.as_ref());
        self.write(py, Some(errors::ITEM), || {
            self.store.unlink(&a, &b, &relation)
        })
    }

    /// Note that an agent visited a node at a time: Unix seconds, a datetime or a date.
    ///
    /// `outcome` is "processed", "modified", "skipped" or "failed"; a failed visit is kept, but
    /// counts for no filter.
    ///
    /// Raises InvalidInputError for a key that no node has or had and for another outcome.
    #[pyo3(signature = (agent, key, at, outcome=None), text_signature = "($self, agent, key, at, outcome='processed')")]
    fn visit(
        &self,
        py: Python<'_>,
        agent: Text<name::Agent>,
        key: Text<name::Key>,
        at: &Bound<'_, PyAny>,
        outcome: Option<Text>,
    ) -> PyResult<()> {
        let visit = VisitInput {
            agent: agent.to_owned(),
            key: key.to_owned(),
            at: node::seconds(at, time("at"))?,
            outcome: outcome_of(outcome.as_ref())?,
        };
        self.write(py, Some(errors::ITEM), || self.store.visit(&[visit]))
    }

    /// Record many visits in one transaction; return their number.
    ///
    /// `visits` are any iterable of the arguments of `visit`: (agent, key, at) or (agent, key, at,
    /// outcome), or mappings with these names. All are recorded, or none.
    ///
    /// Raises InvalidInputError as `visit` does, with the position.
    fn visit_many(&self, py: Python<'_>, visits: &Bound<'_, PyAny>) -> PyResult<usize> {
        let visits = bulk::visits(visits)?;
        self.write(py, Some(visits.len() * errors::ITEM), || {
            self.store.visit_many(&visits)
        })
    }

    /// Run a pipeline (spec/pipeline.md) and return a QueryResult.
    ///
    /// `pipeline` is a text, a sequence of texts that are joined with " | ", or a Pipeline; `terms`
    /// become its first stage, a `match`, if it has no generator. `now` is a time as Unix seconds,
    /// a datetime or a date; the present time if it is None. `legs(query, leg)`, with the leg
    /// "bm25" or "semantic", replaces the retrieval of the store: it returns keys, best first, or
    /// None if it has no such leg. With `explain` the result says what each stage did. With
    /// `within`, keys, the result is that of a store with these nodes alone.
    ///
    /// Raises PipelineError for a pipeline that cannot be read, before the store is read, and
    /// InvalidInputError for options of another shape.
    #[pyo3(signature = (pipeline, *, now=None, terms=None, legs=None, explain=Flag::of(false), within=None), text_signature = "($self, pipeline, *, now=None, terms=None, legs=None, explain=False, within=None)")]
    #[allow(clippy::too_many_arguments, reason = "keyword arguments in Python")]
    fn query<'py>(
        &self,
        py: Python<'py>,
        pipeline: PipelineLike,
        now: Option<&Bound<'py, PyAny>>,
        terms: Option<&Bound<'py, PyAny>>,
        legs: Option<&Bound<'py, PyAny>>,
        explain: Flag<name::Explain>,
        within: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let within = within.map(|keys| keys_of("within", keys)).transpose()?;
        let within = within.map(HashSet::from_iter);
        self.run(py, pipeline, now, terms, legs, explain.0, within, None)
    }

    /// Return the state of the nodes, to compare with the files of a scope.
    fn _nodes(&self, py: Python<'_>, scope: Text) -> PyResult<PyNodes> {
        let state = self.call(py, || NodeState::load(&self.store, &scope))?;
        PyNodes::new(py, Arc::new(state))
    }

    /// Return the state of the nodes with the changes since an earlier one; that one without changes.
    fn _nodes_since<'py>(&self, before: Bound<'py, PyNodes>) -> PyResult<Bound<'py, PyNodes>> {
        let (py, state) = (before.py(), &before.get().state);
        match self.call(py, || state.refreshed(&self.store))? {
            Some(state) => Bound::new(py, PyNodes::new(py, Arc::new(state))?),
            None => Ok(before),
        }
    }

    /// Like `query`, on the nodes of `files` alone, with their links as the edges.
    #[pyo3(signature = (pipeline, files, *, now, terms, legs, explain))]
    #[allow(clippy::too_many_arguments, reason = "keyword arguments in Python")]
    fn _query_within<'py>(
        &self,
        py: Python<'py>,
        pipeline: PipelineLike,
        files: &Bound<'py, PyNodes>,
        now: Option<&Bound<'py, PyAny>>,
        terms: Option<&Bound<'py, PyAny>>,
        legs: Option<&Bound<'py, PyAny>>,
        explain: bool,
    ) -> PyResult<Bound<'py, PyAny>> {
        let files = files.get().nodes(py)?;
        let within = files.paths().map(str::to_owned).collect();
        let (within, files) = (Some(within), Some(&*files));
        self.run(py, pipeline, now, terms, legs, explain, within, files)
    }

    /// Close the files once running calls have ended; closing again does nothing.
    fn close(&self, py: Python<'_>) -> PyResult<()> {
        let index = self.store.index();
        notices::call_detached(py, index, || index.close())
    }

    /// Register more types.
    fn _register(&self, py: Python<'_>, types: &Bound<'_, PyAny>) -> PyResult<()> {
        let types = named_types(Some(types))?;
        self.write(py, Some(0), || self.store.register(&types))
    }

    /// Remove everything about nodes, deleted or not, except for bytes that stay until `_vacuum`.
    fn _purge(&self, py: Python<'_>, keys: &Bound<'_, PyAny>) -> PyResult<usize> {
        let keys = keys_of("keys", keys)?;
        self.write(py, Some(keys.len() * errors::ITEM), || {
            self.store.purge(&keys)
        })
    }

    /// Every edge between live nodes: source, target, relation and strength, in that order.
    fn _edges(&self, py: Python<'_>) -> PyResult<Vec<(String, String, String, f64)>> {
        let edges = self.call(py, || self.store.edges())?;
        let tuple = |edge: EdgeInput| (edge.source, edge.target, edge.relation, edge.strength);
        Ok(edges.into_iter().map(tuple).collect())
    }

    /// Return the number of live nodes.
    fn __len__(&self, py: Python<'_>) -> PyResult<usize> {
        let nodes = self.call(py, || self.store.len())?;
        Ok(usize::try_from(nodes)?)
    }

    /// The live nodes by key, in the present state, whatever is written meanwhile.
    fn __iter__(&self, py: Python<'_>) -> PyResult<PyNodeIterator> {
        let nodes = self.call(py, || self.store.nodes())?;
        Ok(PyNodeIterator::new(nodes))
    }

    /// Whether there is a node of this key, or one equal to this Node.
    fn __contains__(&self, py: Python<'_>, key: &Bound<'_, PyAny>) -> PyResult<bool> {
        if let Ok(node) = key.cast::<PyNode>() {
            let node = &node.get().0;
            return Ok(self.call(py, || self.store.get(&node.key))?.as_ref() == Some(node));
        }
        // Anything but a text, and a text that cannot be stored, is not the key of a node.
        let key = key.extract::<String>().unwrap_or_default();
        Ok(self.call(py, || self.store.get(&key))?.is_some())
    }

    fn __enter__(slf: Bound<'_, Self>) -> Bound<'_, Self> {
        slf
    }

    #[pyo3(signature = (*_exception))]
    fn __exit__(&self, py: Python<'_>, _exception: &Bound<'_, PyTuple>) -> PyResult<()> {
        self.close(py)
    }

    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        Ok(match self.store.index().path() {
            None => "Store.in_memory()".to_owned(),
            Some(path) => format!(
                "Store.open({})",
                path.as_os_str().into_pyobject(py)?.repr()?
            ),
        })
    }

    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> PyResult<(Bound<'py, PyAny>, (PathBuf,))> {
        let (py, index) = (slf.py(), slf.get().store.index());
        let Some(path) = index.path() else {
            return Err(errors::error(
                ErrorCode::NotPicklable,
                "a store in memory cannot be pickled; use Store.open with a file, or send a \
                 backup of it",
            ));
        };
        let mut open = slf.get_type().getattr("open")?;
        let options = PyDict::new(py);
        if index.read_only() {
            options.set_item("read_only", true)?;
        }
        let durability = index.database().location().durability();
        if durability != Durability::default() {
            options.set_item("durability", durability.as_str())?;
        }
        if !options.is_empty() {
            let partial = py.import("functools")?.getattr("partial")?;
            open = partial.call((open,), Some(&options))?;
        }
        Ok((open, (path.clone(),)))
    }
}

/// Keys of nodes, from any iterable.
fn keys_of(name: &'static str, keys: &Bound<'_, PyAny>) -> PyResult<Vec<String>> {
    let code = ErrorCode::InvalidId;
    Argument { name, code }.texts_of_any(keys)
}
