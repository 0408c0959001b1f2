//! The chunks of each path or of each value of a declared key, cached for searches that group by it.

use std::iter::successors;
use std::sync::Arc;

use rusqlite::{Connection, OptionalExtension};

use super::chunk::{COLUMNS, Chunk};
use super::metadata_index::{DeclaredKey, group, groups, own_group};
use super::read::{each_path, without_chunk};
use super::row_list::RowList;
use super::row_set::RowSet;
use crate::interrupt::CancelTicker;
use crate::storage::cache::RowVersion;
use crate::storage::generations::{self, RowRanges};
use crate::storage::row_blocks::{Cursor, RowBlocks, RowValues};

/// The field by whose values chunks are grouped.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum GroupField {
    Path,
    Key(DeclaredKey),
}

impl GroupField {
    /// The name of the group of a chunk.
    fn group(&self, chunk: &Chunk) -> rusqlite::Result<String> {
        match self {
            Self::Path => Ok(chunk.path.clone()),
            Self::Key(key) => group(&key.field, chunk),
        }
    }

    /// Call `see` with the name of each group and its rows.
    fn each_group(
        &self,
        connection: &Connection,
        mut see: impl FnMut(&str, &[i64]),
    ) -> rusqlite::Result<()> {
        let key = match self {
            Self::Path => return each_path(connection, see),
            Self::Key(key) => key,
        };
        let mut grouped = RowSet::default();
        for (name, rows) in &groups(connection, key.number)? {
            see(name, rows);
            grouped.extend(rows.iter().copied());
        }
        let mut statement = connection.prepare_cached("SELECT row, id FROM knowledge_chunks")?;
        let mut found = statement.query([])?;
        let mut pace = CancelTicker::default();
        while let Some(found) = found.next()? {
            pace.read(1)?;
            let row: i64 = found.get(0)?;
            if !grouped.contains(row) {
                see(&own_group(found.get_ref(1)?.as_str()?), &[row]);
            }
        }
        Ok(())
    }

    /// Return the name of the group of a row; None if the row was removed.
    fn group_of_row(&self, connection: &Connection, row: i64) -> rusqlite::Result<Option<String>> {
        if *self == Self::Path {
            let sql = "SELECT path FROM knowledge_chunks WHERE row = ?";
            let mut find = connection.prepare_cached(sql)?;
            return find.query_row([row], |found| found.get(0)).optional();
        }
        let sql = format!("SELECT row, {COLUMNS} FROM knowledge_chunks WHERE row = ?");
        let mut find = connection.prepare_cached(&sql)?;
        let found = find.query_row([row], Chunk::with_row).optional()?;
        found.map(|(_, chunk)| self.group(&chunk)).transpose()
    }
}

/// The paths of one generation of an index, or its groups by a key, each with a number. A group of a key
/// is called a path here too.
#[derive(Debug)]
pub(crate) struct Paths {
    field: GroupField,
    generation: i64,
    /// The number of each row's path.
    of_rows: RowBlocks<RowValues<u32>>,
    /// The paths by their numbers.
    by_number: RowBlocks<RowValues<Arc<Path>>>,
    /// The number of a path by its hash, of several paths with one hash that of the newest. The order of
    /// hashes is the order in which a sample takes paths.
    by_hash: RowBlocks<RowValues<u32>>,
    /// Numbers that were a path's and can be given to another.
    free: Arc<Vec<u32>>,
}

/// A path that chunks have.
#[derive(Debug, Clone)]
struct Path {
    text: String,
    rows: RowList,
    /// The number of an older path with the same hash.
    next: Option<u32>,
}

impl RowVersion for Paths {
    type Source = GroupField;
    const NAME: &'static str = "paths";

    fn generation(&self) -> i64 {
        self.generation
    }

    fn rows(&self) -> usize {
        self.of_rows.len()
    }

    fn load(field: &GroupField, connection: &Connection) -> rusqlite::Result<Self> {
        let (mut of_rows, mut of_paths) = (Vec::new(), Vec::new());
        field.each_group(connection, |path, rows| {
            let number = u32::try_from(of_paths.len()).unwrap_or(u32::MAX);
            of_rows.extend(rows.iter().map(|row| (*row, number)));
            let mut rows = rows.to_vec();
            rows.sort_unstable();
            of_paths.push((key(path), path.to_owned(), RowList::from(rows)));
        })?;
        let mut paths = Self {
            field: field.clone(),
            generation: generations::generation(connection)?,
            of_rows: RowBlocks::default(),
            by_number: RowBlocks::default(),
            by_hash: RowBlocks::default(),
            free: Arc::default(),
        };
        // Entries in order fill blocks, and nothing moves.
        of_rows.sort_unstable();
        for (row, number) in of_rows {
            paths.of_rows.set(row, number);
        }
        let hashes = of_paths.iter().map(|(hash, ..)| *hash);
        let mut hashes: Vec<(i64, u32)> = hashes.zip(0..).collect();
        hashes.sort_unstable();
        let mut older = vec![None; of_paths.len()];
        for (hash, number) in hashes {
            older[number as usize] = paths.by_hash.get(hash).copied();
            paths.by_hash.set(hash, number);
        }
        for (((_, text, rows), next), number) in of_paths.into_iter().zip(older).zip(0..) {
            let path = Path { text, rows, next };
            paths.by_number.set(number, Arc::new(path));
        }
        Ok(paths)
    }

