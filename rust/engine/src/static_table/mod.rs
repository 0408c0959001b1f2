//! Vectors of texts from a table with a vector for each word piece, as model2vec makes them
//! (spec/adapters.md, "Static tables"). A vector of a text is the mean of those of its pieces.

mod numbers;
mod tokenizer_file;
mod word_piece;

use crate::error::Result;
use crate::unit_vector;

use numbers::VectorTable;
use word_piece::WordPiece;

/// Word pieces of a text that count: as many as model2vec takes.
const MOST_PIECES: usize = 512;

/// A tokenizer and its table of vectors. It never changes, so that threads may share it.
#[derive(Debug)]
pub struct StaticTable {
    tokenizer: WordPiece,
    table: VectorTable,
}

impl StaticTable {
    /// Read the contents of `tokenizer.json`, or of `vocab.txt` with a piece on each line, and those
    /// of `model.safetensors`.
    ///
    /// Returns `invalid_option` with the reason if they cannot be read or do not belong together.
    pub fn new(tokenizer: &[u8], tensors: &[u8]) -> Result<Self> {
        let tokenizer = tokenizer_file::read(tokenizer)?;
        let table = VectorTable::read(tensors, tokenizer.pieces())?;
        Ok(Self { tokenizer, table })
    }

    /// The count of numbers of each vector.
    pub fn dimensions(&self) -> usize {
        self.table.dimensions()
    }

    /// Return the vector of each text at length 1, empty if the tokenizer knows no piece of the text; and the
    /// number of texts with more pieces than the limit.
    pub fn embed_all(&self, texts: &[String]) -> (Vec<Vec<f32>>, usize) {
        let mut cut = 0;
        let mut embed = |text: &String| {
            let (vector, is_cut) = self.embed(text);
            cut += usize::from(is_cut);
            vector
        };
        let rows = texts.iter().map(&mut embed).collect();
        (rows, cut)
    }

    /// The vector of a text, and whether the text has more pieces than count.
    pub fn embed(&self, text: &str) -> (Vec<f32>, bool) {
        let mut sum = vec![0.0; self.table.dimensions()];
        let mut left = MOST_PIECES;
        let mut is_cut = false;
        self.tokenizer
            .pieces_of(text, MOST_PIECES + 1, &mut |piece| {
                if left == 0 {
                    is_cut = true;
                    return;
                }
                left -= 1;
                self.table.add(piece, &mut sum);
            });
        (unit_vector::unit(&sum), is_cut)
    }
}

#[cfg(test)]
mod tests;
