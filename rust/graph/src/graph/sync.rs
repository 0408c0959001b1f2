//! Nodes that are made from files, and the ledger of their sync.

use std::iter;

use hedgerow_engine::error::Result;
use hedgerow_engine::sources::{SourceFile, forget_source, note, put_source};
use hedgerow_engine::storage::settings;

use super::node::Node;
use super::store::Store;
use super::write::{EdgeInput, check_edge, check_nodes, mark_deleted, relink_in};
use crate::schema::LINKED_GENERATION;

/// The writes of one transaction of a sync. The path of a file is the key of its node.
#[derive(Debug, Clone, Default)]
pub struct NodeSync<'a> {
    /// The files that were read, each with its node if that is to be stored.
    pub read: Vec<(SourceFile, Option<&'a Node>)>,
    /// The keys of nodes to mark as deleted because their files cannot be read.
    pub lost: Vec<String>,
    /// Files that are gone, with their nodes.
    pub gone: Vec<String>,
    /// Texts about the sync as a whole by their names; None removes one.
    pub notes: Vec<(String, Option<String>)>,
}

impl Store {
    /// Write the files read by a sync, in one transaction. `now` is used for times that are not
    /// given.
    pub fn sync(&self, sync: &NodeSync<'_>, now: i64) -> Result<()> {
        let nodes: Vec<&Node> = sync.read.iter().filter_map(|(_, node)| *node).collect();
        check_nodes(&nodes)?;
        self.index.database().try_write(|connection| {
            if !nodes.is_empty() {
                self.put_nodes(connection, &nodes, now)?;
            }
            if !sync.lost.is_empty() {
                mark_deleted(connection, &sync.lost)?;
            }
            if !sync.gone.is_empty() {
                mark_deleted(connection, &sync.gone)?;
            }
            for path in &sync.gone {
                forget_source(connection, path)?;
            }
            for (source, node) in &sync.read {
                let key = node.map(|node| &*node.key);
                put_source(connection, source, key.into_iter())?;
            }
            note(connection, &sync.notes)?;
            Ok(())
        })
    }

    /// Make the edges those of the links of the files at a generation of the ledger: remove some, whose
    /// strengths do not matter, add others, and write the generation, in one transaction.
    pub fn relink(
        &self,
        removed: &[EdgeInput],
        added: &[EdgeInput],
        generation: i64,
    ) -> Result<()> {
        for edge in added {
            check_edge(edge)?;
        }
        self.index.database().try_write(|connection| {
            relink_in(connection, removed, added)?;
            settings::set(connection, LINKED_GENERATION, Some(&generation.to_string()))?;
            Ok(())
        })
    }

    /// Return the generation of the ledger at which the edges were those of the links of its files. None
    /// if they never were, or if another write changed an edge since.
    pub fn linked_generation(&self) -> Result<Option<i64>> {
        let database = self.index.database();
        database.read(|connection| settings::get(connection, LINKED_GENERATION))
    }

    /// Whether the edges are those of the links of the files as the ledger has them now.
    pub fn is_linked(&self) -> Result<bool> {
        let generation = self.index.sources_generation()?;
        Ok(self.linked_generation()? == Some(generation))
    }

    /// Note a file for every live node, by its key as the path, which the next sync reads again.
    pub fn adopt_nodes(&self) -> Result<()> {
        self.index.database().try_write(|connection| {
            let keys: Vec<String> = connection
                .prepare("SELECT key FROM nodes WHERE NOT deleted ORDER BY key")?
                .query_map([], |row| row.get(0))?
                .collect::<rusqlite::Result<_>>()?;
            for key in keys {
                let source = SourceFile {
                    path: key.clone(),
                    ..SourceFile::default()
                };
                put_source(connection, &source, iter::once(&*key))?;
            }
            Ok(())
        })
    }
}

#[cfg(test)]
mod tests {
    use std::slice;

    use super::*;

    fn node(key: &str, content: &str) -> Node {
        Node {
            key: key.to_owned(),
            content: content.to_owned(),
            ..Node::default()
        }
    }

    fn source(path: &str) -> SourceFile {
        SourceFile {
            path: path.to_owned(),
            signature: "1".to_owned(),
            digest: "d".to_owned(),
            ..SourceFile::default()
        }
    }

