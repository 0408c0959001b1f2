//! Another tokenizer for an index.

use super::handle::Index;
use crate::chunks::{self, FullText};
use crate::error::Result;
use crate::storage::NoticeLevel;
use crate::sync::atomic::Ordering;
use crate::text::tokenizer::TokenizerKind;

impl Index {
    /// Rebuild the full-text index with another tokenizer, in one transaction. Returns false if the index has
    /// that tokenizer already. `progress` gets the number of chunks done so far, and the total. It may end
    /// the call with an error.
    ///
    /// Searches read the former index until the transaction ends, and writes wait. Handles of every process
    /// follow. If the call fails or is interrupted nothing has changed.
    pub fn retokenize(
        &self,
        tokenizer: TokenizerKind,
        progress: &mut dyn FnMut(u64, u64) -> Result<()>,
    ) -> Result<bool> {
        let changed = self.database.try_write(|connection| {
            if FullText::read(connection)?.tokenizer == tokenizer {
                return Ok(false);
            }
            chunks::retokenize(connection, tokenizer, progress)?;
            Ok(true)
        })?;
        self.note_tokenizer(tokenizer);
        Ok(changed)
    }

    /// The tokenizer of the full-text index, as this handle last saw it.
    pub fn tokenizer(&self) -> TokenizerKind {
        let number = self.tokenizer.load(Ordering::Relaxed);
        TokenizerKind::ALL.get(number).copied().unwrap_or_default()
    }

    /// Report once that the index has a tokenizer of earlier files, and how to move.
    pub(super) fn report_older(&self, tokenizer: TokenizerKind) {
        if !matches!(tokenizer, TokenizerKind::Porter | TokenizerKind::Unicode61) {
            return;
        }
        let message = format!(
            "{} has the tokenizer \"{}\", which finds no words within Chinese, Japanese or Thai text; \
             the tokenizer \"words\" does",
            self.database.location(),
            tokenizer.as_str()
        );
        let background = self.database.background();
        background.notices().report(NoticeLevel::Info, message);
    }

    /// Remember the tokenizer that the file has.
    pub(super) fn note_tokenizer(&self, tokenizer: TokenizerKind) {
        self.tokenizer.store(tokenizer as usize, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use crate::bm25::Ranking;
    use crate::chunks::{Chunk, Filters};
    use crate::index::Index;
    use crate::query::{MatchOptions, parse};
    use crate::text::tokenizer::TokenizerKind;

    fn found(index: &Index, query: &str) -> Vec<String> {
        let query = parse(query).unwrap();
        let hits = index
            .search_bm25(&query, 9, &Filters::default(), &MatchOptions::default())
            .unwrap();
        hits.into_iter().map(|hit| hit.id.clone()).collect()
    }

    #[test]
    fn every_handle_searches_by_the_new_tokenizer() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("index.db");
        let open =
            |ranking| Index::open_with(&path, TokenizerKind::default(), false, ranking).unwrap();
        let index = Index::open_with(&path, TokenizerKind::Porter, false, Ranking::Memory).unwrap();
        let others = [open(Ranking::Memory), open(Ranking::Fts5)];
        let chunks = [
            ("a", "東京都庁に行く"),
            ("b", "winter hedges"),
            ("c", "Die Hecken im Garten überwintern häufig."),
        ];
        let chunks = chunks.map(|(id, content)| Chunk {
            id: id.to_owned(),
            content: content.to_owned(),
            ..Chunk::default()
        });
        index.upsert(&chunks.iter().collect::<Vec<_>>()).unwrap();
        let handles = || [&index].into_iter().chain(&others);
        for handle in handles() {
            assert_eq!(found(handle, "都庁に"), [] as [&str; 0]);
            assert_eq!(found(handle, "hedge"), ["b"]);
            assert_eq!(handle.tokenizer(), TokenizerKind::Porter);
        }
        let mut steps = Vec::new();
        let mut progress = |done, all| {
            steps.push((done, all));
            Ok(())
        };
        assert!(
            index
                .retokenize(TokenizerKind::Words, &mut progress)
                .unwrap()
        );
        assert_eq!(steps, [(1, 3), (2, 3), (3, 3)]);
        for handle in handles() {
            assert_eq!(found(handle, "都庁に"), ["a"]);
            assert_eq!(found(handle, "hedge"), ["b"]);
            assert_eq!(found(handle, "überwintert"), ["c"]);
            assert_eq!(handle.tokenizer(), TokenizerKind::Words);
            assert_eq!(handle.check().unwrap(), [] as [&str; 0]);
        }
        assert!(
            !index
                .retokenize(TokenizerKind::Words, &mut |_, _| Ok(()))
                .unwrap()
        );
        index.close().unwrap();
        let error = Index::open(&path, TokenizerKind::Porter, false)
            .err()
            .unwrap();
        assert!(
            error.message().contains("has the tokenizer \"words\""),
            "{error}"
        );
    }
}
