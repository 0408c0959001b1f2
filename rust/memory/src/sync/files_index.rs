//! Files and folders into an index (spec/ingest.md, "Runs").
//!
//! Files are known by their absolute paths. A file that changed is replaced, unchanged chunks are left
//! alone, and chunks that were not made from files are never touched.

use std::collections::{HashMap, HashSet};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use hedgerow_engine::chunks::Chunk;
use hedgerow_engine::index::{FileSync, Index};
use hedgerow_engine::sources::SourceFile as Row;
use hedgerow_engine::{Error, ErrorKind, Result};
use serde_json::{Value, json};

use crate::folder::Signature;
use crate::folder::source::{JSONL_SUFFIXES, SourceFile, Unreadable};
use crate::format::jsonl::LineResult;
use crate::format::readers::read_chunks;
use crate::skip::{Skip, is_still_read, noted_skips, skips_of};
use crate::sync::ledger::{Ledger, Record};
use crate::sync::reading::{FileToRead, Reading, in_rounds};

/// Chunks that are written together, once whole files come to as many.
const BATCH: usize = 512;
/// Chunks of a file that are looked up together.
const GROUP: usize = 500;
/// The chunks of a file, at most, that are written in one transaction. Only JSON Lines have more.
pub const LONGEST_QUEUE: usize = 10_000;
/// Reasons that may depend on other files: a file with one of them is read again each time.
const OF_OTHERS: [&str; 3] = ["path_taken", "bad_line", "refused"];

/// A file that a run found.
#[derive(Debug, Clone)]
pub struct FoundFile {
    /// The path of its chunks.
    pub path: String,
    /// The absolute path of the file.
    pub file: String,
    /// The signature of the file when it was found.
    pub signature: Signature,
    /// Whether the caller named the file itself.
    pub is_named: bool,
}

impl FoundFile {
    fn facts(&self) -> Value {
        json!({"path": self.path, "named": self.is_named})
    }

    fn is_stream(&self) -> bool {
        let name = self.path.to_lowercase();
        JSONL_SUFFIXES.iter().any(|suffix| name.ends_with(suffix))
    }

    /// Whether a record is about the file under this path.
    fn is_as_in(&self, record: &Record) -> bool {
        serde_json::from_str(&record.facts).is_ok_and(|facts: Value| facts == self.facts())
    }
}

/// The counts of a run, in chunks unless stated otherwise.
#[derive(Debug, Clone, Default)]
pub struct Report {
    /// Files that were read, now or before.
    pub files: usize,
    /// Files that are gone, with all their chunks.
    pub removed_files: usize,
    /// Chunks that were not there before.
    pub added: usize,
    /// Chunks that were there with other content.
    pub changed: usize,
    /// Chunks that were there as they are.
    pub unchanged: usize,
    /// Chunks that no file holds any more.
    pub removed: usize,
    /// The skipped parts, each with the number of its file.
    skips: Vec<(usize, Skip)>,
}

impl Report {
    /// Return the skipped parts, in the order of the files.
    pub fn skips(&self) -> Vec<&Skip> {
        let mut skips: Vec<&(usize, Skip)> = self.skips.iter().collect();
        skips.sort_by_key(|(number, _)| *number);
        skips.into_iter().map(|(_, skip)| skip).collect()
    }
}

/// A run over files into an index. `ledger` is that of the index, prepared for a sync.
pub struct FilesRun<'a> {
    index: &'a Index,
    ledger: &'a Ledger,
    report: &'a mut Report,
    /// The most chunks of a file that wait to be written.
    longest_queue: usize,
    /// The ids of chunks that this run has read.
    claimed: HashSet<String>,
    queue: Queue,
}

/// Chunks and records to write.
#[derive(Default)]
struct Queue {
    read: Vec<(usize, Row, Vec<Chunk>)>,
    removed: Vec<String>,
    size: usize,
}

/// A read file, its number, and its chunks.
struct NumberedFile {
    number: usize,
    row: Row,
    content: Content,
}

