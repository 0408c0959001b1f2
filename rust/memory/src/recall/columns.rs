//! File columns: the fields for selecting and scoring files in a recall, cached in memory (spec/memory.md,
//! "Recall").

use std::collections::{BTreeSet, HashMap, HashSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use hedgerow_engine::calendar::{NamedPeriods, Time};
use hedgerow_engine::chunks::RowSet;
use hedgerow_engine::index::session::Session;
use hedgerow_engine::sources::SourceFile;
use hedgerow_engine::{Error, ErrorCode, Result};
use serde_json::{Map, Value};

use crate::facts::file::{FileFacts, Kind};
use crate::facts::marks::{Marks, Validity, Why, position_of, titles_of};
use crate::facts::names::Names;
use crate::facts::scope::{Scope, Visibility};
use crate::format::tags::is_within;
use crate::skip::{is_still_read, skips_of};
use crate::times::StatedTime;

/// The kinds of the files that are read, each once.
type Kinds = HashSet<Arc<Kind>>;

/// Share a kind with the files of the same one.
fn share(kind: &mut Arc<Kind>, kinds: &mut Kinds) {
    if let Some(known) = kinds.get(kind) {
        *kind = Arc::clone(known);
    } else {
        kinds.insert(Arc::clone(kind));
    }
}

/// The columns of one file. A filter reads those of all files in their order, and the facts of few.
#[derive(Debug, Clone)]
struct FileColumn {
    facts: Arc<FileFacts>,
    /// Ascending.
    rows: Arc<[i64]>,
    kind: Arc<Kind>,
    time: Option<StatedTime>,
    labels: Labels,
    is_marked: bool,
}

impl FileColumn {
    fn new(facts: FileFacts, rows: Arc<[i64]>) -> Self {
        Self {
            kind: Arc::clone(&facts.kind),
            time: facts.time,
            labels: facts.tags.iter().chain(&facts.writers).collect(),
            is_marked: facts.marks.is_some(),
            facts: Arc::new(facts),
            rows,
        }
    }
}

/// A few bits of each of some tags and writers, and of those that they are nested in. A file without the bits of a
/// wanted one does not have it.
#[derive(Debug, Clone, Copy, Default)]
struct Labels(u64);

impl Labels {
    /// Whether the files with these may have a label.
    fn may_have(self, wanted: &str) -> bool {
        let bits = Self::bits(wanted.as_bytes());
        self.0 & bits == bits
    }

    /// Two of the bits, by FNV-1a.
    fn bits(label: &[u8]) -> u64 {
        let hash = label.iter().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
            (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3)
        });
        1 << (hash >> 58) | 1 << (hash >> 52 & 63)
    }
}

impl<'a> FromIterator<&'a String> for Labels {
    fn from_iter<T: IntoIterator<Item = &'a String>>(labels: T) -> Self {
        let within = |label: &'a String| {
            let outer = label.match_indices('/').map(|(end, _)| &label[..end]);
            outer.chain([label.as_str()])
        };
        let labels = labels.into_iter().flat_map(within);
        Self(labels.fold(0, |all, label| all | Self::bits(label.as_bytes())))
    }
}

impl AsRef<FileFacts> for FileColumn {
    fn as_ref(&self) -> &FileFacts {
        &self.facts
    }
}

/// The columns of the visible files of an index, as of one change of its ledger.
#[derive(Debug, Default)]
pub struct FileColumns {
    generation: i64,
    /// The rows of the visible files; None if all files are visible.
    rows: Option<Arc<RowSet>>,
    /// Whether Latin words of a file have stems.
    is_inflected: bool,
    /// In the order of paths.
    files: Vec<FileColumn>,
    /// The file of each row, in the order of rows.
    file_of: Vec<(i64, u32)>,
    marks: Marks,
    /// The files whose marks can matter.
    concerned: Vec<usize>,
}

/// A bound of the times of memories.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Bound {
    /// The moment in UTC.
    pub moment: i64,
    /// The moment as a local time in the zone of dates without a time of day.
    pub local: i64,
}

/// Filters of the memories of a recall.
#[derive(Debug, Clone, Default)]
pub struct RecallFilter {
    /// The words of types, of which a memory has one; empty for any.
    pub types: Vec<String>,
    /// The tags, all of which a memory has, or tags nested in them.
    pub tags: Vec<String>,
    /// The writers, one of which has written a memory, or one nested in them; empty for any.
    pub writers: Vec<String>,
    /// From when on memories are.
    pub after: Option<Bound>,
    /// Before when memories are.
    pub before: Option<Bound>,
    /// When memories have to hold, in microseconds since 1970.
    pub at: i64,
    /// Whether a memory holds from its own time on only.
    pub was_known: bool,
    /// Whether memories that do not hold are found too.
    pub include_superseded: bool,
}

