//! A cache of texts for the next search that finds them: reading texts from the file takes most of the
//! time of a search.

use hashlink::LruCache;
use rusqlite::Connection;

use super::texts::{Texts, read};
use crate::storage::cache::RowVersion;
use crate::storage::generations::{self, RowRanges};
use crate::sync::{Arc, Mutex, MutexGuard, lock};

/// The most memory that a handle keeps texts in.
const MOST_BYTES: usize = 16 << 20;
/// Larger texts are read each time, since one of them would evict many others.
const LARGEST: usize = MOST_BYTES / 16;

/// The texts of one generation of an index that were read last, by their rows. Generations have
/// them in one store, which is of the newest.
pub(crate) struct TextCache {
    generation: i64,
    kept: Arc<Mutex<TextLru>>,
}

struct TextLru {
    generation: i64,
    /// The texts with their approximate bytes of memory, the last used at the end.
    texts: LruCache<i64, (Arc<Texts>, usize)>,
    bytes: usize,
}

impl RowVersion for TextCache {
    type Source = ();
    const NAME: &'static str = "texts";

    fn generation(&self) -> i64 {
        self.generation
    }

    /// Forgetting texts costs the same however many rows changed.
    fn rows(&self) -> usize {
        usize::MAX
    }

    fn load((): &(), connection: &Connection) -> rusqlite::Result<Self> {
        Ok(Self::empty(generations::generation(connection)?))
    }

    fn apply_changes(
        self: &Arc<Self>,
        (): &(),
        _: &Connection,
        generation: i64,
        changed: &RowRanges,
    ) -> rusqlite::Result<Option<Self>> {
        let mut kept = self.lock();
        kept.forget(changed);
        kept.generation = generation;
        Ok(Some(Self {
            generation,
            kept: Arc::clone(&self.kept),
        }))
    }
}

impl TextCache {
    fn empty(generation: i64) -> Self {
        let kept = TextLru {
            generation,
            texts: LruCache::new_unbounded(),
            bytes: 0,
        };
        Self {
            generation,
            kept: Arc::new(Mutex::new(kept)),
        }
    }

    /// The texts of these rows in their order; None where they are not kept.
    pub fn get(&self, rows: impl Iterator<Item = i64>) -> Vec<Option<Arc<Texts>>> {
        let mut kept = self.lock();
        let current = kept.generation == self.generation;
        rows.map(|row| {
            let (texts, _) = kept.texts.get(&row).filter(|_| current)?;
            Some(Arc::clone(texts))
        })
        .collect()
    }

    /// Cache the texts of rows, each with its approximate bytes, and drop the least recently used.
    pub fn keep(&self, texts: impl Iterator<Item = (i64, Arc<Texts>, usize)>) {
        let mut kept = self.lock();
        if kept.generation != self.generation {
            return;
        }
        for (row, texts, bytes) in texts.filter(|(_, _, bytes)| *bytes <= LARGEST) {
            kept.insert(row, texts, bytes);
        }
    }

    /// Return the texts of rows, each with the matched expression, in their order.
    ///
    /// Call this last and for few rows: cache misses are read from the file, and those reads
    /// dominate a search.
    pub fn read_through(
        &self,
        connection: &Connection,
        rows: &[(i64, &str)],
    ) -> rusqlite::Result<Vec<Arc<Texts>>> {
        let mut texts = self.get(rows.iter().map(|(row, _)| *row));
        let mut missing: Vec<usize> = (0..rows.len())
            .filter(|slot| texts[*slot].is_none())
            .collect();
        if !missing.is_empty() {
            // In the order of the file: neighbors are often on one page.
            missing.sort_unstable_by_key(|slot| rows[*slot].0);
            let wanted: Vec<_> = missing.iter().map(|slot| rows[*slot]).collect();
            let read = read(connection, &wanted)?;
            for (slot, (_, read, _)) in missing.iter().zip(&read) {
                texts[*slot] = Some(Arc::clone(read));
            }
            self.keep(read.into_iter());
        }
        Ok(texts.into_iter().flatten().collect())
    }

