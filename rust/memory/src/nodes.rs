//! What the store of a root knows of its files: their titles, other names and links (spec/memory.md,
//! "The store").

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;

use hedgerow_engine::{Error, ErrorCode, Result};
use hedgerow_graph::graph::Edge;
use serde::Deserialize;

use crate::ledger::{Ledger, Record};
use crate::names::{Named, Names};

/// One link as it is written.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct Link(
    /// The target.
    pub String,
    /// The relation.
    pub String,
    /// The strength, above 0 and up to 1.
    pub f64,
    /// Whether it is a path from the folder of its file.
    pub bool,
);

/// A file that is a node.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct Linked {
    /// Its title, or an empty text.
    pub title: String,
    /// Its links, in their order.
    pub links: Vec<Link>,
    /// Its other names.
    #[serde(default)]
    pub aliases: Vec<String>,
}

/// A file by its path, its record, and what was read of that.
type File = (Arc<str>, Arc<Record>, Arc<Linked>);

/// The files that are nodes, by their paths.
#[derive(Debug)]
pub struct Nodes {
    files: Vec<File>,
    numbers: HashMap<Arc<str>, usize>,
    names: Arc<Names>,
}

/// The strength of each edge by its source, target and relation, in their order, and the links that
/// lead to no file, as (file, target).
type Edges = (
    BTreeMap<(String, String, String), f64>,
    Vec<(String, String)>,
);

impl Nodes {
    /// Read the nodes that a ledger notes; what is as in `before` is taken from there.
    pub fn of(ledger: &Ledger, before: Option<&Self>) -> Result<Self> {
        let mut files = Vec::with_capacity(ledger.len());
        for (path, record) in ledger.sorted() {
            let known = before.and_then(|before| before.same(path, record));
            let linked = match known {
                Some(linked) => linked,
                None if record.source.facts.is_empty() => continue,
                None => Arc::new(read(record)?),
            };
            files.push((Arc::clone(path), Arc::clone(record), linked));
        }
        let names = match before.filter(|before| before.is_named_as(&files)) {
            Some(before) => Arc::clone(&before.names),
            None => Arc::new(names_of(&files, |path| path)),
        };
        let numbered = files.iter().enumerate();
        let numbers = numbered
            .map(|(number, (path, ..))| (Arc::clone(path), number))
            .collect();
        Ok(Self {
            files,
            numbers,
            names,
        })
    }

    fn same(&self, path: &str, record: &Arc<Record>) -> Option<Arc<Linked>> {
        let (_, known, linked) = &self.files[*self.numbers.get(path)?];
        Arc::ptr_eq(known, record).then(|| Arc::clone(linked))
    }

    fn is_named_as(&self, files: &[File]) -> bool {
        let is_same = |((path, _, linked), (other, _, now)): (&File, &File)| {
            path == other
                && (Arc::ptr_eq(linked, now)
                    || (linked.title == now.title && linked.aliases == now.aliases))
        };
        self.files.len() == files.len() && self.files.iter().zip(files).all(is_same)
    }

    /// The files that names mean.
    pub fn names(&self) -> &Arc<Names> {
        &self.names
    }

    /// The same for those files alone that are visible.
    pub fn names_within(&self, visible: &HashSet<String>) -> Names {
        let files: Vec<_> = (self.files.iter())
            .filter(|(path, ..)| visible.contains(&**path))
            .cloned()
            .collect();
        names_of(&files, |path| path)
    }

    /// The same once a file has another path.
    pub fn names_after(&self, file: &str, to: &str) -> Names {
        names_of(&self.files, |path| if path == file { to } else { path })
    }

    /// Whether every name means what it means in another state.
    pub fn is_named_like(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.names, &other.names) || self.is_named_as(&other.files)
    }

    /// What is known of a file.
    pub fn get(&self, path: &str) -> Option<&Linked> {
        self.numbers.get(path).map(|number| &*self.files[*number].2)
    }

    /// The paths of all files, in their order.
    pub fn paths(&self) -> impl Iterator<Item = &str> {
        self.files.iter().map(|(path, ..)| &**path)
    }

    /// The files with a link to a file, in their order.
    pub fn linking_to(&self, file: &str) -> Vec<String> {
        let leads = |(path, _, linked): &&File| {
            (linked.links.iter()).any(|link| self.target(link, path) == Some(file))
        };
        self.files
            .iter()
            .filter(leads)
            .map(|(path, ..)| path.to_string())
            .collect()
    }

    fn target(&self, link: &Link, source: &str) -> Option<&str> {
        self.names.find(&link.0, link.3, source)
    }

    /// Which edges of some files, or of all, are to be removed and added, where these are known.
    pub fn difference(
        &self,
        known: &[Edge],
        sources: Option<&HashSet<String>>,
    ) -> (Vec<Edge>, Vec<Edge>) {
        let (mut wanted, _) = self.edges(sources);
        let mut removed = Vec::new();
        for edge in known {
            let Edge {
                source,
                target,
                relation,
                strength,
            } = edge.clone();
            let key = (source, target, relation);
            match wanted.get(&key) {
                None => removed.push(edge.clone()),
                Some(now) if now.total_cmp(&strength).is_eq() => {
                    wanted.remove(&key);
                }
                Some(_) => {}
            }
        }
        let edge = |((source, target, relation), strength)| Edge {
            source,
            target,
            relation,
            strength,
        };
        (removed, wanted.into_iter().map(edge).collect())
    }

    /// The edges of the links of some files, or of all.
    pub fn edges(&self, sources: Option<&HashSet<String>>) -> Edges {
        let (mut edges, mut missing) = (BTreeMap::new(), Vec::new());
        for (path, _, linked) in &self.files {
            if sources.is_some_and(|sources| !sources.contains(&**path)) {
                continue;
            }
            let mut seen = HashSet::new();
            for link in &linked.links {
                match self.target(link, path) {
                    None if seen.insert(&link.0) => {
                        missing.push((path.to_string(), link.0.clone()));
                    }
                    Some(target) if target != &**path => {
                        let key = (path.to_string(), target.to_owned(), link.1.clone());
                        let strength = edges.entry(key).or_insert(0.0_f64);
                        *strength = strength.max(link.2);
                    }
                    _ => {}
                }
            }
        }
        (edges, missing)
    }
}

fn names_of<'f>(files: &'f [File], renamed: impl Fn(&'f str) -> &'f str) -> Names {
    let mut named: Vec<Named<'_>> = (files.iter())
        .map(|(path, _, linked)| Named {
            path: renamed(path),
            title: &linked.title,
            aliases: &linked.aliases,
        })
        .collect();
    named.sort_by_key(|file| file.path);
    Names::new(named.into_iter())
}

fn read(record: &Record) -> Result<Linked> {
    serde_json::from_str(&record.source.facts).map_err(|error| {
        let path = &record.source.path;
        let message = format!(
            "the store is damaged (what it notes of {path:?} cannot be read: {error}); make it anew \
             from the files"
        );
        Error::new(ErrorCode::IndexDamaged, message)
    })
}