/// The reason that a matching file is left out of the results.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum LeftOut {
    /// The memory does not hold.
    Invalid(Why),
    /// The type, the tags, the writers or the time of the memory do not pass the filters.
    Filtered,
}

impl LeftOut {
    /// All reasons, in the order in which they are shown.
    pub const ALL: [Self; 5] = [
        Self::Invalid(Why::Retracted),
        Self::Invalid(Why::Superseded),
        Self::Invalid(Why::Expired),
        Self::Invalid(Why::NotYetValid),
        Self::Filtered,
    ];

    /// The word of the specification.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Invalid(why) => why.as_str(),
            Self::Filtered => "filtered",
        }
    }
}

/// The rows that a recall may find, and the visible files that it leaves out.
#[derive(Debug)]
pub struct SelectedRows {
    /// None if all rows may be found.
    pub rows: Option<Arc<RowSet>>,
    /// Why each file is left out, by its number; None if it passes.
    pub left_out: Vec<Option<LeftOut>>,
    /// Whether any file is left out.
    pub leaves_out: bool,
}

impl FileColumns {
    /// Return the columns of the visible files in the state that a session reads, derived from an earlier
    /// version if one is cached.
    pub fn current(
        cache: &ColumnCache,
        session: &Session<'_>,
        visible: &Visibility,
    ) -> Result<Arc<Self>> {
        let whole = Self::whole(cache, session)?;
        if visible.is_whole() {
            return Ok(whole);
        }
        Ok(cache.part(&whole, visible))
    }

    fn whole(cache: &ColumnCache, session: &Session<'_>) -> Result<Arc<Self>> {
        let known = cache.newest();
        let generation = session.sources_generation()?;
        if let Some(known) = &known
            && known.generation == generation
        {
            return Ok(Arc::clone(known));
        }
        let known = known.filter(|known| known.generation < generation);
        let columns = Arc::new(Self::after(known.as_deref(), session)?);
        cache.put(&columns);
        Ok(columns)
    }

    fn after(known: Option<&Self>, session: &Session<'_>) -> Result<Self> {
        let since = known.map_or(-1, |known| known.generation);
        let news = session.sources_since(since)?;
        let mut rows: HashMap<String, Vec<i64>> = HashMap::new();
        for (path, row) in session.source_rows_since(since)? {
            rows.entry(path).or_default().push(row);
        }
        let mut changed = Vec::with_capacity(news.changed.len());
        let mut paths: Vec<String> = Vec::with_capacity(news.changed.len());
        let mut kinds = Kinds::new();
        for source in news.changed {
            let rows = rows.remove(&source.path).unwrap_or_default().into();
            let mut facts = facts_of(&source)?;
            share(&mut facts.kind, &mut kinds);
            paths.push(source.path);
            changed.push(FileColumn::new(facts, rows));
        }
        let mut files = merged(known.map_or(&[], |known| &known.files), changed);
        if files.len() != news.files {
            let left = session.source_paths()?;
            let is_gone = |file: &mut FileColumn| left.binary_search(&file.facts.path).is_err();
            let gone = files.extract_if(.., is_gone);
            paths.extend(gone.map(|file| file.facts.path.clone()));
        }
        let names = known.and_then(|known| known.names_after(&files, &paths));
        Ok(Self::new(news.generation, files, names))
    }

    /// The columns of the visible files, with marks and names as if there were no others.
    fn within(&self, visible: &Visibility) -> Self {
        let files = self.files.iter();
        let files = files.filter(|file| visible.sees(&file.facts.scope));
        let mut part = Self::new(self.generation, files.cloned().collect(), None);
        part.rows = Some(Arc::new(part.rows_where(|_| true)));
        part
    }

    /// The names of later files, of which those of some paths are others; None if no mark needed the names, or
    /// if names of all files take less time.
    fn names_after(&self, files: &[FileColumn], changed: &[String]) -> Option<Arc<Names>> {
        let names = self.marks.names()?;
        let titles = |files, path: &str| Some(titles_of(&files[position_of(files, path)?]));
        let is_renamed = |path: &&str| titles(&*self.files, path) != titles(files, path);
        let changed = changed.iter().map(String::as_str);
        let renamed: Vec<&str> = changed.filter(is_renamed).collect();
        if renamed.is_empty() {
            return Some(Arc::clone(names));
        }
        let after = names.after(&renamed, |path| titles(files, path));
        after.map(Arc::new)
    }

