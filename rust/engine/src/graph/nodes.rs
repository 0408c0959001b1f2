//! Nodes in columns: one vector for each field, a node at the same place in all of them.

use std::cmp::Ordering;
use std::collections::HashMap;
use std::iter;

use rusqlite::types::{FromSqlError, Type};
use rusqlite::{Connection, Row};

use super::load::{self, Table};
use super::node::Category;

const COLUMNS: &str = "id, key, type, content_length, weight, category, emotion, provenance, \
                       created_at, updated_at, last_replayed, replay_interval, deleted";

/// Every node, deleted ones too: a node keeps its place for good.
#[derive(Debug, Clone, Default)]
pub struct Nodes {
    pub(super) generation: i64,
    /// Ascending.
    pub ids: Vec<i64>,
    keys: Keys,
    /// In characters.
    pub key_lengths: Vec<u16>,
    /// What kind of memory each is: a place in `types`.
    pub kinds: Vec<u32>,
    types: Texts,
    /// What each is about.
    pub categories: Vec<Category>,
    /// From 0 to 1.
    pub weights: Vec<f64>,
    /// From 0 to 10.
    pub emotions: Vec<f64>,
    /// In characters.
    pub content_lengths: Vec<u32>,
    /// Where each comes from: a place in `sources`.
    pub provenances: Vec<u32>,
    sources: Texts,
    /// In Unix seconds.
    pub created: Vec<i64>,
    /// In Unix seconds.
    pub updated: Vec<i64>,
    /// In Unix seconds; 0 for never.
    pub replayed: Vec<i64>,
    /// In days.
    pub intervals: Vec<u32>,
    /// Whether each is there, rather than deleted.
    pub live: Vec<bool>,
    /// The places of live nodes, by key.
    pub order: Vec<u32>,
    /// Where each live node stands in `order`.
    pub ranks: Vec<u32>,
}

impl Nodes {
    /// How many places there are, of deleted nodes too.
    pub fn len(&self) -> usize {
        self.ids.len()
    }

    /// Whether there is no place.
    pub fn is_empty(&self) -> bool {
        self.ids.is_empty()
    }

    /// The key at a place.
    pub fn key(&self, place: u32) -> &str {
        self.keys.get(place as usize)
    }

    /// The provenance at a place.
    pub fn provenance(&self, place: u32) -> &str {
        &self.sources.texts[self.provenances[place as usize] as usize]
    }

    /// The type at a place.
    pub fn kind(&self, place: u32) -> &str {
        &self.types.texts[self.kinds[place as usize] as usize]
    }

    /// Every type that a node is or was of.
    pub fn types(&self) -> &[String] {
        &self.types.texts
    }

    /// Every provenance there is.
    pub fn sources(&self) -> &[String] {
        &self.sources.texts
    }

    /// The place of a live node.
    pub fn find(&self, key: &str) -> Option<u32> {
        let found = self
            .order
            .binary_search_by(|place| self.key(*place).cmp(key));
        found.ok().map(|rank| self.order[rank])
    }

    /// The place of an id.
    pub fn place_of(&self, id: i64) -> Option<u32> {
        // Ids begin with 1 and none is left out, unless somebody else wrote the file.
        if self.ids.last() == Some(&(self.ids.len() as i64)) {
            return (1..=self.ids.len() as i64)
                .contains(&id)
                .then(|| (id - 1) as u32);
        }
        let place = self.ids.binary_search(&id).ok();
        place.map(|place| place as u32)
    }

    /// By key.
    pub fn by_key(&self, left: u32, right: u32) -> Ordering {
        self.ranks[left as usize].cmp(&self.ranks[right as usize])
    }

    /// Read what changed since this generation.
    pub(super) fn refresh(&mut self, table: &Table<'_>) -> rusqlite::Result<()> {
        if self.is_empty() {
            self.read_all(table)?;
        } else if !self.read_changes(table.connection)? {
            *self = Self::default();
            self.read_all(table)?;
        }
        self.generation = table.generation.1;
        Ok(())
    }

