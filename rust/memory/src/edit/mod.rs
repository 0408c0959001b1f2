//! Edits of the text of a memory, its front matter and TOML files (spec/memory.md, "Edits").

pub(crate) mod change;
pub(crate) mod error;
pub(crate) mod fields;
pub(crate) mod parts;
pub(crate) mod toml_text;

pub use change::{Changes, ListChange, changed};
pub use error::EditError;
pub use fields::{render_front_matter, yaml_value};
pub use parts::{Place, Wanted, edited, part};
pub use toml_text::{Position, Step, TomlText, line_and_column, without_table};