    fn apply_changes(
        self: &Arc<Self>,
        field: &GroupField,
        connection: &Connection,
        generation: i64,
        changed: &RowRanges,
    ) -> rusqlite::Result<Option<Self>> {
        let mut next = Self {
            field: field.clone(),
            generation,
            of_rows: self.of_rows.clone(),
            by_number: self.by_number.clone(),
            by_hash: self.by_hash.clone(),
            free: Arc::clone(&self.free),
        };
        for row in changed.iter() {
            let path = field.group_of_row(connection, row)?;
            next.put(row, path.as_deref());
        }
        Ok(Some(next))
    }
}

impl Paths {
    /// Record the path of a row; None if the row was removed.
    fn put(&mut self, row: i64, path: Option<&str>) {
        let before = self.of_rows.get(row).copied();
        if let (Some(before), Some(path)) = (before, path)
            && self.path(before).is_some_and(|known| known.text == path)
        {
            return;
        }
        if let Some(before) = before {
            let mut is_empty = false;
            self.change(before, |path| {
                path.rows.remove(row);
                is_empty = path.rows.is_empty();
            });
            if is_empty {
                self.remove(before);
            }
        }
        let Some(path) = path else {
            return self.of_rows.remove(row, &());
        };
        let number = match self.find(path) {
            Some(number) => number,
            None => self.add(path),
        };
        self.change(number, |path| path.rows.insert(row));
        self.of_rows.set(row, number);
    }

    fn path(&self, number: u32) -> Option<&Arc<Path>> {
        self.by_number.get(number.into())
    }

    fn change(&mut self, number: u32, change: impl FnOnce(&mut Path)) {
        if let Some(mut path) = self.path(number).cloned() {
            change(Arc::make_mut(&mut path));
            self.by_number.set(number.into(), path);
        }
    }

    /// Return the number of a known path.
    fn find(&self, path: &str) -> Option<u32> {
        let of_hash = self.with_hash(self.by_hash.get(key(path)).copied());
        of_hash
            .filter(|(_, known)| known.text == path)
            .map(|(number, _)| number)
            .next()
    }

    /// The path of a number, and all older ones with the same hash: never two, but by intent.
    fn with_hash(&self, newest: Option<u32>) -> impl Iterator<Item = (u32, &Arc<Path>)> {
        let found = |number: u32| Some((number, self.path(number)?));
        successors(newest.and_then(found), move |(_, path)| {
            path.next.and_then(found)
        })
    }

    /// Add a path that is not there, without rows; its number.
    fn add(&mut self, path: &str) -> u32 {
        let number = match Arc::make_mut(&mut self.free).pop() {
            Some(number) => number,
            None => u32::try_from(self.by_number.len()).unwrap_or(u32::MAX),
        };
        let hash = key(path);
        let path = Path {
            text: path.to_owned(),
            rows: RowList::default(),
            next: self.by_hash.get(hash).copied(),
        };
        self.by_number.set(number.into(), Arc::new(path));
        self.by_hash.set(hash, number);
        number
    }

    /// Remove a path, and let another one have its number.
    fn remove(&mut self, number: u32) {
        let Some(path) = self.path(number).cloned() else {
            return;
        };
        let hash = key(&path.text);
        let newer = self.with_hash(self.by_hash.get(hash).copied());
        let newer = newer
            .filter(|(_, newer)| newer.next == Some(number))
            .map(|(newer, _)| newer)
            .next();
        match (newer, path.next) {
            (Some(newer), next) => self.change(newer, |newer| newer.next = next),
            (None, Some(next)) => self.by_hash.set(hash, next),
            (None, None) => self.by_hash.remove(hash, &()),
        }
        self.by_number.remove(number.into(), &());
        Arc::make_mut(&mut self.free).push(number);
    }

    /// The number of paths.
    pub fn len(&self) -> usize {
        self.by_number.len()
    }

