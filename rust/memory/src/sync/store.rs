//! A file of a root in its store: a node and facts (spec/memory.md, "The store").

use std::collections::BTreeSet;
use std::sync::Arc;

use hedgerow_engine::Result;
use hedgerow_engine::sources::SourceFile as Row;
use hedgerow_graph::graph::{Node, NodeSync, Store, TYPES};
use serde_json::Value;

use crate::facts::document::Document;
use crate::folder::source::Unreadable;
use crate::skip::{Skip, noted_skips};
use crate::sync::file_node::{FileNode, file_node};
use crate::sync::ledger::{Ledger, Record};
use crate::sync::nodes::Nodes;

/// The changes of a file in the store.
#[derive(Debug)]
pub(crate) struct StorePart {
    /// The row of the file in the ledger.
    pub(crate) row: Row,
    /// The node to write, if it has changed.
    pub(crate) node: Option<Node>,
    /// Whether the file had a node that it has no more, for it cannot be read.
    pub(crate) is_lost: bool,
    /// The skipped parts, if the file has changed.
    pub(crate) skips: Vec<Skip>,
}

impl StorePart {
    /// Return the part of an unchanged file; `row` has its new signature.
    pub(crate) fn unchanged(row: Row, before: &Record) -> Self {
        let (skips, facts) = (before.skips.to_string(), before.facts.to_string());
        Self {
            row: Row {
                skips,
                facts,
                ..row
            },
            node: None,
            is_lost: false,
            skips: Vec::new(),
        }
    }

    /// A file that was parsed, or could not be; `row` has its signature and its digest.
    pub(crate) fn parsed(
        row: Row,
        before: Option<&Record>,
        document: std::result::Result<&Document<'_>, &Unreadable>,
        modified: i64,
    ) -> Self {
        let made = document.map_err(Unreadable::clone);
        match made.and_then(|document| file_node(document, modified)) {
            Ok(FileNode { node, facts, skips }) => Self {
                row: Row {
                    skips: noted_skips(&skips),
                    facts: Value::Object(facts).to_string(),
                    ..row
                },
                node: Some(node),
                is_lost: false,
                skips,
            },
            Err(unreadable) => {
                let skips = vec![unreadable.skip(&row.path)];
                Self {
                    row: Row {
                        skips: noted_skips(&skips),
                        // Without a digest it has no node.
                        digest: String::new(),
                        ..row
                    },
                    node: None,
                    is_lost: before.is_some_and(|before| before.chunks > 0),
                    skips,
                }
            }
        }
    }
}

/// Prepare a store for a sync: of another scope or made by other readers, no file counts as read; nodes of no
/// file are marked as deleted. `ledger` is that of the store.
///
/// Returns the changed ledger; None if it is unchanged.
pub fn prepare_store(store: &Store, ledger: &Ledger, now: i64) -> Result<Option<Ledger>> {
    let sync = if !ledger.is_current() {
        if ledger.is_new() {
            store.adopt_nodes()?;
        }
        let blank = |record: &Arc<Record>| {
            let path = record.path().to_owned();
            let row = Row {
                path,
                ..Row::default()
            };
            (row, None)
        };
        NodeSync {
            read: ledger.records().map(blank).collect(),
            notes: vec![ledger.current_note()],
            ..NodeSync::default()
        }
    } else if store.index().len()? != ledger.chunks() {
        // Only syncs write here.
        NodeSync {
            lost: store.index().chunks_without_source()?,
            ..NodeSync::default()
        }
    } else {
        return Ok(None);
    };
    store.sync(&sync, now)?;
    let mut prepared = ledger.clone();
    prepared.refresh(store.index())?;
    Ok(Some(prepared))
}

/// Register the types of nodes that a store does not know yet.
pub(crate) fn register_types(store: &Store, nodes: &[&Node]) -> Result<()> {
    let kinds: BTreeSet<&str> = (nodes.iter())
        .map(|node| node.kind.as_str())
        .filter(|kind| !TYPES.contains(kind))
        .collect();
    if kinds.is_empty() {
        return Ok(());
    }
    let known = store.known_types();
    let new: Vec<&str> = (kinds.into_iter())
        .filter(|kind| known.iter().all(|one| one != kind))
        .collect();
    if new.is_empty() {
        return Ok(());
    }
    store.register(&new)
}

/// Make the edges of a store those of the links of its files.
///
/// If the store says that its edges were those of the state `before`, only links that changed since, or
/// that lead elsewhere, are compared. Otherwise all are.
pub fn relink(store: &Store, before: Option<&Nodes>, after: &Nodes) -> Result<()> {
    let linked = store.linked_generation()?;
    let before = before.filter(|before| linked == Some(before.generation()));
    let sources = before.map(|before| after.relinked(before));
    let known = match &sources {
        None => store.stored_edges(None)?,
        Some(files) => {
            let edges = files.iter().map(|file| store.stored_edges(Some(file)));
            edges.collect::<Result<Vec<_>>>()?.concat()
        }
    };
    let (removed, added) = after.difference(&known, sources.as_ref());
    store.relink(&removed, &added, after.generation())
}