    fn sources(store: &Store) -> Vec<(String, String, u64)> {
        let sources = store.index().sources().unwrap().into_iter();
        sources
            .map(|source| (source.path, source.signature, source.chunks))
            .collect()
    }

    fn known(path: &str, signature: &str, chunks: u64) -> (String, String, u64) {
        (path.to_owned(), signature.to_owned(), chunks)
    }

    #[test]
    fn nodes_and_their_files_are_written_together() {
        let store = Store::in_memory().unwrap();
        let [a, b] = [node("a", "x"), node("b", "y")];
        let sync = NodeSync {
            read: vec![
                (source("a"), Some(&a)),
                (source("b"), Some(&b)),
                (source("c"), None),
            ],
            ..NodeSync::default()
        };
        store.sync(&sync, 5).unwrap();
        assert_eq!(
            sources(&store),
            [known("a", "1", 1), known("b", "1", 1), known("c", "1", 0)]
        );
        let edge = EdgeInput {
            source: "a".to_owned(),
            target: "b".to_owned(),
            relation: "link".to_owned(),
            strength: 1.0,
        };
        let added = [edge];
        let generation = store.index().sources_generation().unwrap();
        store.relink(&[], &added, generation).unwrap();
        assert_eq!(store.edges().unwrap(), added);
        assert!(store.is_linked().unwrap());
        let gone = NodeSync {
            read: vec![(source("b"), None)],
            lost: vec!["b".to_owned()],
            gone: vec!["c".to_owned()],
            ..NodeSync::default()
        };
        store.sync(&gone, 6).unwrap();
        assert_eq!(sources(&store), [known("a", "1", 1), known("b", "1", 0)]);
        assert!(store.get("b").unwrap().is_none());
        store.upsert(&[&node("a", "by hand")], 7).unwrap();
        assert_eq!(sources(&store), [known("a", "", 1), known("b", "1", 0)]);
        assert_eq!(store.index().check().unwrap(), [] as [&str; 0]);
    }

    #[test]
    fn edges_count_as_those_of_files_until_the_ledger_or_an_edge_changes() {
        let edge = EdgeInput {
            source: "a".to_owned(),
            target: "b".to_owned(),
            relation: "link".to_owned(),
            strength: 1.0,
        };
        let [a, b, c] = ["a", "b", "c"].map(|key| node(key, key));
        let read = |file: &str, node| NodeSync {
            read: vec![(source(file), node)],
            ..NodeSync::default()
        };
        let write = |store: &Store, name| match name {
            "read" => store.sync(&read("b", Some(&b)), 1),
            "lost" => store.delete(&["b"]).map(|_| ()),
            "purged" => store.purge(&["b"]).map(|_| ()),
            "linked" => store.link(slice::from_ref(&edge)),
            "unlinked" => store.unlink("a", "b", "link").map(|_| ()),
            _ => store.upsert(&[&c], 1).map(|_| ()),
        };
        for (name, is_kept) in [
            ("read", true),
            ("lost", true),
            ("purged", false),
            ("linked", false),
            ("unlinked", false),
            ("other", true),
        ] {
            let store = Store::in_memory().unwrap();
            assert!(!store.is_linked().unwrap());
            store.sync(&read("a", Some(&a)), 1).unwrap();
            store.sync(&read("b", Some(&b)), 1).unwrap();
            let generation = store.index().sources_generation().unwrap();
            store
                .relink(&[], slice::from_ref(&edge), generation)
                .unwrap();
            write(&store, name).unwrap();
            let linked = is_kept.then_some(generation);
            assert_eq!(store.linked_generation().unwrap(), linked, "{name}");
            assert_eq!(store.is_linked().unwrap(), name == "other", "{name}");
        }
    }

    #[test]
    fn a_store_from_before_there_was_a_ledger_is_adopted() {
        let store = Store::in_memory().unwrap();
        store
            .upsert(&[&node("a", "x"), &node("b", "y")], 1)
            .unwrap();
        store.delete(&["b"]).unwrap();
        store.adopt_nodes().unwrap();
        assert_eq!(sources(&store), [known("a", "", 1)]);
    }
}
