//! The visible memories of an index as a collection that a search runs on (spec/memory.md, "Scopes").

use std::sync::Arc;

use hedgerow_engine::Result;
use hedgerow_engine::index::Index;
use hedgerow_engine::index::session::Needs;
use hedgerow_engine::query::StopWords;
use hedgerow_engine::retrieval::{Collection, Reader};
use hedgerow_engine::text::tokenizer::TokenizerKind;

use super::columns::{ColumnCache, FileColumns};
use crate::facts::scope::Visibility;

/// The visible memories of an index. Searches find no others, and take other spellings from these alone.
pub struct ScopedIndex {
    index: Arc<Index>,
    columns: Arc<ColumnCache>,
    visible: Visibility,
}

impl ScopedIndex {
    /// The visible memories of an index, whose columns are cached.
    pub fn new(index: Arc<Index>, columns: Arc<ColumnCache>, visible: Visibility) -> Self {
        Self {
            index,
            columns,
            visible,
        }
    }

    /// The whole index.
    pub fn index(&self) -> &Index {
        &self.index
    }
}

impl Collection for ScopedIndex {
    fn tokenizer(&self) -> TokenizerKind {
        self.index.tokenizer()
    }

    fn stopwords(&self) -> &StopWords {
        self.index.stopwords()
    }

    fn read(&self, needs: Needs<'_>, work: &mut dyn FnMut(&dyn Reader)) -> Result<()> {
        self.index.session(needs, |session| {
            let columns = FileColumns::current(&self.columns, session, &self.visible)?;
            work(columns.session(session)?.as_ref().unwrap_or(session));
            Ok(())
        })
    }
}
