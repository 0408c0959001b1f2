//! How the files of a folder are read: as notes of a vault, with the formats of the days of its notes.

use crate::day_format::DayFormat;

/// The tool that keeps a vault.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Vault {
    /// Obsidian.
    Obsidian,
    /// Logseq.
    Logseq,
}

impl Vault {
    /// Return the tool with a name, as in `hedgerow.json`; None for any other name.
    pub fn named(name: &str) -> Option<Self> {
        match name {
            "obsidian" => Some(Self::Obsidian),
            "logseq" => Some(Self::Logseq),
            _ => None,
        }
    }
}

/// How the files of a folder are read.
#[derive(Debug, Clone, Default)]
pub struct FolderKind {
    /// The tool, if the folder is a vault. Notes of a vault have marks outside their text.
    pub vault: Option<Vault>,
    /// The format of the names of daily notes.
    pub day_format: Option<DayFormat>,
    /// The format of the titles of daily notes, by which links name them.
    pub title_format: Option<DayFormat>,
}

impl FolderKind {
    /// Whether the folder is a vault.
    pub fn is_vault(&self) -> bool {
        self.vault.is_some()
    }

    /// Whether a Markdown link leads to a name, as `[[name]]` does: Obsidian resolves both alike.
    pub fn has_named_paths(&self) -> bool {
        self.vault == Some(Vault::Obsidian)
    }
}
