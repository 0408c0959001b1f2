//! The data of a root's store about its files: titles, other names and links (spec/memory.md, "The store").

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::iter::Peekable;
use std::sync::Arc;

use hedgerow_engine::sources::SourceFile;
use hedgerow_engine::{Error, ErrorCode, Result};
use hedgerow_graph::graph::EdgeInput;
use serde::Deserialize;

use crate::facts::names::{FileTitles, NameKeys, Names};
use crate::format::field_links::NodeLink;
use crate::sync::ledger::{Block, Ledger, Record};

/// A file that is a node.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct LinkedFile {
    /// The title, or an empty text.
    pub title: String,
    /// The links, in their order.
    pub links: Vec<NodeLink>,
    /// Names other than the title.
    #[serde(default)]
    pub aliases: Vec<String>,
    /// Tags that are written as links. They need no memory of that name.
    #[serde(default)]
    pub tags: Vec<String>,
}

/// A file: its record, and the data read from it.
type File = (Arc<Record>, Arc<LinkedFile>);

/// The files that are nodes, in the order of their paths.
#[derive(Debug)]
pub struct Nodes {
    generation: i64,
    files: Files,
    names: Arc<Names>,
}

/// The files of the blocks of a ledger. Later files share a block if the ledgers share it.
#[derive(Debug, Default)]
struct Files(Vec<(Block, Arc<Vec<File>>)>);

impl Files {
    /// Read the files of a ledger; files unchanged since `before` are taken from there.
    fn of(ledger: &Ledger, before: &Self) -> Result<Self> {
        let known: HashMap<_, _> = (before.0.iter())
            .map(|(records, files)| (Arc::as_ptr(records), files))
            .collect();
        let shared = ledger.blocks().iter().map(Arc::as_ptr).collect();
        let mut others = before.outside(&shared).peekable();
        let mut blocks = Vec::with_capacity(ledger.blocks().len());
        for records in ledger.blocks() {
            let files = match known.get(&Arc::as_ptr(records)) {
                Some(files) => Arc::clone(files),
                None => Arc::new(files_of(records, &mut others)?),
            };
            blocks.push((Arc::clone(records), files));
        }
        Ok(Self(blocks))
    }

    fn iter(&self) -> impl Iterator<Item = &File> {
        self.0.iter().flat_map(|(_, files)| files.iter())
    }

    /// The files of other blocks than these.
    fn outside(&self, blocks: &HashSet<*const Vec<Arc<Record>>>) -> impl Iterator<Item = &File> {
        let others = self.0.iter();
        let others = others.filter(|(records, _)| !blocks.contains(&Arc::as_ptr(records)));
        others.flat_map(|(_, files)| files.iter())
    }

    fn blocks(&self) -> HashSet<*const Vec<Arc<Record>>> {
        self.0
            .iter()
            .map(|(records, _)| Arc::as_ptr(records))
            .collect()
    }

    fn get(&self, path: &str) -> Option<&File> {
        let is_before =
            |(records, _): &(Block, _)| records.last().is_some_and(|last| last.path() < path);
        let (_, files) = self.0.get(self.0.partition_point(is_before))?;
        let found = files.binary_search_by(|(record, _)| record.path().cmp(path));
        found.ok().map(|at| &files[at])
    }
}

/// Read the files of records; unchanged files are taken from those `before`, in the order of their paths.
fn files_of<'f>(
    records: &[Arc<Record>],
    before: &mut Peekable<impl Iterator<Item = &'f File>>,
) -> Result<Vec<File>> {
    let mut files = Vec::with_capacity(records.len());
    for record in records {
        while before
            .next_if(|(one, _)| one.path() < record.path())
            .is_some()
        {}
        let same = before.next_if(|(one, _)| Arc::ptr_eq(one, record));
        let linked = match same {
            Some((_, linked)) => Arc::clone(linked),
            None if record.facts.is_empty() => continue,
            None => Arc::new(read(record)?),
        };
        files.push((Arc::clone(record), linked));
    }
    Ok(files)
}