    fn read_all(&mut self, table: &Table<'_>) -> rusqlite::Result<()> {
        let last = "SELECT coalesce(max(id), 0) FROM nodes";
        let last = table.connection.query_row(last, [], |row| row.get(0))?;
        // The longest piece comes first.
        let pieces: Vec<Option<(i64, i64)>> = iter::once(None)
            .chain(load::pieces(last).into_iter().map(Some))
            .collect();
        let parts = table.read(&pieces, |connection, piece| match piece {
            None => read_order(connection).map(Part::Order),
            Some((after, last)) => {
                let rows = Self::read_rows(connection, *after, *last)?;
                Ok(Part::Rows(Box::new(rows)))
            }
        })?;
        let mut order = Vec::new();
        for part in parts {
            match part {
                Part::Order(ids) => order = ids,
                Part::Rows(rows) => self.append(*rows),
            }
        }
        let places = order.into_iter().filter_map(|id| self.place_of(id));
        self.order = places.filter(|place| self.live[*place as usize]).collect();
        self.rank();
        Ok(())
    }

    /// The nodes with ids above one, up to another, in no order by key yet.
    fn read_rows(connection: &Connection, after: i64, last: i64) -> rusqlite::Result<Self> {
        let sql = format!("SELECT {COLUMNS} FROM nodes WHERE id > ? AND id <= ? ORDER BY id");
        let mut statement = connection.prepare_cached(&sql)?;
        let mut rows = statement.query([after, last])?;
        let mut nodes = Self::default();
        while let Some(row) = rows.next()? {
            nodes.push(row)?;
        }
        Ok(nodes)
    }

    /// Take in the nodes of the next ids.
    fn append(&mut self, next: Self) {
        let sources = self.sources.append(&next.sources);
        let types = self.types.append(&next.types);
        let provenances = next.provenances.iter();
        self.provenances
            .extend(provenances.map(|place| sources[*place as usize]));
        let kinds = next.kinds.iter();
        self.kinds.extend(kinds.map(|place| types[*place as usize]));
        self.keys.append(&next.keys);
        self.ids.extend(next.ids);
        self.key_lengths.extend(next.key_lengths);
        self.categories.extend(next.categories);
        self.weights.extend(next.weights);
        self.emotions.extend(next.emotions);
        self.content_lengths.extend(next.content_lengths);
        self.created.extend(next.created);
        self.updated.extend(next.updated);
        self.replayed.extend(next.replayed);
        self.intervals.extend(next.intervals);
        self.live.extend(next.live);
    }

    /// The answer is whether all could be taken in: a node that has another key cannot, since
    /// keys stand one after the other.
    fn read_changes(&mut self, connection: &Connection) -> rusqlite::Result<bool> {
        let sql = format!("SELECT {COLUMNS} FROM nodes WHERE changed > ? ORDER BY id");
        let mut statement = connection.prepare_cached(&sql)?;
        let mut rows = statement.query([self.generation])?;
        let (mut came, mut went) = (Vec::new(), false);
        while let Some(row) = rows.next()? {
            if self.is_renamed(row)? {
                return Ok(false);
            }
            let (place, was_live) = self.put(row)?;
            match (was_live, self.live[place as usize]) {
                (false, true) => came.push(place),
                (true, false) => went = true,
                _ => {}
            }
        }
        if went || !came.is_empty() {
            self.merge_order(came);
        }
        Ok(true)
    }

    /// Whether the node of a row was known by another key.
    fn is_renamed(&self, row: &Row<'_>) -> rusqlite::Result<bool> {
        Ok(match self.place_of(row.get(0)?) {
            Some(place) => self.key(place) != row.get_ref(1)?.as_str()?,
            None => false,
        })
    }

    /// Take a row in; the answer is its place and whether a live node was there before.
    fn put(&mut self, row: &Row<'_>) -> rusqlite::Result<(u32, bool)> {
        let id = row.get(0)?;
        if let Some(place) = self.place_of(id) {
            let was_live = self.live[place as usize];
            self.replace(place as usize, row)?;
            return Ok((place, was_live));
        }
        self.push(row)?;
        Ok((self.ids.len() as u32 - 1, false))
    }

    /// Take a row in behind the others.
    fn push(&mut self, row: &Row<'_>) -> rusqlite::Result<()> {
        let key = row.get_ref(1)?.as_str()?;
        self.ids.push(row.get(0)?);
        self.key_lengths.push(key.chars().count() as u16);
        self.keys.push(key);
        let kind = self.types.intern(row.get_ref(2)?.as_str()?);
        self.kinds.push(kind);
        self.content_lengths.push(row.get(3)?);
        self.weights.push(row.get(4)?);
        self.categories.push(word(row, 5, Category::from_name)?);
        self.emotions.push(row.get(6)?);
        let provenance = self.sources.intern(row.get_ref(7)?.as_str()?);
        self.provenances.push(provenance);
        self.created.push(row.get(8)?);
        self.updated.push(row.get(9)?);
        self.replayed.push(row.get(10)?);
        self.intervals.push(row.get(11)?);
        self.live.push(!row.get::<_, bool>(12)?);
        Ok(())
    }