    /// Return the approximate bytes of memory in use.
    pub fn bytes(&self) -> usize {
        self.lock().bytes
    }

    fn lock(&self) -> MutexGuard<'_, TextLru> {
        lock(&self.kept)
    }
}

impl TextLru {
    fn insert(&mut self, row: i64, texts: Arc<Texts>, bytes: usize) {
        if let Some((_, replaced)) = self.texts.insert(row, (texts, bytes)) {
            self.bytes -= replaced;
        }
        self.bytes += bytes;
        while self.bytes > MOST_BYTES
            && let Some((_, (_, bytes))) = self.texts.remove_lru()
        {
            self.bytes -= bytes;
        }
    }

    /// Drop the texts of rows, in the time that the smaller of both takes.
    fn forget(&mut self, changed: &RowRanges) {
        let gone: Vec<i64> = if changed.len() < self.texts.len() {
            changed.iter().collect()
        } else {
            let rows = self.texts.iter().map(|(row, _)| *row);
            rows.filter(|row| changed.contains(*row)).collect()
        };
        for row in gone {
            if let Some((_, bytes)) = self.texts.remove(&row) {
                self.bytes -= bytes;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use proptest::prelude::*;

    use serde_json::{Map, Value};

    use super::*;
    use crate::chunks::Chunk;
    use crate::chunks::Filters;
    use crate::index::Index;
    use crate::index::session::Needs;
    use crate::query::{MatchOptions, parse};
    use crate::text::tokenizer::TokenizerKind;

    fn chunk(id: &str, content: &str) -> Chunk {
        Chunk {
            id: id.to_owned(),
            content: format!("oak {content}"),
            ..Chunk::default()
        }
    }

    fn get(kept: &TextCache, row: i64) -> Option<Arc<Texts>> {
        kept.get([row].into_iter()).pop().unwrap()
    }

    fn keep(kept: &TextCache, row: i64, texts: &Arc<Texts>, bytes: usize) {
        kept.keep([(row, Arc::clone(texts), bytes)].into_iter());
    }

    fn contents(index: &Index) -> Vec<String> {
        let query = parse("oak").unwrap();
        let hits = index.search_bm25(&query, 99, &Filters::default(), &MatchOptions::default());
        let mut contents: Vec<String> = (hits.unwrap().into_iter())
            .map(|hit| hit.content.clone())
            .collect();
        contents.sort_unstable();
        contents
    }

    #[test]
    fn they_follow_every_change() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("index.db");
        let open = || Index::open(&path, TokenizerKind::Porter, false).unwrap();
        let (index, other) = (open(), open());
        other
            .upsert(&[&chunk("a", "a"), &chunk("b", "b"), &chunk("c", "c")])
            .unwrap();
        assert_eq!(contents(&index), ["oak a", "oak b", "oak c"]);
        let bytes = index.text_bytes();
        assert!(bytes > 0);
        other.upsert(&[&chunk("b", "changed")]).unwrap();
        other.delete(&["a"]).unwrap();
        index.upsert(&[&chunk("d", "of the row of a")]).unwrap();
        let expected = ["oak c", "oak changed", "oak of the row of a"];
        assert_eq!(contents(&index), expected);
        assert_eq!(contents(&other), expected);
        // More than the list of changes holds.
        let many: Vec<Chunk> = (0..1100).map(|n| chunk("c", &n.to_string())).collect();
        for one in &many {
            other.upsert(&[one]).unwrap();
        }
        assert_eq!(contents(&index), ["oak 1099", expected[1], expected[2]]);
        index.close().unwrap();
        assert_eq!(index.text_bytes(), 0);
    }

    #[test]
    fn they_are_read_in_the_order_asked() {
        let index = Index::in_memory(TokenizerKind::Porter).unwrap();
        let metadata = Map::from_iter([("n".to_owned(), Value::from(3))]);
        let three = Chunk {
            metadata: metadata.clone(),
            ..chunk("3", "")
        };
        index
            .upsert(&[&chunk("1", ""), &chunk("2", ""), &three, &chunk("4", "")])
            .unwrap();
        let ids = |rows: &[i64]| {
            let rows: Vec<_> = rows.iter().map(|row| (*row, "a search")).collect();
            index.session(Needs::default(), |session| {
                let texts = session.texts(&rows)?.into_iter();
                Ok(texts
                    .map(|texts| (texts.id.clone(), texts.metadata.len()))
                    .collect::<Vec<_>>())
            })
        };
        let expected = |rows: &[i64]| -> Vec<(String, usize)> {
            (rows.iter())
                .map(|row| (row.to_string(), if *row == 3 { metadata.len() } else { 0 }))
                .collect()
        };
        // None kept, all kept, some kept, one twice.
        for rows in [&[3, 1][..], &[1, 3], &[4, 1, 2, 3], &[2, 2], &[]] {
            assert_eq!(ids(rows).unwrap(), expected(rows));
        }
        index.texts.clear();
        assert_eq!(ids(&[4, 4, 1]).unwrap(), expected(&[4, 4, 1]));
        let before = index.text_bytes();
        let error = ids(&[2, 9, 1]).unwrap_err();
        assert_eq!(error.code(), crate::ErrorCode::IndexDamaged);
        assert!(error.message().contains("a search has no chunk"), "{error}");
        assert_eq!(index.text_bytes(), before, "nothing is kept of it");
    }

    #[test]
    fn a_generation_has_its_own_and_no_other() {
        let kept = TextCache::empty(1);
        let texts = Arc::new(Texts::default());
        let earlier = TextCache {
            generation: 0,
            kept: Arc::clone(&kept.kept),
        };
        keep(&earlier, 7, &texts, 10);
        assert_eq!(
            (get(&earlier, 7), kept.bytes()),
            (None, 0),
            "of an earlier one"
        );
        keep(&kept, 7, &texts, 10);
        assert_eq!(get(&kept, 7), Some(texts));
        assert_eq!(get(&earlier, 7), None);
    }

    proptest! {
        #[test]
        fn what_is_kept_is_what_was_read_last_and_never_too_much(
            steps in prop::collection::vec((0_i64..60, 0..=LARGEST, 0..6_u8), 1..400)
        ) {
            let kept = TextCache::empty(0);
            let mut last = HashMap::new();
            for (row, bytes, step) in steps {
                match step {
                    0 => {
                        kept.lock().forget(&RowRanges::of(&[row]));
                        last.remove(&row);
                    }
                    1 | 2 => {
                        let found = get(&kept, row);
                        prop_assert!(found.is_none() || found.as_ref() == last.get(&row));
                    }
                    _ => {
                        let id = bytes.to_string();
                        let texts = Arc::new(Texts { id, ..Texts::default() });
                        keep(&kept, row, &texts, bytes);
                        prop_assert_eq!(get(&kept, row), Some(Arc::clone(&texts)));
                        last.insert(row, texts);
                    }
                }
                let kept = kept.lock();
                let bytes: usize = kept.texts.iter().map(|(_, (_, bytes))| bytes).sum();
                prop_assert_eq!(kept.bytes, bytes);
                prop_assert!(bytes <= MOST_BYTES);
            }
        }
    }

    #[test]
    fn what_was_not_used_for_longest_goes_first() {
        let kept = TextCache::empty(0);
        let texts = Arc::new(Texts::default());
        let rows = i64::try_from(MOST_BYTES / LARGEST).unwrap();
        for row in 0..rows {
            keep(&kept, row, &texts, LARGEST);
        }
        assert_eq!(kept.bytes(), MOST_BYTES);
        assert!(get(&kept, 0).is_some());
        keep(&kept, rows, &texts, LARGEST + 1);
        keep(&kept, rows, &texts, 1);
        let gone: Vec<i64> = (0..=rows)
            .filter(|row| get(&kept, *row).is_none())
            .collect();
        assert_eq!(gone, [1]);
        keep(&kept, 2, &texts, 5);
        assert_eq!(kept.bytes(), MOST_BYTES - 2 * LARGEST + 6);
    }
}