enum Content {
    /// The system refused it.
    Unreadable(Unreadable),
    /// The content is unchanged since the last read.
    Same,
    /// The chunks of the file, and the error that ends them.
    Chunks(Vec<std::result::Result<LineResult, Unreadable>>),
    /// JSON Lines, which may be larger than memory.
    Stream,
}

impl<'a> FilesRun<'a> {
    /// Begin a run, whose report is right even if it ends with an error.
    pub fn new(
        index: &'a Index,
        ledger: &'a Ledger,
        report: &'a mut Report,
        longest_queue: usize,
    ) -> Self {
        Self {
            index,
            ledger,
            report,
            longest_queue,
            claimed: HashSet::new(),
            queue: Queue::default(),
        }
    }

    /// Read changed files, write the differences, and drop files that are gone.
    ///
    /// `progress(done, total)` is called after each file. Transactions committed before an error
    /// stay.
    pub fn run(
        &mut self,
        found: &[FoundFile],
        gone: &[String],
        mut progress: impl FnMut(usize, usize) -> Result<()>,
    ) -> Result<()> {
        let (mut wanted, mut done) = (Vec::new(), 0);
        for (number, file) in found.iter().enumerate() {
            let record = self.ledger.record(&file.file);
            let is_read = self.ledger.is_read(&file.file, file.signature);
            match record.filter(|record| is_read && file.is_as_in(record)) {
                Some(record) => {
                    self.note_unchanged(number, record, record.noted_skips()?);
                    done += 1;
                    progress(done, found.len())?;
                }
                None => wanted.push(number),
            }
        }
        let numbers: HashMap<&str, usize> = (wanted.iter())
            .map(|number| (&*found[*number].file, *number))
            .collect();
        let to_read: Vec<FileToRead> = (wanted.iter())
            .map(|number| &found[*number])
            .map(|file| FileToRead {
                path: file.file.clone(),
                place: PathBuf::from(&file.file),
                signature: file.signature,
                is_stream: file.is_stream(),
            })
            .collect();
        let ledger = self.ledger;
        let make = |reading: Reading| {
            let number = numbers.get(&*reading.path).copied()?;
            Some(made(number, &found[number], reading, ledger))
        };
        // A file that went meanwhile is not made.
        let before = done;
        in_rounds(&to_read, make, |round, read| {
            let missing = before + read - done;
            let gone_meanwhile = missing.saturating_sub(round.len());
            for made in round.into_iter().flatten() {
                let file = &found[made.number];
                self.take(file, made)?;
                done += 1;
                progress(done, found.len())?;
            }
            done += gone_meanwhile;
            if gone_meanwhile > 0 {
                progress(done, found.len())?;
            }
            Ok(())
        })?;
        self.flush()?;
        self.drop_gone(gone)
    }

    fn take(&mut self, file: &FoundFile, made: NumberedFile) -> Result<()> {
        let NumberedFile {
            number,
            row,
            content,
        } = made;
        let before = self.ledger.record(&file.file);
        match (content, before) {
            (Content::Unreadable(unreadable), _) => {
                self.keep(number, &row, vec![unreadable.skip(&file.path)]);
            }
            (Content::Same, Some(before)) => {
                let skips = before.noted_skips()?;
                self.note_unchanged(number, before, skips.clone());
                let row = if has_reason_in_others(&skips) {
                    unread(&row)
                } else {
                    row
                };
                let row = Row {
                    skips: before.skips.to_string(),
                    ..row
                };
                self.put(number, row, Vec::new(), Vec::new());
            }
            (Content::Chunks(results), before) => {
                self.read(number, file, &row, before, results.into_iter())?;
            }
            (Content::Same | Content::Stream, before) => {
                let source = SourceFile {
                    path: &file.path,
                    file: &file.file,
                };
                match read_chunks(&source, None) {
                    Ok(results) => self.read(number, file, &row, before, results)?,
                    Err(unreadable) => {
                        self.keep(number, &row, vec![unreadable.skip(&file.path)]);
                    }
                }
            }
        }
        if self.queue.size >= BATCH {
            self.flush()?;
        }
        Ok(())
    }

