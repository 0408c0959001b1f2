//! The collection that a retriever searches.

use std::fmt;

use hedgerow_engine::chunks::GroupBy;
use hedgerow_engine::index::session::Needs;
use hedgerow_engine::query::StopWords;
use hedgerow_engine::retrieval::{Collection, Reader};
use hedgerow_engine::text::tokenizer::TokenizerKind;
use hedgerow_engine::{Error, ErrorCode, Result};

use crate::point_in_time::PointInTime;
use crate::reader::RemoteReader;

/// A collection on a server, at one point in time.
#[derive(Clone, Copy)]
pub struct RemoteCollection<'a> {
    /// The tokenizer of the collection.
    pub tokenizer: TokenizerKind,
    /// The stop words of the collection.
    pub stopwords: &'a StopWords,
    /// The state of the collection that every search reads.
    pub point_in_time: &'a dyn PointInTime,
}

impl fmt::Debug for RemoteCollection<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RemoteCollection").finish_non_exhaustive()
    }
}

impl Collection for RemoteCollection<'_> {
    fn tokenizer(&self) -> TokenizerKind {
        self.tokenizer
    }

    fn stopwords(&self) -> &StopWords {
        self.stopwords
    }

    fn read(&self, needs: Needs<'_>, work: &mut dyn FnMut(&dyn Reader)) -> Result<()> {
        if let Some(GroupBy::Key(name)) = needs.group_by {
            return Err(Error::new(
                ErrorCode::UnsupportedByBackend,
                format!(
                    "group_by is {name:?}, and a collection groups by \"path\" alone; use group_by=\"path\", \
                     or search an Index in which the key is declared"
                ),
            ));
        }
        work(&RemoteReader::new(
            self.tokenizer,
            self.point_in_time,
            needs,
        ));
        Ok(())
    }
}