    fn new(generation: i64, files: Vec<FileColumn>, names: Option<Arc<Names>>) -> Self {
        let mut file_of: Vec<(i64, u32)> = Vec::new();
        for (file, number) in files.iter().zip(0..) {
            file_of.extend(file.rows.iter().map(|row| (*row, number)));
        }
        // Stable, for it takes linear time for rows in about the order of the files.
        file_of.sort_by_key(|(row, _)| *row);
        let marked = (0..).zip(&files).filter(|(_, file)| file.is_marked);
        let marks = Marks::new(&files, marked.map(|(number, _)| number), names);
        Self {
            generation,
            rows: None,
            is_inflected: files.iter().any(|file| file.facts.is_inflected),
            concerned: marks.concerned().collect(),
            files,
            file_of,
            marks,
        }
    }

    /// The columns of files without rows, to ask what holds.
    pub fn of_files(mut files: Vec<FileFacts>) -> Self {
        files.sort_by(|one, other| one.path.cmp(&other.path));
        let files = files.into_iter();
        Self::new(
            0,
            files
                .map(|facts| FileColumn::new(facts, Arc::default()))
                .collect(),
            None,
        )
    }

    /// The marks of the files.
    pub fn marks(&self) -> &Marks {
        &self.marks
    }

    /// Whether a memory holds at a time, in microseconds since 1970. With `was_known`, a memory without
    /// `valid_from` holds from its own time on.
    pub fn validity_at(&self, number: u32, time: i64, was_known: bool) -> Validity {
        self.marks.at(&self.files, number as usize, time, was_known)
    }

    /// Whether a memory holds at a time. Quicker than `validity_at`.
    pub fn holds(&self, number: u32, time: i64) -> bool {
        let why = self
            .marks
            .why_not(&self.files, number as usize, time, false);
        why.is_none()
    }

    /// Whether a file holds at the time of a filter.
    pub(crate) fn is_shown(&self, number: u32, filter: &RecallFilter) -> bool {
        let (at, was_known) = (filter.at, filter.was_known);
        let why = self
            .marks
            .why_not(&self.files, number as usize, at, was_known);
        why.is_none()
    }

    /// The memories that some files supersede, and others that are shown too, each with all of these; in the order of
    /// the files, each once.
    pub(crate) fn divided(&self, files: &[&str], filter: &RecallFilter) -> Vec<(&str, Vec<&str>)> {
        let mut known = BTreeSet::new();
        let numbers = files.iter().filter_map(|file| self.number_of(file));
        let olds = numbers.flat_map(|number| self.marks.divided_by(number as usize));
        let olds = olds.filter(|old| known.insert(**old));
        let found = olds.filter_map(|old| {
            let facts = &self.files[*old].facts;
            let mut news = self.marks.superseding(*old);
            news.retain(|new| {
                self.number_of(new)
                    .is_some_and(|new| self.is_shown(new, filter))
            });
            (news.len() > 1).then_some((facts.path.as_str(), news))
        });
        found.collect()
    }

