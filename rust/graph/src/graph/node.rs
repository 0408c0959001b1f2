//! Nodes as they are stored, and the closed sets their fields are from.

use super::types;
use hedgerow_engine::chunks::Chunk;
use hedgerow_engine::error::{Error, ErrorCode, Result};
use hedgerow_engine::named_enum;

/// The most characters in a key.
const KEY_LENGTH: usize = 512;

named_enum! {
    /// The subject of a node.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
    pub enum Category {
        /// Who somebody is.
        Core = "core",
        /// Anything.
        #[default]
        General = "general",
        /// How things work.
        Technical = "technical",
        /// An observation.
        Observation = "observation",
        /// A task to do.
        Task = "task",
    }
}

named_enum! {
    /// How a visit ended.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
    pub enum Outcome {
        /// The node was read.
        #[default]
        Processed = "processed",
        /// The node was changed.
        Modified = "modified",
        /// The node was skipped.
        Skipped = "skipped",
        /// The visit failed, and does not count.
        Failed = "failed",
    }
}

/// A memory.
#[derive(Debug, Clone, PartialEq)]
pub struct Node {
    /// The name of the node, unique in a store.
    pub key: String,
    /// The type of the memory: one of `TYPES`, or a registered type.
    pub kind: String,
    /// The text of the memory.
    pub content: String,
    /// The weight of the node, from 0 to 1.
    pub weight: f64,
    /// The category of the node.
    pub category: Category,
    /// How much emotion it had, from 0 to 10.
    pub emotion: f64,
    /// Where it comes from.
    pub provenance: String,
    /// When it was last changed, in Unix seconds; None for when it is stored.
    pub updated_at: Option<i64>,
    /// When it was made, in Unix seconds; None for when it was updated, if it is new.
    pub created_at: Option<i64>,
    /// When it was last replayed, in Unix seconds; 0 for never.
    pub last_replayed: i64,
    /// The days after which it is due to be replayed, at least 1.
    pub replay_interval: u32,
    /// The vector of the node, as in a chunk.
    pub embedding: Option<Vec<f32>>,
}

impl Default for Node {
    fn default() -> Self {
        Self {
            key: String::new(),
            kind: "semantic".to_owned(),
            content: String::new(),
            weight: 0.7,
            category: Category::default(),
            emotion: 0.0,
            provenance: "manual".to_owned(),
            updated_at: None,
            created_at: None,
            last_replayed: 0,
            replay_interval: 1,
            embedding: None,
        }
    }
}

impl Node {
    /// Refuse what cannot be stored.
    pub fn check(&self) -> Result<()> {
        let length = self.key.chars().count();
        let problem = if length == 0 || length > KEY_LENGTH {
            format!("the key has {length} characters; give it 1 to {KEY_LENGTH}")
        } else if self.key.contains('\0') {
            "the key holds a NUL character; remove it".to_owned()
        } else if !(0.0..=1.0).contains(&self.weight) {
            format!("the weight must be from 0 to 1, not {}", self.weight)
        } else if !(0.0..=10.0).contains(&self.emotion) {
            format!("the emotion must be from 0 to 10, not {}", self.emotion)
        } else if self.replay_interval == 0 {
            "the replay_interval must be at least 1 day, not 0".to_owned()
        } else if let Some(problem) = types::problem_of(&self.kind) {
            problem
        } else {
            return Ok(());
        };
        Err(Error::new(ErrorCode::InvalidNode, problem))
    }

    /// Return the chunk under which an index finds the node. Its id and path are the key, which is
    /// searched like the content.
    pub(super) fn chunk(&self) -> Chunk {
        Chunk {
            id: self.key.clone(),
            path: self.key.clone(),
            content: self.content.clone(),
            embedding: self.embedding.clone(),
            ..Chunk::default()
        }
    }
}