/// The strength of each edge by its source, target and relation, in their order, and the links that
/// lead to no file, as (file, target).
type Edges = (
    BTreeMap<(String, String, String), f64>,
    Vec<(String, String)>,
);

impl Nodes {
    /// Read the nodes of a ledger; nodes unchanged since `before` are taken from there.
    pub fn of(ledger: &Ledger, before: Option<&Self>) -> Result<Self> {
        let none = Files::default();
        let files = Files::of(ledger, before.map_or(&none, |before| &before.files))?;
        let names = before.and_then(|before| before.names_with(&files));
        let names = names.unwrap_or_else(|| Arc::new(names_of(files.iter(), |path| path)));
        Ok(Self {
            generation: ledger.generation(),
            files,
            names,
        })
    }

    /// The nodes of files that no ledger has, in the order of their paths.
    pub(crate) fn of_files(files: impl Iterator<Item = (String, LinkedFile)>) -> Self {
        let record = |path| {
            Record::of(
                SourceFile {
                    path,
                    ..SourceFile::default()
                },
                false,
            )
        };
        let files: Vec<File> = files
            .map(|(path, linked)| (Arc::new(record(path)), Arc::new(linked)))
            .collect();
        Self::of_block(-1, files)
    }

    /// The nodes of files in the order of their paths.
    fn of_block(generation: i64, files: Vec<File>) -> Self {
        let names = names_of(files.iter(), |path| path);
        let records = files.iter().map(|(record, _)| Arc::clone(record)).collect();
        Self {
            generation,
            files: Files(vec![(Arc::new(records), Arc::new(files))]),
            names: Arc::new(names),
        }
    }

    /// The generation of the ledger that the files are of; -1 without a ledger.
    pub fn generation(&self) -> i64 {
        self.generation
    }

    /// The names of a later state, of files in the order of their paths. None if new names of all files
    /// take less time.
    fn names_with(&self, files: &Files) -> Option<Arc<Names>> {
        let is_renamed = |(old, new): &(Option<&File>, Option<&File>)| match (old, new) {
            (Some((_, old)), Some((_, new))) => {
                !Arc::ptr_eq(old, new) && (old.title != new.title || old.aliases != new.aliases)
            }
            _ => true,
        };
        let renamed: Vec<&str> = pairs(&self.files, files)
            .into_iter()
            .filter(is_renamed)
            .filter_map(|(old, new)| old.or(new))
            .map(|(record, _)| record.path())
            .collect();
        if renamed.is_empty() {
            return Some(Arc::clone(&self.names));
        }
        let named = |path: &str| {
            let (record, linked) = files.get(path)?;
            Some(named(record.path(), linked))
        };
        self.names.after(&renamed, named).map(Arc::new)
    }

    /// The files whose links are others than before, or may lead elsewhere.
    pub fn relinked(&self, before: &Self) -> BTreeSet<String> {
        let mut sources = BTreeSet::new();
        let mut names = NameKeys::default();
        for (old, new) in pairs(&before.files, &self.files) {
            if let (Some(old), Some(new)) = (old, new)
                && Arc::ptr_eq(&old.1, &new.1)
            {
                continue;
            }
            if let Some((record, linked)) = new
                && old.is_none_or(|(_, before)| before.links != linked.links)
            {
                sources.insert(record.path().to_owned());
            }
            let is_renamed = match (old, new) {
                (Some((_, old)), Some((_, new))) => {
                    old.title != new.title || old.aliases != new.aliases
                }
                _ => true,
            };
            if is_renamed {
                [old, new]
                    .into_iter()
                    .flatten()
                    .for_each(|(record, linked)| names.add(&named(record.path(), linked)));
            }
        }
        if !names.is_empty() {
            let may_lead_elsewhere = self.files.iter().filter(|(_, linked)| {
                let mut links = linked.links.iter();
                links.any(|link| names.may_mean(&link.0, link.3))
            });
            sources.extend(may_lead_elsewhere.map(|(record, _)| record.path().to_owned()));
        }
        sources
    }

