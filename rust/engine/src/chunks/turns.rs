//! The speaker and the date of each chunk, cached for searches in which they count
//! (spec/retrieval.md, "Speakers").

use std::collections::{HashMap, HashSet};
use std::num::NonZeroI64;
use std::sync::Arc;

use rusqlite::{Connection, OptionalExtension, Row};
use serde::Deserialize;
use serde_json::{Map, Value};

use crate::calendar::day_at;
use crate::interrupt::CancelTicker;
use crate::rule;
use crate::storage::cache::RowVersion;
use crate::storage::generations::{self, RowRanges};
use crate::storage::row_blocks::{RowBlocks, RowValues};
use crate::text::speech::Opening;
use crate::text::whitespace::trim;

/// The number of chunks of a path that must begin with a name before the name counts as a speaker.
/// Fewer may be headings, such as `Note: `.
const MIN_OPENINGS: u32 = 3;

rule! {
    /// A name before a colon at the beginning of a text is its speaker, if several texts of the file begin with the name.
    pub(crate) static SPEAKER_NAMES = "speaker names" { MIN_OPENINGS }
}

/// The values of `metadata["role"]` that mean the user.
const USER_ROLES: [&str; 2] = ["user", "human"];

/// A chunk as a turn of a conversation.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Turn {
    /// The name of the speaker.
    pub speaker: Option<Arc<str>>,
    /// Whether the role of the speaker is that of the user.
    pub by_user: bool,
    /// Whether the content ends with a question mark.
    pub asks: bool,
    /// The day of `metadata["date"]`, in days since 1970.
    pub day: Option<i32>,
}

impl Turn {
    /// The turn of a chunk by its metadata and content alone, without the other chunks of its path.
    pub fn of(content: &str, metadata: &Map<String, Value>) -> Self {
        let of = |key: &str| metadata.get(key).cloned();
        let stated = TurnKeys {
            speaker: of("speaker"),
            role: of("role"),
            date: of("date"),
        };
        stated.turn(content)
    }
}

/// The keys of metadata for the speaker and the date of a chunk.
#[derive(Default, Deserialize)]
struct TurnKeys {
    speaker: Option<Value>,
    role: Option<Value>,
    date: Option<Value>,
}

impl TurnKeys {
    /// Read the keys from an object in JSON. Most metadata has none of them, and is not parsed.
    fn read(metadata: &str) -> Self {
        let has_any = ["\"speaker\"", "\"role\"", "\"date\""]
            .iter()
            .any(|key| metadata.contains(key));
        if !has_any {
            return Self::default();
        }
        serde_json::from_str(metadata).unwrap_or_default()
    }

    fn turn(&self, content: &str) -> Turn {
        fn text(value: Option<&Value>) -> Option<&str> {
            value.and_then(Value::as_str).map(trim)
        }
        let speaker = text(self.speaker.as_ref()).filter(|name| !name.is_empty());
        let role = text(self.role.as_ref());
        Turn {
            speaker: speaker.map(Arc::from),
            by_user: role.is_some_and(|role| {
                USER_ROLES
                    .iter()
                    .any(|user| role.eq_ignore_ascii_case(user))
            }),
            asks: trim(content).ends_with('?'),
            day: text(self.date.as_ref()).and_then(day_at),
        }
    }
}

/// The turn of a row, and the name that its content begins with.
#[derive(Debug, Clone, PartialEq, Eq)]
struct RowTurn {
    turn: Turn,
    /// The [key] of the path and the name before the first colon.
    opening: Option<NonZeroI64>,
    /// Whether the speaker is that name, which counts if enough chunks of the path begin with it.
    by_opening: bool,
}

impl RowTurn {
    /// Whether the turn can count: by its speaker, the role of the user or its date.
    fn tells(&self) -> bool {
        let turn = &self.turn;
        turn.speaker.is_some() || turn.by_user || turn.day.is_some()
    }

    /// Read a row of [`COLUMNS`]. A text that is not UTF-8 says nothing here: a search that finds it
    /// reports the damage.
    fn read(row: &Row<'_>, first: usize) -> rusqlite::Result<Self> {
        let text = |column: usize| -> rusqlite::Result<_> {
            let bytes = row.get_ref(first + column)?.as_bytes()?;
            Ok(std::str::from_utf8(bytes).unwrap_or_default())
        };
        let (path, content) = (text(0)?, text(1)?);
        let mut turn = TurnKeys::read(text(2)?).turn(content);
        let opening = Opening::of(content);
        let by_opening = turn.speaker.is_none() && opening.is_some_and(|opening| opening.is_only);
        if by_opening {
            turn.speaker = opening.map(|opening| Arc::from(opening.name));
        }
        Ok(Self {
            turn,
            opening: opening.map(|opening| key(path, opening.name)),
            by_opening,
        })
    }
}

const COLUMNS: &str = "path, content, metadata";

