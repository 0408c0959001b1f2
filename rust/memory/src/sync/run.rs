//! The sync of a root: its files into its index and its store, each file read and parsed once
//! (spec/memory.md, "Sync").

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::path::Path;

use hedgerow_engine::Result;
use hedgerow_engine::index::{FileSync, Index};
use hedgerow_engine::sources::SourceFile as Row;
use hedgerow_graph::graph::{NodeSync, Store};

use crate::facts::document::Document;
use crate::folder::source::text_of;
use crate::folder::{Listing, Signature};
use crate::format::vault::FolderKind;
use crate::format::vault::without_marks;
use crate::skip::{Skip, printable};
use crate::sync::file_node::has_time_of_file;
use crate::sync::index::IndexPart;
use crate::sync::ledger::{Ledger, Record};
use crate::sync::reading::{FileToRead, Reading, in_rounds};
use crate::sync::store::{StorePart, register_types};

/// Files per batch, which bounds the memory for their paths.
const PART: usize = 8192;
static PLAIN: FolderKind = FolderKind {
    vault: None,
    day_format: None,
    title_format: None,
};

/// An index or a store, and its ledger.
#[derive(Debug)]
pub struct Target<'a, T> {
    /// The file to write.
    pub into: &'a T,
    /// The ledger at the beginning of the sync.
    pub ledger: &'a Ledger,
}

/// The index and store to update from the files of a root.
pub struct Targets<'a> {
    /// The index.
    pub index: Target<'a, Index>,
    /// The store, if the root has one.
    pub store: Option<Target<'a, Store>>,
}

/// The folder whose files are synced.
#[derive(Debug, Clone, Copy)]
pub struct Folder<'a> {
    /// The path of the folder.
    pub path: &'a Path,
    /// How the files are read whose paths have a prefix. Each path has one of them.
    pub kinds: &'a [(String, FolderKind)],
}

impl Folder<'_> {
    fn kind(&self, path: &str) -> &FolderKind {
        let mut kinds = self.kinds.iter();
        let found = kinds.find(|(prefix, _)| path.starts_with(prefix.as_str()));
        found.map_or(&PLAIN, |(_, kind)| kind)
    }
}

/// The files that a sync reads, and those that it drops.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Changes {
    /// Files whose present content the index or the store has not read, sorted by path.
    pub read: Vec<(String, Signature)>,
    /// Files that only the index still has.
    pub gone: Vec<String>,
    /// Files that only the store still has.
    pub gone_nodes: Vec<String>,
}

impl Changes {
    /// Compare a listing with the ledgers of the index and the store.
    pub fn of(listing: &Listing, index: &Ledger, store: Option<&Ledger>) -> Self {
        let (changed, gone) = index.difference(listing);
        let (changed_nodes, gone_nodes) =
            store.map_or_else(Default::default, |store| store.difference(listing));
        let read = changed.into_iter().chain(changed_nodes);
        let read: BTreeMap<&str, Signature> = read
            .map(|(path, signature)| (&**path, *signature))
            .collect();
        let owned = |(path, signature): (&str, Signature)| (path.to_owned(), signature);
        Self {
            read: read.into_iter().map(owned).collect(),
            gone,
            gone_nodes,
        }
    }

    /// The bytes of the files to read.
    pub fn size(&self) -> usize {
        let sizes = self.read.iter().map(|(_, signature)| signature.size());
        usize::try_from(sizes.sum::<u64>()).unwrap_or(usize::MAX)
    }

    /// The count of files to read or to drop.
    pub fn count(&self) -> usize {
        self.read.len() + self.gone.len() + self.gone_nodes.len()
    }

    /// Whether there is nothing to do.
    pub fn is_empty(&self) -> bool {
        self.count() == 0
    }
}

/// The counts of a sync, in files.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Synced {
    /// Readable files that are new to the index.
    pub added: usize,
    /// Files that the index had with other content.
    pub changed: usize,
    /// Problems of the nodes of files that were read.
    pub skips: Vec<Skip>,
}

/// Read the files that changed, in rounds, and drop those that are gone.
///
/// Each round is one transaction of the index and one of the store. A file that cannot be read has no
/// chunks and no node then. `progress(done, total)` counts files. `now` is in Unix seconds.
pub fn sync_files(
    targets: &Targets<'_>,
    folder: &Folder<'_>,
    changes: &Changes,
    now: i64,
    mut progress: impl FnMut(usize, usize) -> Result<()>,
) -> Result<Synced> {
    let mut synced = Synced::default();
    let make = |reading: Reading| FileUpdate::of(&reading, targets, folder);
    for (part, before) in changes.read.chunks(PART).zip((0..).step_by(PART)) {
        let wanted: Vec<FileToRead> = (part.iter())
            .map(|(path, signature)| FileToRead {
                path: path.clone(),
                place: folder.path.join(path),
                signature: *signature,
                is_stream: false,
            })
            .collect();
        in_rounds(&wanted, make, |made, done| {
            let (indexed, stored): (Vec<_>, Vec<_>) = made
                .into_iter()
                .map(|made| (made.index, made.store))
                .unzip();
            write_chunks(targets.index.into, &indexed, &mut synced)?;
            if let Some(store) = &targets.store {
                write_nodes(store.into, stored, now, &mut synced)?;
            }
            progress(before + done, changes.read.len())
        })?;
    }
    drop_gone(targets, changes, now)?;
    Ok(synced)
}

