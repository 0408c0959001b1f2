//! Made-up texts and vectors, always the same.

use std::sync::LazyLock;

use hedgerow_engine::bm25::Ranking;
use hedgerow_engine::chunks::Chunk;
use hedgerow_engine::index::Index;
use hedgerow_engine::text::tokenizer::TokenizerKind;

pub const DIMENSIONS: usize = 384;
const VOCABULARY: f64 = 30_000.0;
const WORDS: usize = 80;
const USUAL: usize = 10_000;

/// Return the number of chunks to search.
pub fn size() -> usize {
    std::env::var("HEDGEROW_BENCH_CHUNKS").map_or(USUAL, |count| count.parse().unwrap())
}

/// Draws numbers from 0 to 1 (`SplitMix64`).
pub struct Dice(u64);

impl Dice {
    pub fn new(seed: u64) -> Self {
        Self(seed)
    }

    #[allow(clippy::cast_precision_loss, reason = "53 bits fit")]
    pub fn roll(&mut self) -> f64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((mixed ^ (mixed >> 31)) >> 11) as f64 / (1_u64 << 53) as f64
    }

    /// Return `count` words. The nth word of the vocabulary is 1/n as frequent as the first.
    #[allow(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "30,000 at most"
    )]
    pub fn words(&mut self, count: usize) -> String {
        let words: Vec<String> = (0..count)
            .map(|_| format!("word{}", VOCABULARY.powf(self.roll()) as u32))
            .collect();
        words.join(" ")
    }

    /// A vector of no particular direction.
    #[allow(clippy::cast_possible_truncation, reason = "vectors are kept as f32")]
    pub fn vector(&mut self) -> Vec<f32> {
        (0..DIMENSIONS)
            .map(|_| (self.roll() - 0.5) as f32)
            .collect()
    }
}

/// The index that is searched, in memory, made when it is first asked for.
pub static INDEX: LazyLock<Index> = LazyLock::new(|| index(size()));

fn index(count: usize) -> Index {
    let mut dice = Dice::new(7);
    let index = Index::in_memory_with(TokenizerKind::Porter, Ranking::Memory).unwrap();
    let chunks: Vec<Chunk> = (0..count)
        .map(|number| Chunk {
            id: format!("c{number}"),
            path: format!("notes/{}.md", number / 10),
            title: dice.words(5),
            content: dice.words(WORDS),
            embedding: Some(dice.vector()),
            ..Chunk::default()
        })
        .collect();
    index.upsert(&chunks.iter().collect::<Vec<_>>()).unwrap();
    index
}