/// A hash of a path and a name. Two pairs with one hash would share a count, which takes two of them
/// that were made for it.
fn key(path: &str, name: &str) -> NonZeroI64 {
    let mut hash: u64 = 0xcbf2_9ce4_8422_2325;
    for byte in path.bytes().chain([0xff]).chain(name.bytes()) {
        hash = (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
    }
    hash = (hash ^ (hash >> 33)).wrapping_mul(0xff51_afd7_ed55_8ccd);
    hash = (hash ^ (hash >> 33)).wrapping_mul(0xc4ce_b9fe_1a85_ec53);
    NonZeroI64::new((hash ^ (hash >> 33)).cast_signed()).unwrap_or(NonZeroI64::MIN)
}

/// The turns of one generation of an index.
#[derive(Debug)]
pub(crate) struct Turns {
    generation: i64,
    of_rows: RowBlocks<RowValues<RowTurn>>,
    /// The number of rows with a speaker, the role of the user or a date.
    telling: usize,
    /// For each [key], the number of chunks of the path that begin with the name.
    openings: RowBlocks<RowValues<u32>>,
}

impl RowVersion for Turns {
    type Source = ();
    const NAME: &'static str = "turns";

    fn generation(&self) -> i64 {
        self.generation
    }

    fn rows(&self) -> usize {
        self.of_rows.len()
    }

    fn load((): &(), connection: &Connection) -> rusqlite::Result<Self> {
        let mut turns = Self {
            generation: generations::generation(connection)?,
            of_rows: RowBlocks::default(),
            telling: 0,
            openings: RowBlocks::default(),
        };
        let mut names: HashSet<Arc<str>> = HashSet::new();
        let mut openings: HashMap<NonZeroI64, u32> = HashMap::new();
        let sql = format!("SELECT row, {COLUMNS} FROM knowledge_chunks ORDER BY row");
        let mut statement = connection.prepare_cached(&sql)?;
        let mut found = statement.query([])?;
        let mut pace = CancelTicker::default();
        while let Some(found) = found.next()? {
            pace.read(1)?;
            let mut read = RowTurn::read(found, 1)?;
            if let Some(name) = &mut read.turn.speaker {
                match names.get(&**name) {
                    Some(known) => *name = Arc::clone(known),
                    None => drop(names.insert(Arc::clone(name))),
                }
            }
            if let Some(opening) = read.opening {
                *openings.entry(opening).or_default() += 1;
            }
            turns.telling += usize::from(read.tells());
            turns.of_rows.set(found.get(0)?, read);
        }
        // Entries in order fill blocks, and nothing moves.
        let mut openings: Vec<(NonZeroI64, u32)> = openings.into_iter().collect();
        openings.sort_unstable();
        for (opening, count) in openings {
            turns.openings.set(opening.get(), count);
        }
        Ok(turns)
    }

    fn apply_changes(
        self: &Arc<Self>,
        (): &(),
        connection: &Connection,
        generation: i64,
        changed: &RowRanges,
    ) -> rusqlite::Result<Option<Self>> {
        let mut next = Self {
            generation,
            of_rows: self.of_rows.clone(),
            telling: self.telling,
            openings: self.openings.clone(),
        };
        let sql = format!("SELECT {COLUMNS} FROM knowledge_chunks WHERE row = ?");
        let mut find = connection.prepare_cached(&sql)?;
        for row in changed.iter() {
            let read = find.query_row([row], |found| RowTurn::read(found, 0));
            next.put(row, read.optional()?);
        }
        Ok(Some(next))
    }
}

impl Turns {
    /// The turn of a row.
    pub fn get(&self, row: i64) -> Option<Turn> {
        let found = self.of_rows.get(row)?;
        let mut turn = found.turn.clone();
        let is_speaker = || SPEAKER_NAMES.is_on() && self.count(found.opening) >= MIN_OPENINGS;
        if found.by_opening && !is_speaker() {
            turn.speaker = None;
        }
        Some(turn)
    }

    /// Whether any chunk has a speaker, the role of the user or a date.
    pub fn has_any(&self) -> bool {
        self.telling > 0
    }

    fn count(&self, opening: Option<NonZeroI64>) -> u32 {
        let count = opening.and_then(|opening| self.openings.get(opening.get()));
        count.copied().unwrap_or_default()
    }

    /// Record the turn of a row. None if the row was removed.
    fn put(&mut self, row: i64, turn: Option<RowTurn>) {
        let before = self.of_rows.get(row);
        self.telling -= usize::from(before.is_some_and(RowTurn::tells));
        self.telling += usize::from(turn.as_ref().is_some_and(RowTurn::tells));
        let before = before.and_then(|before| before.opening);
        let after = turn.as_ref().and_then(|turn| turn.opening);
        if before != after {
            if let Some(before) = before {
                match self.count(Some(before)) {
                    0 | 1 => self.openings.remove(before.get(), &()),
                    count => self.openings.set(before.get(), count - 1),
                }
            }
            if let Some(after) = after {
                let count = self.count(Some(after));
                self.openings.set(after.get(), count.saturating_add(1));
            }
        }
        match turn {
            Some(turn) => self.of_rows.set(row, turn),
            None => self.of_rows.remove(row, &()),
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;
    use crate::chunks::Chunk;
    use crate::index::Index;
    use crate::index::session::Needs;
    use crate::text::tokenizer::TokenizerKind;

    fn turn(index: &Index, id: &str) -> Turn {
        let needs = Needs {
            turns: true,
            ..Needs::default()
        };
        let found = index.session(needs, |session| {
            let row = session.row(id)?.unwrap();
            Ok(session.turn(row).unwrap())
        });
        found.unwrap()
    }

    fn chunk(id: &str, path: &str, content: &str, metadata: &Value) -> Chunk {
        Chunk {
            id: id.to_owned(),
            path: path.to_owned(),
            content: content.to_owned(),
            metadata: metadata.as_object().cloned().unwrap_or_default(),
            ..Chunk::default()
        }
    }

    fn speaker(index: &Index, id: &str) -> Option<String> {
        turn(index, id).speaker.map(|name| name.to_string())
    }

    #[test]
    fn three_chunks_of_a_path_that_begin_with_a_name_make_a_speaker() {
        let index = Index::in_memory(TokenizerKind::Porter).unwrap();
        let said = |id: &str, path: &str, text: &str| chunk(id, path, text, &Value::Null);
        for one in [
            said("1", "talk", "Ann: one"),
            said("2", "talk", "Ann: two?"),
            said("3", "talk", "Bob: three"),
            said("4", "other", "Ann: four"),
        ] {
            index.upsert(&[&one]).unwrap();
        }
        assert_eq!(speaker(&index, "1"), None);
        index
            .upsert(&[&said("5", "talk", "Ann: five\nBob: six")])
            .unwrap();
        assert_eq!(speaker(&index, "1").as_deref(), Some("Ann"));
        assert_eq!(speaker(&index, "2").as_deref(), Some("Ann"));
        assert!(turn(&index, "2").asks && !turn(&index, "1").asks);
        for id in ["3", "4", "5"] {
            assert_eq!(speaker(&index, id), None, "{id}");
        }
        index.delete(&["5".to_owned()]).unwrap();
        assert_eq!(speaker(&index, "1"), None);
    }

    #[test]
    fn metadata_comes_first() {
        let index = Index::in_memory(TokenizerKind::Porter).unwrap();
        for (id, metadata) in [
            ("1", json!({"speaker": " Cleo "})),
            ("2", json!({"speaker": ""})),
            ("3", json!({"speaker": ["Cleo"]})),
            ("4", json!({"speaker": null, "x": "speaker"})),
        ] {
            index
                .upsert(&[&chunk(id, "p", "Ann: hello", &metadata)])
                .unwrap();
        }
        for (id, expected) in [("1", "Cleo"), ("2", "Ann"), ("3", "Ann"), ("4", "Ann")] {
            assert_eq!(speaker(&index, id).as_deref(), Some(expected), "{id}");
        }
        for (metadata, by_user, day) in [
            (json!({"role": "User", "date": "1970-01-03"}), true, Some(2)),
            (
                json!({"role": "human", "date": "1969-12-31T23:00+02:00"}),
                true,
                Some(-1),
            ),
            (json!({"role": "assistant", "date": "1970"}), false, None),
            (json!({"date": 3}), false, None),
        ] {
            index
                .upsert(&[&chunk("5", "p", "text", &metadata)])
                .unwrap();
            let found = turn(&index, "5");
            assert_eq!((found.by_user, found.day), (by_user, day));
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]
        #[test]
        fn they_follow_every_change(
            steps in prop::collection::vec(
                prop::collection::vec((0_u8..12, 0_u8..2, 0_usize..5, 0_u8..4), 1..6),
                1..10,
            ),
        ) {
            let index = Index::in_memory(TokenizerKind::Porter).unwrap();
            let texts = ["Ann: a", "Bob: b?", "Ann: a\nBob: b", "plain", "Ann: c"];
            let needs = Needs { turns: true, ..Needs::default() };
            for step in steps {
                for (id, path, text, deletes) in step {
                    if deletes == 0 {
                        index.delete(&[id.to_string()]).unwrap();
                    } else {
                        let one = chunk(&id.to_string(), &path.to_string(), texts[text], &Value::Null);
                        index.upsert(&[&one]).unwrap();
                    }
                }
                let checked = index.session(needs, |session| {
                    let kept = session.turns.as_deref().unwrap();
                    let loaded = session.read(|connection| Turns::load(&(), connection))?;
                    let rows = |turns: &Turns| -> Vec<(i64, RowTurn)> {
                        turns.of_rows.iter().map(|(row, turn)| (row, turn.clone())).collect()
                    };
                    let counts = |turns: &Turns| -> Vec<(i64, u32)> {
                        turns.openings.iter().map(|(key, count)| (key, *count)).collect()
                    };
                    Ok(((rows(kept), counts(kept)), (rows(&loaded), counts(&loaded))))
                });
                let (kept, expected) = checked.unwrap();
                prop_assert_eq!(kept, expected);
            }
        }
    }
}
