//! The actions that an agent may request.

/// An action that an agent requests.
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
    /// Set the weight of a node.
    Weight {
        /// The key of the node.
        key: String,
        /// From 0 to 1.
        value: f64,
    },
    /// Set the category of a node.
    Categorize {
        /// The key of the node.
        key: String,
        /// The name of the category.
        category: String,
    },
    /// Write a node, which replaces an earlier one that the agent wrote.
    WriteNode {
        /// The key of the node.
        key: String,
        /// The content of the node.
        content: String,
        /// The name of its type.
        kind: String,
        /// How sure the agent is: `high`, `medium` or `low`.
        confidence: Option<String>,
        /// The keys of the nodes that it covers.
        covers: Vec<String>,
    },
    /// Replace the content of a node.
    Refine {
        /// The key of the node.
        key: String,
        /// The new content of the node.
        content: String,
    },
    /// Mark a node as deleted.
    Delete {
        /// The key of the node.
        key: String,
    },
    /// Give a node another key.
    Rename {
        /// The key of the node.
        key: String,
        /// The new key of the node.
        new_key: String,
    },
    /// Store a text with the run.
    Note,
}