    /// Queue the chunks of a file, and report its skipped parts.
    fn read(
        &mut self,
        number: usize,
        file: &FoundFile,
        row: &Row,
        before: Option<&Record>,
        mut results: impl Iterator<Item = std::result::Result<LineResult, Unreadable>>,
    ) -> Result<()> {
        let (mut skips, mut seen, mut chunks) = (Vec::new(), HashSet::new(), Vec::new());
        let mut is_empty = false;
        loop {
            let (group, ended) = next_group(&mut results, &mut skips);
            let is_last = group.len() < GROUP || ended.is_some();
            seen.extend(group.iter().map(|chunk| chunk.id.clone()));
            match self.own(group, file, &mut skips)? {
                Ok(own) => chunks.extend(own),
                Err(unreadable) => {
                    skips.push(unreadable.skip(&file.path));
                    self.keep(number, row, skips);
                    return Ok(());
                }
            }
            if let Some(unreadable) = ended {
                is_empty = unreadable.code == "empty";
                skips.push(unreadable.skip(&file.path));
                if !is_empty {
                    self.keep(number, row, skips);
                    return Ok(());
                }
            }
            if chunks.len() >= self.longest_queue {
                // Unread until its last part is written.
                self.put(number, unread(row), std::mem::take(&mut chunks), Vec::new());
                self.flush()?;
            }
            if is_last {
                break;
            }
        }
        let is_whole = before.is_some() && skips.iter().all(|skip| skip.code != "bad_line");
        let held = if is_whole {
            self.index.source_chunks(&file.file)?
        } else {
            Vec::new()
        };
        let gone = held.into_iter().filter(|id| !seen.contains(id)).collect();
        self.report.files += usize::from(!is_empty);
        let row = noted(row, &skips);
        self.report_skips(number, skips);
        self.put(number, row, chunks, gone);
        Ok(())
    }

    /// Report a file that cannot be read; its chunks stay as they are.
    fn keep(&mut self, number: usize, row: &Row, skips: Vec<Skip>) {
        let row = noted(row, &skips);
        self.report_skips(number, skips);
        self.put(number, row, Vec::new(), Vec::new());
    }

    /// Report an unchanged file.
    fn note_unchanged(&mut self, number: usize, record: &Record, skips: Vec<Skip>) {
        if is_still_read(&skips) {
            self.report.files += 1;
            let chunks = usize::try_from(record.chunks).unwrap_or(0);
            self.report.unchanged += chunks;
        }
        self.report_skips(number, skips);
    }

    fn report_skips(&mut self, number: usize, skips: Vec<Skip>) {
        let numbered = skips.into_iter().map(|skip| (number, skip));
        self.report.skips.extend(numbered);
    }

    /// The chunks whose ids are free for this file; others are left out. The error is for a path that
    /// belongs to another file.
    fn own(
        &mut self,
        group: Vec<Chunk>,
        file: &FoundFile,
        skips: &mut Vec<Skip>,
    ) -> Result<std::result::Result<Vec<Chunk>, Unreadable>> {
        let ids: Vec<&str> = group.iter().map(|chunk| &*chunk.id).collect();
        let owners: HashMap<String, Option<String>> =
            self.index.source_files(&ids)?.into_iter().collect();
        let mut own = Vec::with_capacity(group.len());
        for chunk in group {
            let skip = |reason: String| Skip {
                line: line_of(&chunk),
                ..Skip::whole(file.path.clone(), "bad_line", reason)
            };
            let id = &chunk.id;
            if self.claimed.contains(id) {
                let reason = format!("the id \"{id}\" is used twice; make it unique");
                skips.push(skip(reason));
                continue;
            }
            if let Some(owner) = owners.get(id)
                && !may_take(owner.as_deref(), &file.file)
            {
                let owner = owner.as_deref().filter(|owner| !owner.is_empty());
                if *id == format!("{}#{}", file.path, chunk.ordinal) {
                    let reason = format!(
                        "the index holds {} from {} already; name this one in full: {}",
                        file.path,
                        owner.unwrap_or("elsewhere"),
                        file.file
                    );
                    return Ok(Err(Unreadable::new("path_taken", reason)));
                }
                let owner = owner.unwrap_or("a chunk not made from files");
                let reason = format!("the id \"{id}\" belongs to {owner}");
                skips.push(skip(reason));
                continue;
            }
            self.claimed.insert(id.clone());
            own.push(chunk);
        }
        Ok(Ok(own))
    }