fn write_chunks(index: &Index, parts: &[InIndex], synced: &mut Synced) -> Result<()> {
    let mut sync = FileSync::default();
    for part in parts {
        match part {
            InIndex::Known => {}
            InIndex::Touched(row) => sync.touched.push(row.clone()),
            InIndex::Changed(part) => {
                sync.read
                    .push((part.row.clone(), part.chunks.iter().collect()));
                sync.removed.extend_from_slice(&part.removed);
                synced.added += usize::from(part.is_added);
                synced.changed += usize::from(part.is_changed);
            }
        }
    }
    if sync.read.is_empty() && sync.touched.is_empty() {
        return Ok(());
    }
    index.sync(&sync).map(|_| ())
}

fn write_nodes(
    store: &Store,
    parts: Vec<Option<StorePart>>,
    now: i64,
    synced: &mut Synced,
) -> Result<()> {
    let parts: Vec<StorePart> = parts.into_iter().flatten().collect();
    if parts.is_empty() {
        return Ok(());
    }
    let nodes: Vec<_> = parts.iter().filter_map(|part| part.node.as_ref()).collect();
    register_types(store, &nodes)?;
    let lost = parts.iter().filter(|part| part.is_lost);
    let lost: Vec<String> = lost.map(|part| part.row.path.clone()).collect();
    let sync = NodeSync {
        lost,
        read: (parts.iter())
            .map(|part| (part.row.clone(), part.node.as_ref()))
            .collect(),
        ..NodeSync::default()
    };
    store.sync(&sync, now)?;
    for part in parts {
        synced.skips.extend(part.skips);
    }
    Ok(())
}

fn drop_gone(targets: &Targets<'_>, changes: &Changes, now: i64) -> Result<()> {
    if !changes.gone.is_empty() {
        let sync = FileSync {
            gone: changes.gone.clone(),
            ..FileSync::default()
        };
        targets.index.into.sync(&sync)?;
    }
    if let Some(store) = &targets.store
        && !changes.gone_nodes.is_empty()
    {
        let sync = NodeSync {
            gone: changes.gone_nodes.clone(),
            ..NodeSync::default()
        };
        store.into.sync(&sync, now)?;
    }
    Ok(())
}

/// The changes of a file in the index and in the store; None if the store has it unchanged.
struct FileUpdate {
    index: InIndex,
    store: Option<StorePart>,
}

/// The changes of a file in the index.
enum InIndex {
    /// The file is known and unchanged.
    Known,
    /// The file has another signature and the same content.
    Touched(Row),
    /// The file is written.
    Changed(IndexPart),
}

impl FileUpdate {
    fn of(reading: &Reading, targets: &Targets<'_>, folder: &Folder<'_>) -> Self {
        let path = reading.path.as_str();
        let index = State::of(reading, Some(targets.index.ledger));
        let store = State::of(reading, targets.store.as_ref().map(|store| store.ledger));
        let modified = reading.signature.modified_seconds();
        // A node without a time of its own has that of its file.
        let is_touched = |before: &Record| before.modified_seconds() != Some(modified);
        let is_parsed = matches!(index, State::Changed(_))
            || match store {
                State::Known => false,
                State::Same(before) => is_touched(before),
                State::Changed(_) => true,
            };
        let text = match &reading.data {
            Ok(data) if is_parsed => text_of(data),
            Ok(_) => Ok(String::new()),
            Err(unreadable) => Err(unreadable.clone()),
        };
        let kind = folder.kind(path);
        let text = text.as_ref().map(|text| {
            if kind.is_vault() {
                without_marks(text)
            } else {
                Cow::Borrowed(text.as_str())
            }
        });
        let document = text
            .as_ref()
            .map(|text| Document::of_kind(kind, path, text));
        let document = document.as_ref().map_err(|unreadable| **unreadable);
        let row = || Row {
            path: reading.path.clone(),
            signature: reading.signature.to_string(),
            settled: reading.settled,
            digest: reading.digest.clone(),
            ..Row::default()
        };
        Self {
            index: match index {
                State::Known => InIndex::Known,
                State::Same(_) => InIndex::Touched(row()),
                State::Changed(before) => {
                    let file = printable(folder.path.join(path).as_os_str());
                    InIndex::Changed(IndexPart::parsed(row(), before, document, &file))
                }
            },
            store: match store {
                State::Known => None,
                State::Same(before)
                    if !(is_touched(before) && document.is_ok_and(has_time_of_file)) =>
                {
                    Some(StorePart::unchanged(row(), before))
                }
                State::Same(before) => {
                    Some(StorePart::parsed(row(), Some(before), document, modified))
                }
                State::Changed(before) => {
                    Some(StorePart::parsed(row(), before, document, modified))
                }
            },
        }
    }
}

/// The difference between a read file and its record in a ledger.
enum State<'l> {
    /// The file is known with this signature, or no ledger exists.
    Known,
    /// The file has another signature and the same content.
    Same(&'l Record),
    /// The file is new, or has other content.
    Changed(Option<&'l Record>),
}

impl<'l> State<'l> {
    fn of(reading: &Reading, ledger: Option<&'l Ledger>) -> Self {
        let Some(ledger) = ledger else {
            return Self::Known;
        };
        if ledger.is_read(&reading.path, reading.signature) {
            return Self::Known;
        }
        let before = ledger.record(&reading.path);
        let is_same =
            |before: &&Record| !reading.digest.is_empty() && *before.digest == *reading.digest;
        match before.filter(is_same) {
            Some(before) => Self::Same(before),
            None => Self::Changed(before),
        }
    }
}
