//! Queries with a word that no text has, and the same queries with the right word.

use std::hint::black_box;

use criterion::Criterion;
use hedgerow_engine::bm25::Ranking;
use hedgerow_engine::chunks::{Chunk, Filters};
use hedgerow_engine::index::Index;
use hedgerow_engine::query::{Connective, Matching};
use hedgerow_engine::retrieval::{
    Embedding, Fusion, FuzzyChunks, Mode, Request, Reranker, Setup, search,
};
use hedgerow_engine::text::tokenizer::TokenizerKind;

use super::corpus::{Dice, size};

/// The words of the index, each from different letters.
const VOCABULARY: u32 = 200_000;
const WORDS: usize = 80;

/// A word of nine letters for a number, all of which begin with one of four letters.
fn word(number: u32) -> String {
    let mut rest = u64::from(number).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 20;
    let mut word = String::from(["h", "p", "r", "s"][number as usize % 4]);
    for _ in 0..8 {
        word.push(char::from(b'a' + (rest % 26) as u8));
        rest /= 26;
    }
    word
}

#[allow(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "below 200,000"
)]
fn index() -> Index {
    let mut dice = Dice::new(7);
    let index = Index::in_memory_with(TokenizerKind::Words, Ranking::Memory).unwrap();
    let chunks: Vec<Chunk> = (0..size())
        .map(|number| {
            let words: Vec<String> = (0..WORDS)
                .map(|_| word(f64::from(VOCABULARY).powf(dice.roll()) as u32))
                .collect();
            Chunk {
                id: format!("c{number}"),
                path: format!("notes/{number}.md"),
                content: words.join(" "),
                ..Chunk::default()
            }
        })
        .collect();
    index.upsert(&chunks.iter().collect::<Vec<_>>()).unwrap();
    index
}

pub fn benches(criterion: &mut Criterion) {
    let index = index();
    let fuzzy = FuzzyChunks::Own;
    let filters = Filters::default();
    let setup = Setup {
        collection: &index,
        aliases: None,
        default_operator: Connective::Or,
        matching: Matching::Extended,
        fusion: Fusion::Score,
        neighbors: false,
        speakers: false,
        dates: false,
        reweight: false,
        fuzzy: &fuzzy,
        embedder: None,
    };
    let right = word(50_000);
    let mut wrong = right.clone();
    let last = wrong.pop().unwrap();
    let before = wrong.pop().unwrap();
    wrong.extend([last, before]);
    let far = format!("{}qqqqq", &right[..4]);
    let mut group = criterion.benchmark_group(format!("spelling, {} chunks", size()));
    for (name, query) in [("right", &right), ("one edit", &wrong), ("none near", &far)] {
        let request = Request {
            query,
            augmented: None,
            date_hints: &[],
            mode: Mode::Bm25,
            embedding: Embedding::Absent,
            candidate_k: 60,
            wanted: 10,
            reranker: Reranker::Absent,
            skip_retry_ladder: true,
            filters: &filters,
            group_by: None,
            asker: None,
            today: None,
            recency: None,
        };
        group.bench_function(name, |bencher| {
            bencher.iter(|| search(&setup, black_box(&request)).unwrap());
        });
    }
    group.finish();
}