    /// The number of a row's path.
    pub fn of_row(&self, row: i64) -> Option<u32> {
        self.of_rows.get(row).copied()
    }

    /// A cursor over the numbers of the paths of rows that mostly ascend.
    pub fn cursor(&self) -> PathCursor<'_> {
        PathCursor(self.of_rows.cursor())
    }

    /// The rows of a path, ascending.
    pub fn members(&self, number: u32) -> impl Iterator<Item = i64> {
        let path = self.path(number);
        path.into_iter().flat_map(|path| path.rows.iter())
    }

    /// The number of the path that a chunk has, or would have. None if no stored chunk has it.
    pub fn number(&self, chunk: &Chunk) -> rusqlite::Result<Option<i64>> {
        Ok(self.find(&self.field.group(chunk)?).map(i64::from))
    }

    /// Return the numbers of all paths in the order of their hashes, which depend only on their texts.
    pub fn by_hash(&self) -> impl Iterator<Item = u32> {
        self.by_hash.iter().flat_map(|(_, newest)| {
            let mut paths: Vec<(u32, &Arc<Path>)> = self.with_hash(Some(*newest)).collect();
            paths.sort_unstable_by_key(|(_, path)| &path.text);
            paths.into_iter().map(|(number, _)| number)
        })
    }

    /// The first `limit` of these paths in the order of their hashes; `numbers` may have repetitions. It
    /// looks at as many paths as there are numbers, or at fewer if it finds enough among the first of all.
    pub fn first_by_hash(&self, mut numbers: Vec<u32>, limit: usize) -> Vec<u32> {
        numbers.sort_unstable();
        numbers.dedup();
        // The share of all paths, in the order of hashes, that has `limit` of these.
        let looked_at = self.by_number.len().saturating_mul(limit) / numbers.len().max(1);
        if looked_at < numbers.len() {
            let is_one = |number: &u32| numbers.binary_search(number).is_ok();
            return self.by_hash().filter(is_one).take(limit).collect();
        }
        let text = |number: u32| self.path(number).map_or("", |path| &path.text);
        numbers.sort_by_cached_key(|number| (key(text(*number)), text(*number)));
        numbers.truncate(limit);
        numbers
    }
}

/// The numbers of the paths of rows, in constant time for a row that follows the last.
pub(crate) struct PathCursor<'p>(Cursor<'p, RowValues<u32>>);

impl PathCursor<'_> {
    /// Return the number of a row's path; None without a chunk of this row.
    pub fn get(&mut self, row: i64) -> Option<u32> {
        self.0.get(row).copied()
    }

    /// The number of a row's path. A row without a chunk, found by `what`, is damage.
    pub fn number(&mut self, row: i64, what: &str) -> rusqlite::Result<u32> {
        let number = self.get(row);
        number.ok_or_else(|| without_chunk(what, rusqlite::Error::QueryReturnedNoRows))
    }
}

/// Return the key of the group of a row; without grouping the row itself.
pub(crate) fn group_key(paths: Option<&Paths>, row: i64) -> Option<i64> {
    paths.map_or(Some(row), |paths| paths.of_row(row).map(i64::from))
}

/// The bits of a hash that are used. Tests use few, so that paths share them.
const HASH_BITS: u64 = if cfg!(test) { 7 } else { u64::MAX };

/// The hash of a path as a key of [`RowBlocks`], in the order of unsigned hashes.
fn key(path: &str) -> i64 {
    (hash(path) & HASH_BITS ^ (1 << 63)).cast_signed()
}

