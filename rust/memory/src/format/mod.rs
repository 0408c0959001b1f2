//! Formats: the bytes of a file as passages, fields, links and tags (spec/ingest.md).

pub(crate) mod chunks;
pub(crate) mod conflict;
pub(crate) mod field_links;
pub(crate) mod front_matter;
pub(crate) mod jsonl;
pub(crate) mod links;
pub(crate) mod markdown;
pub(crate) mod page;
pub(crate) mod passages;
pub(crate) mod plain_text;
pub(crate) mod readers;
pub(crate) mod sections;
pub(crate) mod tags;
pub(crate) mod turns;
pub(crate) mod vault;

pub use chunks::{REPEATED_LIMIT, SharedFields, TITLE_SEPARATOR, markdown_chunks};
pub use field_links::{NodeLink, links_in_fields};
pub use front_matter::{FrontMatter, SCOPE};
pub use links::{link_positions, links_in_text};
pub use markdown::structures;
pub use page::FRAME;
pub use passages::{PASSAGE_LIMIT, first_sentence, shorten};
pub use readers::{FileChunks, read_chunks};
pub use sections::{first_heading, level_two_sections, with_section_names};
pub use tags::inline_tags;
pub use vault::{FolderKind, Vault, page_properties};
