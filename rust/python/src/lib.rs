//! `hedgerow._engine`: the engine as Python sees it. Each noun that Python sees has a file; each
//! function converts its arguments, calls the engine once and converts the result.

#![allow(
    clippy::needless_pass_by_value,
    reason = "PyO3 hands arguments over by value"
)]
#![allow(
    clippy::doc_markdown,
    reason = "doc comments here are Python docstrings"
)]

mod agents;
mod aliases;
mod bulk;
mod calling;
mod candidate;
mod chunk;
mod chunk_iterator;
mod compile;
mod documents;
mod embed;
mod engine_handle;
mod errors;
mod explain;
mod fields;
mod files_index;
mod filters;
mod folder;
mod fork;
mod found;
mod front_matter_values;
mod hit;
mod index;
mod index_calls;
mod index_options;
mod ingest;
mod interrupt;
mod json;
mod linked;
mod name;
mod node;
mod node_iterator;
mod notices;
mod pipeline;
mod point_in_time;
mod query;
mod ranking;
mod recall;
mod results;
mod root_sync;
mod rules;
mod search_options;
mod search_target;
mod searcher;
mod source;
mod sources;
mod static_table;
mod stats;
mod stopwords;
mod store;
mod store_calls;
mod text;
mod toml;
mod trigram_index;
mod value;
mod vector;
mod view;

use hedgerow_engine::ErrorCode;
use hedgerow_engine::query::stopwords::{DUTCH, ENGLISH};
use hedgerow_memory::format::FRAME;
use hedgerow_memory::review::duplicates;
use pyo3::prelude::*;
use pyo3::types::{PyFrozenSet, PyTuple};

#[pymodule(gil_used = false)]
fn _engine(module: &Bound<'_, PyModule>) -> PyResult<()> {
    let py = module.py();
    interrupt::note_main_thread(py);
    module.add("__version__", env!("CARGO_PKG_VERSION"))?;
    module.add("DEBUG_BUILD", cfg!(debug_assertions))?;
    let codes: Vec<&str> = ErrorCode::ALL.iter().map(|code| code.as_str()).collect();
    module.add("ERROR_CODES", PyFrozenSet::new(py, codes)?)?;
    module.add("PASSAGE_LIMIT", hedgerow_memory::format::PASSAGE_LIMIT)?;
    module.add("LIKE", duplicates::LIKE)?;
    module.add("CANDIDATES", duplicates::CANDIDATES)?;
    module.add("WORDS_LOOKED_UP", duplicates::WORDS_LOOKED_UP)?;
    module.add("TITLE_SEPARATOR", hedgerow_memory::format::TITLE_SEPARATOR)?;
    module.add("EN_STOPWORDS", PyFrozenSet::new(py, ENGLISH.words())?)?;
    module.add("NL_STOPWORDS", PyFrozenSet::new(py, DUTCH.words())?)?;

    module.add_class::<query::PyQuery>()?;
    module.add_class::<query::PyToken>()?;
    module.add_class::<aliases::PyAliasTable>()?;
    module.add_class::<chunk::PyChunk>()?;
    module.add_class::<filters::PyFilters>()?;
    module.add_class::<hit::PyHit>()?;
    module.add_class::<index::PyIndex>()?;
    module.add_class::<chunk_iterator::PyChunks>()?;
    module.add_class::<node::PyNode>()?;
    module.add_class::<node_iterator::PyNodeIterator>()?;
    module.add_class::<store::PyStore>()?;
    module.add_class::<pipeline::PyPipeline>()?;
    module.add_class::<candidate::PyCandidate>()?;
    module.add_class::<static_table::PyStaticTable>()?;
    module.add_class::<trigram_index::PyTrigramIndex>()?;
    module.add_class::<found::PyFound>()?;
    module.add_class::<searcher::PySearcher>()?;
    module.add_class::<search_options::PySearchOptions>()?;
    module.add_class::<searcher::PyStop>()?;
    module.add_class::<recall::PyFileColumns>()?;
    module.add_class::<recall::PyRecall>()?;
    module.add_class::<view::PyView>()?;
    module.add_class::<documents::PyDocuments>()?;
    embed::add_functions(module)?;
    for function in [
        wrap_pyfunction!(query::normalise, module)?,
        wrap_pyfunction!(query::_check_query, module)?,
        wrap_pyfunction!(query::parse_query, module)?,
        wrap_pyfunction!(query::is_stopword, module)?,
        wrap_pyfunction!(aliases::expand_aliases, module)?,
        wrap_pyfunction!(compile::compile_fts, module)?,
        wrap_pyfunction!(compile::compile_match, module)?,
        wrap_pyfunction!(compile::compile_many, module)?,
        wrap_pyfunction!(explain::explain_query, module)?,
        wrap_pyfunction!(ranking::detect_intent, module)?,
        wrap_pyfunction!(pipeline::parse_pipeline, module)?,
        wrap_pyfunction!(ranking::unanimity, module)?,
        wrap_pyfunction!(ranking::reciprocal_rank_fusion, module)?,
        wrap_pyfunction!(ranking::reweight, module)?,
        wrap_pyfunction!(ranking::rerank_text, module)?,
        wrap_pyfunction!(ranking::sanitise_query, module)?,
        wrap_pyfunction!(ranking::strongest_term, module)?,
        wrap_pyfunction!(ranking::query_tokens, module)?,
        wrap_pyfunction!(ranking::trigrams, module)?,
        wrap_pyfunction!(ranking::slug_text, module)?,
        wrap_pyfunction!(documents::_conflict_copies, module)?,
        wrap_pyfunction!(documents::_files_with, module)?,
        wrap_pyfunction!(documents::_topic_words, module)?,
        wrap_pyfunction!(documents::_compare, module)?,
        wrap_pyfunction!(documents::_repeats, module)?,
        wrap_pyfunction!(documents::_find_secrets, module)?,
        wrap_pyfunction!(documents::_without_secrets, module)?,
        wrap_pyfunction!(rules::_rules, module)?,
        wrap_pyfunction!(rules::_switch_rule, module)?,
        wrap_pyfunction!(text::_nearest, module)?,
        wrap_pyfunction!(text::_tokenize, module)?,
        wrap_pyfunction!(text::_marks, module)?,
        wrap_pyfunction!(text::_snippets, module)?,
        wrap_pyfunction!(vector::_unit_vector, module)?,
        wrap_pyfunction!(chunk::_chunks, module)?,
        wrap_pyfunction!(sources::_vacuum, module)?,
        wrap_pyfunction!(sources::_sync_note, module)?,
        wrap_pyfunction!(agents::_unclaimed, module)?,
        wrap_pyfunction!(agents::_begin_run, module)?,
        wrap_pyfunction!(agents::_end_run, module)?,
        wrap_pyfunction!(agents::_apply_run, module)?,
        wrap_pyfunction!(agents::_rehearse, module)?,
        wrap_pyfunction!(agents::_agent_runs, module)?,
        wrap_pyfunction!(agents::_run_records, module)?,
        wrap_pyfunction!(agents::_standing, module)?,
        wrap_pyfunction!(agents::_last_visits, module)?,
        wrap_pyfunction!(agents::_resume_agent, module)?,
        wrap_pyfunction!(agents::_topology, module)?,
        wrap_pyfunction!(fork::_before_fork, module)?,
        wrap_pyfunction!(fork::_after_fork, module)?,
        wrap_pyfunction!(errors::_panic, module)?,
    ] {
        module.add_function(function)?;
    }
    add_memory(module)
}