    /// The files that names mean.
    pub fn names(&self) -> &Arc<Names> {
        &self.names
    }

    /// Return the nodes of the visible files, with names and links as if there were no others.
    #[must_use]
    pub fn within(&self, visible: &HashSet<String>) -> Self {
        let is_visible = |(record, _): &&File| visible.contains(record.path());
        let files: Vec<File> = self.files.iter().filter(is_visible).cloned().collect();
        Self::of_block(self.generation, files)
    }

    /// Return the names after a file moves to another path.
    pub fn names_after(&self, file: &str, to: &str) -> Names {
        names_of(
            self.files.iter(),
            |path| if path == file { to } else { path },
        )
    }

    /// Return the data of a file.
    pub fn get(&self, path: &str) -> Option<&LinkedFile> {
        self.files.get(path).map(|(_, linked)| &**linked)
    }

    /// The paths of all files, in their order.
    pub fn paths(&self) -> impl Iterator<Item = &str> {
        self.files.iter().map(|(record, _)| record.path())
    }

    /// The files with a link to a file, in their order.
    pub fn linking_to(&self, file: &str) -> Vec<String> {
        let leads = |(record, linked): &&File| {
            (linked.links.iter()).any(|link| self.target(link, record.path()) == Some(file))
        };
        self.files
            .iter()
            .filter(leads)
            .map(|(record, _)| record.path().to_owned())
            .collect()
    }

    fn target(&self, link: &NodeLink, source: &str) -> Option<&str> {
        self.names.find(&link.0, link.3, source)
    }