    fn put(&mut self, number: usize, row: Row, chunks: Vec<Chunk>, removed: Vec<String>) {
        self.queue.size += chunks.len() + removed.len() + 1;
        self.queue.removed.extend(removed);
        self.queue.read.push((number, row, chunks));
    }

    /// Write the queue. A chunk that the index refuses, such as for its vector, is left out.
    fn flush(&mut self) -> Result<()> {
        let Queue {
            read, mut removed, ..
        } = std::mem::take(&mut self.queue);
        removed.retain(|id| !self.claimed.contains(id));
        let sync = FileSync {
            read: (read.iter())
                .map(|(_, row, chunks)| (row.clone(), chunks.iter().collect()))
                .collect(),
            removed: removed.clone(),
            ..FileSync::default()
        };
        match self.write(&sync) {
            Err(error) if is_refusal(&error) => {}
            done => return done,
        }
        for (number, row, chunks) in read {
            let chunks: Vec<&Chunk> = chunks.iter().collect();
            let refused = self.write_parts(&unread(&row), &chunks)?;
            let row = if refused.is_empty() {
                row
            } else {
                let skips = [skips_of(&row.skips).unwrap_or_default(), refused.clone()].concat();
                Row {
                    skips: noted_skips(&skips),
                    ..unread(&row)
                }
            };
            self.report_skips(number, refused);
            self.write(&of_file(row, Vec::new()))?;
        }
        self.write(&FileSync {
            removed,
            ..FileSync::default()
        })
    }

    /// Write chunks of a file that remains unread; returns those that the index refuses.
    fn write_parts(&mut self, row: &Row, chunks: &[&Chunk]) -> Result<Vec<Skip>> {
        if chunks.is_empty() {
            return Ok(Vec::new());
        }
        match self.write(&of_file(row.clone(), chunks.to_vec())) {
            Err(error) if is_refusal(&error) => {
                if let [chunk] = chunks {
                    let skip = Skip::whole(chunk.path.clone(), "refused", error.message());
                    return Ok(vec![Skip {
                        line: line_of(chunk),
                        ..skip
                    }]);
                }
                let (left, right) = chunks.split_at(chunks.len() / 2);
                let mut refused = self.write_parts(row, left)?;
                refused.extend(self.write_parts(row, right)?);
                Ok(refused)
            }
            done => done.map(|()| Vec::new()),
        }
    }

    fn write(&mut self, sync: &FileSync<'_>) -> Result<()> {
        if sync.read.is_empty() && sync.removed.is_empty() && sync.gone.is_empty() {
            return Ok(());
        }
        let synced = self.index.sync(sync)?;
        self.report.added += synced.added;
        self.report.changed += synced.changed;
        self.report.unchanged += synced.unchanged;
        self.report.removed += synced.removed;
        Ok(())
    }

    /// Delete the chunks of files that are gone, and forget these.
    fn drop_gone(&mut self, gone: &[String]) -> Result<()> {
        let mut removed = 0;
        for path in gone {
            removed += usize::from(!self.index.source_chunks(path)?.is_empty());
        }
        self.report.removed_files += removed;
        self.write(&FileSync {
            gone: gone.to_vec(),
            ..FileSync::default()
        })
    }
}

