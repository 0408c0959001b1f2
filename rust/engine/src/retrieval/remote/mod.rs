//! A collection in another process: that one stores, counts and preselects, and everything that makes
//! up a score is computed here (spec/opensearch.md).

mod keywords;
mod names;
mod point_in_time;
mod reader;
mod vectors;

use std::fmt;

use crate::error::Result;
use crate::index::session::Needs;
use crate::query::StopWords;
use crate::text::tokenizer::TokenizerKind;

use super::collection::{Collection, Reader};
pub use point_in_time::{KeywordHit, PathEntry, PointInTime, Preselected, VectorHit};
use reader::RemoteReader;

/// A collection elsewhere, as it is at one point in time.
#[derive(Clone, Copy)]
pub struct RemoteCollection<'a> {
    /// The tokenizer of its texts.
    pub tokenizer: TokenizerKind,
    /// The words that plain queries are not searched for.
    pub stopwords: &'a StopWords,
    /// What answers for it.
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

    fn read(&self, needs: Needs, work: &mut dyn FnMut(&dyn Reader)) -> Result<()> {
        work(&RemoteReader::new(
            self.tokenizer,
            self.point_in_time,
            needs,
        ));
        Ok(())
    }
}
