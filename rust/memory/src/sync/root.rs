//! The sync of a root: its files into its index and its store, and then the edges of their links
//! (spec/memory.md, "Sync").

use std::collections::HashSet;
use std::sync::{Arc, OnceLock};

use hedgerow_engine::Result;
use hedgerow_engine::index::Index;
use hedgerow_engine::sync::{Mutex, lock};
use hedgerow_graph::graph::Store;

use crate::folder::{Listing, Signature};
use crate::sync::ledger::{Ledger, Owner, prepare_index};
use crate::sync::nodes::Nodes;
use crate::sync::run::{Changes, Folder, Synced, Target, Targets, sync_files};
use crate::sync::store::{prepare_store, relink};

/// The nodes of a store as of one state of its ledger. They are read when they are first needed.
#[derive(Debug)]
pub struct NodeState {
    ledger: Ledger,
    /// The nodes of an earlier state, until those of this one are read: unchanged files are taken from there.
    before: Mutex<Option<Arc<Nodes>>>,
    nodes: OnceLock<Arc<Nodes>>,
}

impl NodeState {
    /// Read the ledger of a store, to compare with the files of a scope.
    pub fn load(store: &Store, scope: &str) -> Result<Self> {
        Ok(Self::new(Ledger::load(store.index(), scope, true)?, None))
    }

    fn new(ledger: Ledger, before: Option<Arc<Nodes>>) -> Self {
        Self {
            ledger,
            before: Mutex::new(before),
            nodes: OnceLock::new(),
        }
    }

    /// Return the state of a later ledger.
    fn with_ledger(&self, ledger: Ledger) -> Self {
        let nodes = self.nodes.get().cloned();
        Self::new(ledger, nodes.or_else(|| lock(&self.before).clone()))
    }

    /// Return the state with later changes; None without changes.
    pub fn refreshed(&self, store: &Store) -> Result<Option<Self>> {
        let ledger = self.ledger.refreshed(store.index())?;
        Ok(ledger.map(|ledger| self.with_ledger(ledger)))
    }

    /// Return the state with the nodes of the visible files alone, as if there were no others.
    pub fn within(&self, visible: &HashSet<String>) -> Result<Self> {
        let nodes = Arc::new(self.nodes()?.within(visible));
        Ok(Self {
            ledger: self.ledger.clone(),
            before: Mutex::default(),
            nodes: OnceLock::from(nodes),
        })
    }

    /// The ledger of the store.
    pub fn ledger(&self) -> &Ledger {
        &self.ledger
    }

    /// The nodes, which the first call reads. Returns an error if the notes of the ledger are damaged.
    pub fn nodes(&self) -> Result<&Arc<Nodes>> {
        if let Some(nodes) = self.nodes.get() {
            return Ok(nodes);
        }
        let before = lock(&self.before).clone();
        let nodes = Arc::new(Nodes::of(&self.ledger, before.as_deref())?);
        lock(&self.before).take();
        Ok(self.nodes.get_or_init(|| nodes))
    }
}

/// The index and the store of a root, open to write, with what they have read.
pub struct RootSync<'a> {
    index: &'a Index,
    ledger: Ledger,
    store: Option<(&'a Store, Arc<NodeState>)>,
    /// The state whose links the edges of the store were last known to be.
    linked: Option<Arc<NodeState>>,
}

impl<'a> RootSync<'a> {
    /// Prepare an index and a store for a sync. In those of another scope no file counts as read.
    ///
    /// `linked` is the last state that the caller saw with the edges of its links; another process may have changed
    /// the edges since.
    pub fn prepare(
        index: &'a Index,
        ledger: &Ledger,
        store: Option<(&'a Store, Arc<NodeState>)>,
        linked: Option<Arc<NodeState>>,
        now: i64,
    ) -> Result<Self> {
        let prepared = prepare_index(index, ledger, Owner::Path)?;
        let store = match store {
            None => None,
            Some((store, state)) => {
                let prepared = prepare_store(store, &state.ledger, now)?;
                let prepared = prepared.map(|ledger| Arc::new(state.with_ledger(ledger)));
                Some((store, prepared.unwrap_or(state)))
            }
        };
        let linked = match &store {
            Some((store, state)) if store.is_linked()? => Some(Arc::clone(state)),
            _ => linked,
        };
        Ok(Self {
            index,
            ledger: prepared.unwrap_or_else(|| ledger.clone()),
            store,
            linked,
        })
    }

    /// Whether index and store have read files before.
    pub fn has_read(&self) -> bool {
        let store = self.store.as_ref();
        !self.ledger.is_empty() && store.is_none_or(|(_, state)| !state.ledger.is_empty())
    }

    /// Return the files of a listing to read, and those to drop.
    pub fn changes(&self, listing: &Listing) -> Changes {
        let store = self.store.as_ref().map(|(_, state)| &state.ledger);
        Changes::of(listing, &self.ledger, store)
    }

    /// Read and drop files. `now` is in Unix seconds, and `progress(done, total)` counts files.
    pub fn read(
        &mut self,
        folder: &Folder<'_>,
        changes: &Changes,
        now: i64,
        progress: impl FnMut(usize, usize) -> Result<()>,
    ) -> Result<Synced> {
        if changes.is_empty() {
            return Ok(Synced::default());
        }
        let targets = Targets {
            index: Target {
                into: self.index,
                ledger: &self.ledger,
            },
            store: (self.store.as_ref()).map(|(store, state)| Target {
                into: *store,
                ledger: &state.ledger,
            }),
        };
        let synced = sync_files(&targets, folder, changes, now, progress)?;
        self.ledger.refresh(self.index)?;
        Ok(synced)
    }

    /// Return what index and store have read now. With `relinks`, the edges of the store become those of the links
    /// of its files.
    pub fn finish(self, relinks: bool) -> Result<(Ledger, Option<Arc<NodeState>>)> {
        let Some((store, state)) = self.store else {
            return Ok((self.ledger, None));
        };
        let state = match state.refreshed(store)? {
            Some(later) => Arc::new(later),
            None => state,
        };
        if relinks && !store.is_linked()? {
            let before = match &self.linked {
                Some(linked) => Some(Arc::clone(linked.nodes()?)),
                None => None,
            };
            relink(store, before.as_deref(), state.nodes()?)?;
        }
        Ok((self.ledger, Some(state)))
    }
}

/// The changes of a sync that reads files, each with its signature, and drops none.
pub fn written_files(mut files: Vec<(String, Signature)>) -> Changes {
    files.sort_unstable_by(|(one, _), (other, _)| one.cmp(other));
    Changes {
        read: files,
        ..Changes::default()
    }
}