/// Add what memory roots are made of.
fn add_memory(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add("_PAGE_FRAME", PyTuple::new(module.py(), FRAME)?)?;
    module.add_class::<linked::PyNames>()?;
    module.add_class::<linked::PyNodes>()?;
    module.add_class::<folder::PyRules>()?;
    module.add_class::<folder::PyWatch>()?;
    module.add_class::<folder::PyFileCheck>()?;
    module.add_class::<folder::PyListing>()?;
    module.add_class::<folder::PyLedger>()?;
    module.add_class::<files_index::PyFilesRun>()?;
    module.add_class::<ingest::PyFrontMatter>()?;
    module.add_class::<ingest::FileChunkIterator>()?;
    module.add_class::<toml::PyTomlText>()?;
    for function in [
        wrap_pyfunction!(ingest::read_front_matter, module)?,
        wrap_pyfunction!(ingest::_decode, module)?,
        wrap_pyfunction!(ingest::_text_of, module)?,
        wrap_pyfunction!(ingest::_title_from_name, module)?,
        wrap_pyfunction!(ingest::_read_chunks, module)?,
        wrap_pyfunction!(ingest::_markdown_chunks, module)?,
        wrap_pyfunction!(ingest::_part_of, module)?,
        wrap_pyfunction!(ingest::_edited, module)?,
        wrap_pyfunction!(ingest::_yaml_value, module)?,
        wrap_pyfunction!(ingest::_render_front_matter, module)?,
        wrap_pyfunction!(ingest::_changed_front_matter, module)?,
        wrap_pyfunction!(ingest::_structures, module)?,
        wrap_pyfunction!(ingest::_inline_tags, module)?,
        wrap_pyfunction!(ingest::_links_in_text, module)?,
        wrap_pyfunction!(ingest::_link_positions, module)?,
        wrap_pyfunction!(ingest::_level_two_sections, module)?,
        wrap_pyfunction!(ingest::_with_section_names, module)?,
        wrap_pyfunction!(ingest::_first_heading, module)?,
        wrap_pyfunction!(front_matter_values::_links_in_fields, module)?,
        wrap_pyfunction!(front_matter_values::_parse_time, module)?,
        wrap_pyfunction!(front_matter_values::_parse_end, module)?,
        wrap_pyfunction!(front_matter_values::_moment, module)?,
        wrap_pyfunction!(front_matter_values::_parse_age, module)?,
        wrap_pyfunction!(front_matter_values::_memory_time, module)?,
        wrap_pyfunction!(front_matter_values::_days_in_name, module)?,
        wrap_pyfunction!(front_matter_values::_day_format_problem, module)?,
        wrap_pyfunction!(front_matter_values::_page_title, module)?,
        wrap_pyfunction!(front_matter_values::_scope_id, module)?,
        wrap_pyfunction!(front_matter_values::_stated_scope, module)?,
        wrap_pyfunction!(front_matter_values::_is_retracted, module)?,
        wrap_pyfunction!(ingest::_first_sentence, module)?,
        wrap_pyfunction!(ingest::_shorten, module)?,
        wrap_pyfunction!(folder::_settled_signatures, module)?,
        wrap_pyfunction!(toml::_toml_without, module)?,
        wrap_pyfunction!(folder::_signature, module)?,
        wrap_pyfunction!(root_sync::_sync_root, module)?,
        wrap_pyfunction!(root_sync::_is_linked, module)?,
        wrap_pyfunction!(recall::_recall_terms, module)?,
        wrap_pyfunction!(search_options::_group, module)?,
    ] {
        module.add_function(function)?;
    }
    Ok(())
}