/// Return the chunks and the record of a file that was read.
fn made(number: usize, file: &FoundFile, reading: Reading, ledger: &Ledger) -> NumberedFile {
    let row = Row {
        path: file.file.clone(),
        signature: reading.signature.to_string(),
        settled: reading.settled,
        digest: reading.digest.clone(),
        facts: file.facts().to_string(),
        ..Row::default()
    };
    let before = ledger.record(&file.file);
    let is_same = |before: &Record| {
        !reading.digest.is_empty() && *before.digest == *reading.digest && file.is_as_in(before)
    };
    let content = match reading.data {
        Err(unreadable) => Content::Unreadable(unreadable),
        Ok(_) if before.is_some_and(is_same) => Content::Same,
        Ok(_) if file.is_stream() => Content::Stream,
        Ok(data) => {
            let source = SourceFile {
                path: &file.path,
                file: &file.file,
            };
            match read_chunks(&source, Some(&data)) {
                Ok(results) => Content::Chunks(results.collect()),
                Err(unreadable) => Content::Chunks(vec![Err(unreadable)]),
            }
        }
    };
    NumberedFile {
        number,
        row,
        content,
    }
}

/// Return the next chunks of a file, and the error that ends them. Skips between them are
/// collected.
fn next_group(
    results: &mut impl Iterator<Item = std::result::Result<LineResult, Unreadable>>,
    skips: &mut Vec<Skip>,
) -> (Vec<Chunk>, Option<Unreadable>) {
    let mut group = Vec::new();
    while group.len() < GROUP {
        match results.next() {
            None => break,
            Some(Err(unreadable)) => return (group, Some(unreadable)),
            Some(Ok(Ok(chunk))) => group.push(chunk),
            Some(Ok(Err(skip))) => skips.push(skip),
        }
    }
    (group, None)
}

/// Return the row of a file with its skipped parts.
fn noted(row: &Row, skips: &[Skip]) -> Row {
    let row = if has_reason_in_others(skips) {
        unread(row)
    } else {
        row.clone()
    };
    Row {
        skips: noted_skips(skips),
        ..row
    }
}

fn has_reason_in_others(skips: &[Skip]) -> bool {
    skips
        .iter()
        .any(|skip| OF_OTHERS.contains(&skip.code.as_str()))
}

/// The row of a file that is to be read again.
fn unread(row: &Row) -> Row {
    Row {
        path: row.path.clone(),
        settled: true,
        facts: row.facts.clone(),
        ..Row::default()
    }
}

fn of_file(row: Row, chunks: Vec<&Chunk>) -> FileSync<'_> {
    FileSync {
        read: vec![(row, chunks)],
        ..FileSync::default()
    }
}

fn is_refusal(error: &Error) -> bool {
    error.code().kind() == ErrorKind::InvalidInput
}

fn line_of(chunk: &Chunk) -> Option<u64> {
    chunk.metadata.get("line_start").and_then(Value::as_u64)
}

/// Whether an id of one file may pass to another: it is the same one, or gone.
fn may_take(owner: Option<&str>, file: &str) -> bool {
    let owner = match owner {
        None | Some("") => return false,
        Some(owner) if owner == file => return true,
        Some(owner) => Path::new(owner),
    };
    if let (Ok(owner), Ok(file)) = (fs::canonicalize(owner), fs::canonicalize(file)) {
        return is_same_file(&owner, &file);
    }
    let status = fs::symlink_metadata(owner);
    status.is_err_and(|error| error.kind() == io::ErrorKind::NotFound)
}

#[cfg(unix)]
fn is_same_file(one: &Path, other: &Path) -> bool {
    use std::os::unix::fs::MetadataExt;

    match (fs::metadata(one), fs::metadata(other)) {
        (Ok(one), Ok(other)) => (one.dev(), one.ino()) == (other.dev(), other.ino()),
        _ => false,
    }
}

#[cfg(not(unix))]
fn is_same_file(one: &Path, other: &Path) -> bool {
    one == other
}
