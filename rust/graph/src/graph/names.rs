//! The names of nodes: a key for each, and types and provenances, of which there are few.

use std::collections::HashMap;
use std::sync::Arc;

/// Keys per block.
const BLOCK: usize = if cfg!(test) { 8 } else { 4096 };

/// Keys, in blocks that copies share: only the last is ever added to.
#[derive(Debug, Clone, Default)]
pub(super) struct Keys(Vec<Arc<KeyBlock>>);

/// Keys, one after the other.
#[derive(Debug, Clone, Default)]
struct KeyBlock {
    text: String,
    ends: Vec<usize>,
}

impl Keys {
    pub fn push(&mut self, key: &str) {
        if self.0.last().is_none_or(|last| last.ends.len() == BLOCK) {
            self.0.push(Arc::default());
        }
        if let Some(last) = self.0.last_mut() {
            let last = Arc::make_mut(last);
            last.text.push_str(key);
            last.ends.push(last.text.len());
        }
    }

    pub fn append(&mut self, next: &Self) {
        for block in &next.0 {
            (0..block.ends.len()).for_each(|at| self.push(block.get(at)));
        }
    }

    pub fn get(&self, slot: usize) -> &str {
        self.0[slot / BLOCK].get(slot % BLOCK)
    }
}

impl KeyBlock {
    fn get(&self, at: usize) -> &str {
        let start = match at {
            0 => 0,
            _ => self.ends[at - 1],
        };
        &self.text[start..self.ends[at]]
    }
}

/// Types or provenances, each once: there are few.
#[derive(Debug, Clone, Default)]
pub(super) struct Texts(Arc<InternTable>);

#[derive(Debug, Clone, Default)]
struct InternTable {
    texts: Vec<String>,
    slots: HashMap<String, u32>,
}

impl Texts {
    /// Return all keys.
    pub fn all(&self) -> &[String] {
        &self.0.texts
    }

    /// Add texts; returns the slot of each here.
    pub fn append(&mut self, next: &Self) -> Vec<u32> {
        next.all().iter().map(|text| self.intern(text)).collect()
    }

    /// The slot of a text, which may be new.
    pub fn intern(&mut self, text: &str) -> u32 {
        // Most nodes have the same text as the first.
        if self.all().first().is_some_and(|first| first == text) {
            return 0;
        }
        if let Some(slot) = self.0.slots.get(text) {
            return *slot;
        }
        let known = Arc::make_mut(&mut self.0);
        let slot = known.texts.len() as u32;
        known.texts.push(text.to_owned());
        known.slots.insert(text.to_owned(), slot);
        slot
    }
}