/// The hash of a path (spec/retrieval.md, "Score fusion"): FNV-1a over its bytes, then the last step of
/// `MurmurHash3`, without which paths that differ in their last letter alone would stand together.
fn hash(path: &str) -> u64 {
    let mut hash: u64 = 0xcbf2_9ce4_8422_2325;
    for byte in path.bytes() {
        hash = (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
    }
    hash = (hash ^ (hash >> 33)).wrapping_mul(0xff51_afd7_ed55_8ccd);
    hash = (hash ^ (hash >> 33)).wrapping_mul(0xc4ce_b9fe_1a85_ec53);
    hash ^ (hash >> 33)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;

    use super::*;
    use crate::chunks::{Chunk, GroupBy};
    use crate::index::Index;
    use crate::index::session::Needs;
    use crate::text::tokenizer::TokenizerKind;

    fn chunk(id: u8, path: u8) -> Chunk {
        Chunk {
            id: id.to_string(),
            path: format!("😀{path}.md"),
            content: "same".to_owned(),
            ..Chunk::default()
        }
    }

    /// The rows of each path as the file has them.
    fn stored(connection: &Connection) -> rusqlite::Result<BTreeMap<String, Vec<i64>>> {
        let mut statement =
            connection.prepare("SELECT path, row FROM knowledge_chunks ORDER BY row")?;
        let mut found = statement.query([])?;
        let mut stored: BTreeMap<String, Vec<i64>> = BTreeMap::new();
        while let Some(found) = found.next()? {
            stored.entry(found.get(0)?).or_default().push(found.get(1)?);
        }
        Ok(stored)
    }

    fn texts_by_hash(paths: &Paths) -> Vec<&str> {
        let texts = paths.by_hash().filter_map(|number| paths.path(number));
        texts.map(|path| path.text.as_str()).collect()
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(32))]
        #[test]
        fn they_follow_every_change(
            steps in prop::collection::vec(
                prop::collection::vec((0_u8..90, 0_u8..8, any::<bool>()), 1..20),
                1..12,
            ),
        ) {
            let index = Index::in_memory(TokenizerKind::Porter).unwrap();
            let needs = Needs { group_by: Some(GroupBy::Path), ..Needs::default() };
            for step in steps {
                for (id, path, deletes) in step {
                    if deletes {
                        index.delete(&[id.to_string()]).unwrap();
                    } else {
                        // Most in one path, which has more rows than a short list.
                        index.upsert(&[&chunk(id, path.saturating_sub(4))]).unwrap();
                    }
                }
                let checked = index.session(needs, |session| {
                    let paths = session.paths.as_deref().unwrap();
                    let stored = session.read(stored)?;
                    for (path, rows) in &stored {
                        let number = paths.find(path).unwrap();
                        assert_eq!(&paths.members(number).collect::<Vec<_>>(), rows);
                        assert!(rows.iter().all(|row| paths.of_row(*row) == Some(number)));
                    }
                    let fresh = session.read(|connection| Paths::load(&GroupField::Path, connection))?;
                    assert_eq!(texts_by_hash(paths), texts_by_hash(&fresh));
                    let all: usize = stored.values().map(Vec::len).sum();
                    let counts = (paths.of_rows.len(), paths.by_number.len());
                    Ok((counts, (all, stored.len()), paths.find("elsewhere")))
                });
                let (counts, expected, elsewhere) = checked.unwrap();
                prop_assert_eq!((counts, elsewhere), (expected, None));
            }
        }

        #[test]
        fn paths_of_one_hash_are_kept_apart(steps in prop::collection::vec((0_u8..60, any::<bool>()), 1..200)) {
            let mut paths = Paths {
                field: GroupField::Path,
                generation: 0,
                of_rows: RowBlocks::default(),
                by_number: RowBlocks::default(),
                by_hash: RowBlocks::default(),
                free: Arc::default(),
            };
            let mut expected: BTreeMap<i64, String> = BTreeMap::new();
            for (row, deletes) in steps {
                let row = i64::from(row);
                if deletes {
                    paths.put(row, None);
                    expected.remove(&row);
                } else {
                    let text = format!("{row}.md");
                    paths.put(row, Some(&text));
                    expected.insert(row, text);
                }
                prop_assert_eq!(paths.by_number.len(), expected.len());
                for (row, text) in &expected {
                    prop_assert_eq!(paths.find(text), paths.of_row(*row));
                }
                prop_assert_eq!(paths.by_hash().count(), expected.len());
            }
        }
    }

    proptest! {
        #[test]
        fn the_first_of_some_paths_are_those_of_all_in_order(
            count in 1_u32..200,
            numbers in prop::collection::vec(any::<prop::sample::Index>(), 0..300),
            limit in 1_usize..40,
        ) {
            let mut paths = Paths {
                field: GroupField::Path,
                generation: 0,
                of_rows: RowBlocks::default(),
                by_number: RowBlocks::default(),
                by_hash: RowBlocks::default(),
                free: Arc::default(),
            };
            for row in 0..count {
                paths.put(row.into(), Some(&format!("{row}.md")));
            }
            let numbers = numbers.iter().map(|number| number.index(count as usize));
            let numbers: Vec<u32> = numbers.filter_map(|number| number.try_into().ok()).collect();
            let all = paths.by_hash().filter(|number| numbers.contains(number));
            let mut expected: Vec<u32> = all.take(limit).collect();
            let mut found = paths.first_by_hash(numbers, limit);
            expected.sort_unstable();
            found.sort_unstable();
            prop_assert_eq!(found, expected);
        }
    }

    #[test]
    fn hashes_are_those_of_the_specification() {
        assert_eq!(hash(""), 0xefd0_1f60_ba99_2926);
        assert_eq!(hash("notes/1.md"), 0x7a37_3a8e_e12b_b13f);
    }
}