    /// A view of the session in which searches find the visible files, as if there were no others. None if all
    /// files are visible.
    pub fn session<'s>(&self, session: &Session<'s>) -> Result<Option<Session<'s>>> {
        let part = |rows: &Arc<RowSet>| session.part(Arc::clone(rows), self.is_inflected);
        self.rows.as_ref().map(part).transpose()
    }

    /// The paths of the files, in their order.
    pub fn paths(&self) -> impl Iterator<Item = &str> {
        self.files.iter().map(|file| &*file.facts.path)
    }

    /// The paths of the files that pass a filter by types, tags, writers and time.
    pub fn paths_passing(&self, filter: &RecallFilter) -> Vec<&str> {
        let files = self.files.iter().filter(|file| filter.passes(file));
        files.map(|file| &*file.facts.path).collect()
    }

    /// The facts of a file by its number.
    pub fn file(&self, number: u32) -> Option<&FileFacts> {
        Some(&*self.files.get(number as usize)?.facts)
    }

    /// The number of the file of a path.
    pub fn number_of(&self, path: &str) -> Option<u32> {
        u32::try_from(position_of(&self.files, path)?).ok()
    }

    /// The number of the file of a row.
    pub fn file_of(&self, row: i64) -> Option<u32> {
        // Rows mostly have no gaps: then one is where its number says, and otherwise before that.
        let (first, _) = self.file_of.first()?;
        let guess = usize::try_from(row.checked_sub(*first)?).ok()?;
        let last = guess.min(self.file_of.len() - 1);
        if self.file_of[last].0 == row {
            return Some(self.file_of[last].1);
        }
        let before = &self.file_of[..last];
        let at = before.binary_search_by_key(&row, |(row, _)| *row);
        at.ok().map(|at| before[at].1)
    }

    /// The rows of a file by its number, ascending.
    pub fn rows_of(&self, number: u32) -> &[i64] {
        self.files
            .get(number as usize)
            .map_or(&[], |file| &*file.rows)
    }

    /// The buckets of all files, each once.
    pub fn buckets(&self) -> Vec<&str> {
        let kinds = self.kinds().into_iter();
        let mut buckets: Vec<&str> = kinds.map(|kind| &*kind.bucket).collect();
        buckets.sort_unstable();
        buckets.dedup();
        buckets
    }

    /// Select the rows of the files that pass a filter.
    pub fn select(&self, filter: &RecallFilter) -> SelectedRows {
        let mut left_out: Vec<Option<LeftOut>> = vec![None; self.files.len()];
        if filter.narrows() {
            for (number, file) in self.files.iter().enumerate() {
                if !filter.passes(file) {
                    left_out[number] = Some(LeftOut::Filtered);
                }
            }
        }
        if !filter.include_superseded {
            for number in self.concerned.iter().copied() {
                if left_out[number].is_none() {
                    let why = self
                        .marks
                        .why_not(&self.files, number, filter.at, filter.was_known);
                    left_out[number] = why.map(LeftOut::Invalid);
                }
            }
            if filter.was_known {
                self.leave_out_unknown(filter.at, &mut left_out);
            }
        }
        let leaves_out = left_out.iter().any(Option::is_some);
        let rows = if leaves_out {
            Some(Arc::new(
                self.rows_where(|number| left_out[number].is_none()),
            ))
        } else {
            self.rows.clone()
        };
        SelectedRows {
            rows,
            left_out,
            leaves_out,
        }
    }

    /// Leave out the files that their own time begins after `at`; those with marks are decided already.
    fn leave_out_unknown(&self, at: i64, left_out: &mut [Option<LeftOut>]) {
        let mut concerned = self.concerned.iter().copied().peekable();
        for (number, file) in self.files.iter().enumerate() {
            if concerned.next_if_eq(&number).is_some() {
                continue;
            }
            let is_later = file.time.is_some_and(|stated| stated.time.micros > at);
            if is_later && left_out[number].is_none() {
                left_out[number] = Some(LeftOut::Invalid(Why::NotYetValid));
            }
        }
    }

    /// The first rows of at most `limit` selected files from some periods, newest first. Days are those of a zone some
    /// seconds ahead of UTC.
    pub(crate) fn newest(
        &self,
        selected: &SelectedRows,
        named: &NamedPeriods,
        offset: i32,
        limit: usize,
    ) -> Vec<i64> {
        let is_selected = |row: i64| match &selected.rows {
            Some(rows) => rows.contains(row),
            None => true,
        };
        let files = self.files.iter().filter_map(|file| {
            let row = *file.rows.first()?;
            let time = file.time.filter(|time| named.contain(time.day(offset)))?;
            is_selected(row).then_some((time.time.micros, file.facts.path.as_str(), row))
        });
        let mut files: Vec<_> = files.collect();
        files.sort_by(|left, right| right.0.cmp(&left.0).then_with(|| left.1.cmp(right.1)));
        files
            .into_iter()
            .take(limit)
            .map(|(_, _, row)| row)
            .collect()
    }

    /// The words of the types of the files, each once.
    pub fn types(&self) -> BTreeSet<&str> {
        let kinds = self.kinds();
        let types = kinds.into_iter().flat_map(|kind| &kind.types);
        types.map(String::as_str).collect()
    }

    /// The kinds of the files. Files of one kind are often in a row.
    fn kinds(&self) -> HashSet<&Kind> {
        let mut last: Option<&Arc<Kind>> = None;
        let mut kinds = HashSet::new();
        for file in &self.files {
            if !last.is_some_and(|last| Arc::ptr_eq(last, &file.kind)) {
                kinds.insert(&*file.kind);
                last = Some(&file.kind);
            }
        }
        kinds
    }

    /// Return the rows of the files whose numbers satisfy a condition.
    pub fn rows_where(&self, condition: impl Fn(usize) -> bool) -> RowSet {
        let kept = self
            .file_of
            .iter()
            .filter(|(_, number)| condition(*number as usize));
        kept.map(|(row, _)| *row).collect()
    }
}

impl RecallFilter {
    /// Whether it asks for types, tags, writers or times.
    fn narrows(&self) -> bool {
        !self.types.is_empty()
            || !self.tags.is_empty()
            || !self.writers.is_empty()
            || self.after.is_some()
            || self.before.is_some()
    }

