//! The actions an agent may ask for.

/// What an agent wants done.
#[derive(Debug, Clone, PartialEq)]
pub enum Action {
    /// Join two nodes.
    LinkAdd {
        /// The key it leads from.
        a: String,
        /// The key it leads to.
        b: String,
        /// How strong it is.
        strength: f64,
    },
    /// Set how much a node counts.
    Weight {
        /// Which node.
        key: String,
        /// From 0 to 1.
        value: f64,
    },
    /// Set what a node is about.
    Categorize {
        /// Which node.
        key: String,
        /// A category's name.
        category: String,
    },
    /// Write a node of the agent's own, in place of an earlier one of its own.
    WriteNode {
        /// Its key.
        key: String,
        /// What it says.
        content: String,
        /// The name of its type.
        kind: String,
        /// How sure the agent is: `high`, `medium` or `low`.
        confidence: Option<String>,
        /// The keys of what it was made of.
        covers: Vec<String>,
    },
    /// Change what a node says.
    Refine {
        /// Which node.
        key: String,
        /// What it says from now on.
        content: String,
    },
    /// Mark a node as deleted.
    Delete {
        /// Which node.
        key: String,
    },
    /// Give a node another key.
    Rename {
        /// Which node.
        key: String,
        /// Its key from now on.
        new_key: String,
    },
    /// Say something, for the record.
    Note,
}