    /// All but id and key, which stay.
    fn replace(&mut self, place: usize, row: &Row<'_>) -> rusqlite::Result<()> {
        self.kinds[place] = self.types.intern(row.get_ref(2)?.as_str()?);
        self.content_lengths[place] = row.get(3)?;
        self.weights[place] = row.get(4)?;
        self.categories[place] = word(row, 5, Category::from_name)?;
        self.emotions[place] = row.get(6)?;
        self.provenances[place] = self.sources.intern(row.get_ref(7)?.as_str()?);
        self.created[place] = row.get(8)?;
        self.updated[place] = row.get(9)?;
        self.replayed[place] = row.get(10)?;
        self.intervals[place] = row.get(11)?;
        self.live[place] = !row.get::<_, bool>(12)?;
        Ok(())
    }

    /// Take in the places that came, and leave out those that went.
    fn merge_order(&mut self, mut came: Vec<u32>) {
        came.sort_unstable_by(|left, right| self.key(*left).cmp(self.key(*right)));
        let mut merged = Vec::with_capacity(self.order.len() + came.len());
        let mut came = came.into_iter().peekable();
        for place in &self.order {
            if !self.live[*place as usize] {
                continue;
            }
            let key = self.key(*place);
            while let Some(new) = came.next_if(|new| self.key(*new) < key) {
                merged.push(new);
            }
            merged.push(*place);
        }
        merged.extend(came);
        self.order = merged;
        self.rank();
    }

    fn rank(&mut self) {
        self.ranks.clear();
        self.ranks.resize(self.ids.len(), u32::MAX);
        for (rank, place) in self.order.iter().enumerate() {
            self.ranks[*place as usize] = rank as u32;
        }
    }
}

/// What a piece of the table is read as.
enum Part {
    /// Every id, in the order of keys.
    Order(Vec<i64>),
    Rows(Box<Nodes>),
}

/// Every id in the order of keys, which SQLite's index has.
fn read_order(connection: &Connection) -> rusqlite::Result<Vec<i64>> {
    let mut statement = connection.prepare_cached("SELECT id FROM nodes ORDER BY key")?;
    statement.query_map([], |row| row.get(0))?.collect()
}

/// Keys, one after the other.
#[derive(Debug, Clone, Default)]
struct Keys {
    text: String,
    ends: Vec<usize>,
}

impl Keys {
    fn push(&mut self, key: &str) {
        self.text.push_str(key);
        self.ends.push(self.text.len());
    }

    fn append(&mut self, next: &Self) {
        let before = self.text.len();
        self.text.push_str(&next.text);
        self.ends.extend(next.ends.iter().map(|end| before + end));
    }

    fn get(&self, place: usize) -> &str {
        let start = match place {
            0 => 0,
            _ => self.ends[place - 1],
        };
        &self.text[start..self.ends[place]]
    }
}

/// Types or provenances, each once: there are few.
#[derive(Debug, Clone, Default)]
struct Texts {
    texts: Vec<String>,
    places: HashMap<String, u32>,
}

impl Texts {
    /// Take in texts; the answer is the place of each here.
    fn append(&mut self, next: &Self) -> Vec<u32> {
        next.texts.iter().map(|text| self.intern(text)).collect()
    }

    fn intern(&mut self, text: &str) -> u32 {
        // Most nodes are from where the first is from.
        if self.texts.first().is_some_and(|first| first == text) {
            return 0;
        }
        if let Some(place) = self.places.get(text) {
            return *place;
        }
        let place = self.texts.len() as u32;
        self.texts.push(text.to_owned());
        self.places.insert(text.to_owned(), place);
        place
    }
}

/// A word of a closed set; another one means that somebody else wrote the file.
pub(super) fn word<T>(
    row: &Row<'_>,
    column: usize,
    from_name: impl Fn(&str) -> Option<T>,
) -> rusqlite::Result<T> {
    let name = row.get_ref(column)?.as_str()?;
    from_name(name).ok_or_else(|| {
        rusqlite::Error::FromSqlConversionFailure(
            column,
            Type::Text,
            Box::new(FromSqlError::Other(
                format!("{name:?} is no word for a node").into(),
            )),
        )
    })
}