    fn passes(&self, file: &FileColumn) -> bool {
        let is_of_type = |word: &String| self.types.contains(word);
        if !self.types.is_empty() && !file.kind.types.iter().any(is_of_type) {
            return false;
        }
        let may_have = |wanted: &String| file.labels.may_have(wanted);
        if !self.is_in_time(file.time)
            || !self.tags.iter().all(may_have)
            || !(self.writers.is_empty() || self.writers.iter().any(may_have))
        {
            return false;
        }
        let tags = || file.facts.tags.iter();
        let has = |wanted: &String| tags().any(|tag| is_within(tag, wanted));
        let is_by = self.writers.is_empty() || file.facts.is_by(&self.writers);
        is_by && self.tags.iter().all(has)
    }

    fn is_in_time(&self, time: Option<StatedTime>) -> bool {
        if self.after.is_none() && self.before.is_none() {
            return true;
        }
        let Some(StatedTime {
            time: Time { micros, .. },
            is_day,
        }) = time
        else {
            return false;
        };
        let at = |bound: Bound| if is_day { bound.local } else { bound.moment };
        self.after.is_none_or(|bound| micros >= at(bound))
            && self.before.is_none_or(|bound| micros < at(bound))
    }
}

fn facts_of(source: &SourceFile) -> Result<FileFacts> {
    if source.facts.is_empty() {
        let facts = FileFacts::new(&source.path, &Map::new());
        if skips_of(&source.skips).is_some_and(|skips| is_still_read(&skips)) {
            return Ok(facts);
        }
        // The scope of a file that cannot be read is unknown.
        return Ok(FileFacts {
            scope: Scope::unreadable(),
            ..facts
        });
    }
    let facts: Map<String, Value> = serde_json::from_str(&source.facts).map_err(|_| {
        let message = format!(
            "the index is damaged (its notes on {:?} are not JSON); rebuild it from the files",
            source.path
        );
        Error::new(ErrorCode::IndexDamaged, message)
    })?;
    Ok(FileFacts::new(&source.path, &facts))
}

/// Files in the order of their paths, with those that changed in their place.
fn merged(known: &[FileColumn], mut changed: Vec<FileColumn>) -> Vec<FileColumn> {
    let mut files = Vec::with_capacity(known.len() + changed.len());
    changed.sort_unstable_by(|left, right| left.facts.path.cmp(&right.facts.path));
    let mut rest = known;
    for new in changed {
        let at = rest.partition_point(|file| file.facts.path < new.facts.path);
        let (before, after) = rest.split_at(at);
        files.extend_from_slice(before);
        rest = match after.split_first() {
            Some((same, others)) if same.facts.path == new.facts.path => others,
            _ => after,
        };
        files.push(new);
    }
    files.extend_from_slice(rest);
    files
}

/// The most scopes whose columns are cached. More take memory, and fewer make the columns of a scope again
/// for each request of a server with this number of users.
const MOST_PARTS: usize = 64;

/// The newest columns of an index: of all files, and of the scopes that were used last.
#[derive(Debug, Default)]
pub struct ColumnCache(Mutex<CachedColumns>);

#[derive(Debug, Default)]
struct CachedColumns {
    whole: Option<Arc<FileColumns>>,
    parts: Vec<(Visibility, Arc<FileColumns>)>,
}

impl ColumnCache {
    fn cached(&self) -> MutexGuard<'_, CachedColumns> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn newest(&self) -> Option<Arc<FileColumns>> {
        self.cached().whole.clone()
    }

    fn put(&self, columns: &Arc<FileColumns>) {
        let mut cached = self.cached();
        let known = cached.whole.as_ref();
        if known.is_none_or(|known| known.generation < columns.generation) {
            cached.whole = Some(Arc::clone(columns));
        }
    }

    /// The columns of the visible files of `whole`.
    fn part(&self, whole: &FileColumns, visible: &Visibility) -> Arc<FileColumns> {
        let is_wanted = |(of, part): &(Visibility, Arc<FileColumns>)| {
            of == visible && part.generation == whole.generation
        };
        if let Some((_, part)) = self.cached().parts.iter().find(|one| is_wanted(one)) {
            return Arc::clone(part);
        }
        let part = Arc::new(whole.within(visible));
        let parts = &mut self.cached().parts;
        parts.retain(|(of, _)| of != visible);
        parts.truncate(MOST_PARTS - 1);
        parts.insert(0, (visible.clone(), Arc::clone(&part)));
        part
    }
}

#[cfg(test)]
mod properties;

#[cfg(test)]
mod tests;