    /// Return the edges to remove and to add, for some files or for all.
    pub fn difference(
        &self,
        known: &[EdgeInput],
        sources: Option<&BTreeSet<String>>,
    ) -> (Vec<EdgeInput>, Vec<EdgeInput>) {
        let (mut wanted, _) = self.edges(sources);
        let mut removed = Vec::new();
        for edge in known {
            let EdgeInput {
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
        let edge = |((source, target, relation), strength)| EdgeInput {
            source,
            target,
            relation,
            strength,
        };
        (removed, wanted.into_iter().map(edge).collect())
    }

    /// The edges of the links of some files, or of all.
    pub fn edges(&self, sources: Option<&BTreeSet<String>>) -> Edges {
        let (mut edges, mut missing) = (BTreeMap::new(), Vec::new());
        let files: Box<dyn Iterator<Item = &File>> = match sources {
            Some(sources) => Box::new(sources.iter().filter_map(|path| self.files.get(path))),
            None => Box::new(self.files.iter()),
        };
        for (record, linked) in files {
            let path = record.path();
            let mut seen = HashSet::new();
            for link in &linked.links {
                match self.target(link, path) {
                    None if !linked.tags.contains(&link.0) && seen.insert(&link.0) => {
                        missing.push((path.to_owned(), link.0.clone()));
                    }
                    Some(target) if target != path => {
                        let key = (path.to_owned(), target.to_owned(), link.1.clone());
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

/// Pair the files of an earlier state with those of a later one, in the order of their paths. Files of blocks
/// that they share are left out.
fn pairs<'n>(before: &'n Files, after: &'n Files) -> Vec<(Option<&'n File>, Option<&'n File>)> {
    let mut pairs = Vec::new();
    let (old_blocks, new_blocks) = (before.blocks(), after.blocks());
    let mut olds = before.outside(&new_blocks).peekable();
    for new in after.outside(&old_blocks) {
        let path = new.0.path();
        while let Some(old) = olds.next_if(|old| old.0.path() < path) {
            pairs.push((Some(old), None));
        }
        pairs.push((olds.next_if(|old| old.0.path() == path), Some(new)));
    }
    pairs.extend(olds.map(|old| (Some(old), None)));
    pairs
}

fn named<'f>(path: &'f str, linked: &'f LinkedFile) -> FileTitles<'f> {
    FileTitles {
        path,
        title: &linked.title,
        aliases: &linked.aliases,
    }
}

fn names_of<'f>(
    files: impl Iterator<Item = &'f File>,
    renamed: impl Fn(&'f str) -> &'f str,
) -> Names {
    let mut names: Vec<FileTitles<'_>> = files
        .map(|(record, linked)| named(renamed(record.path()), linked))
        .collect();
    names.sort_by_key(|file| file.path);
    Names::new(names.into_iter())
}

fn read(record: &Record) -> Result<LinkedFile> {
    serde_json::from_str(&record.facts).map_err(|error| {
        let path = record.path();
        let message = format!(
            "the store is damaged (what it notes of {path:?} cannot be read: {error}); make it anew \
             from the files"
        );
        Error::new(ErrorCode::IndexDamaged, message)
    })
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test fails by panicking")]
mod tests {
    use hedgerow_engine::index::{FileSync, Index};
    use hedgerow_engine::text::tokenizer::TokenizerKind;
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    /// The path, the title and the targets of links of a file.
    type FileLinks = (String, String, Vec<(String, bool)>);

    fn source((path, title, links): &FileLinks) -> SourceFile {
        let links: Vec<_> = links
            .iter()
            .map(|(to, is_path)| json!([to, "link", 0.7, is_path]))
            .collect();
        SourceFile {
            path: path.clone(),
            facts: json!({"title": title, "links": links}).to_string(),
            ..SourceFile::default()
        }
    }

    /// Write a state of all files into the ledger of an index, and take it in.
    fn ledger(index: &Index, files: &[FileLinks], before: &Ledger) -> Ledger {
        let gone = before.records().map(|record| record.path().to_owned());
        let sync = FileSync {
            read: files
                .iter()
                .map(|file| (source(file), Vec::new()))
                .collect(),
            gone: gone
                .filter(|path| files.iter().all(|file| file.0 != *path))
                .collect(),
            ..FileSync::default()
        };
        index.sync(&sync).unwrap();
        let mut ledger = before.clone();
        ledger.refresh(index).unwrap();
        ledger
    }

    prop_compose! {
        fn a_file()(
            path in "(|d/|d/e/)[abdÄ](|[.]x|[.]md)[.]md",
            title in "(|a|b|A  b|d)",
            links in prop::collection::vec(("(|/|[.][.]/|d/)(a|b|ä|a b|e|[.][.]|[.]|d)(|[.]md)", any::<bool>()), 0..4),
        ) -> FileLinks {
            (path, title, links)
        }
    }

    proptest! {
        #[test]
        fn what_is_relinked_makes_the_edges_of_all_links(
            states in prop::collection::vec(prop::collection::vec(a_file(), 0..7), 2..4),
        ) {
            let index = Index::in_memory(TokenizerKind::Porter).unwrap();
            let mut known = Ledger::load(&index, "x", true).unwrap();
            let mut before = Nodes::of(&known, None).unwrap();
            for mut files in states {
                files.sort();
                files.dedup_by(|one, other| one.0 == other.0);
                known = ledger(&index, &files, &known);
                let after = Nodes::of(&known, Some(&before)).unwrap();
                let fresh = Nodes::of(&known, None).unwrap();
                prop_assert_eq!(after.paths().collect::<Vec<_>>(), fresh.paths().collect::<Vec<_>>());
                let sources = after.relinked(&before);
                // The edges of the other files are as they were.
                let (mut edges, _) = before.edges(None);
                edges.retain(|(source, ..), _| !sources.contains(source) && after.get(source).is_some());
                edges.extend(after.edges(Some(&sources)).0);
                edges.retain(|(_, target, _), _| after.get(target).is_some());
                prop_assert_eq!(edges, fresh.edges(None).0);
                before = after;
            }
        }
    }
}
