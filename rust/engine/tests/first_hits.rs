//! The first hits of a search are the same however many are wanted, to the bit.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod searching;

use hedgerow_engine::chunks::{Chunk, Filters, GroupBy};
use hedgerow_engine::query::Matching;
use hedgerow_engine::retrieval::{
    Embedding, Fusion, FuzzyChunks, Mode, Request, SearchResult, Setup, search,
};
use proptest::prelude::*;
use searching::{index, request, setup};
use serde_json::{Map, json};

const WORDS: [&str; 8] = [
    "oak", "elm", "ash", "hedge", "garden", "river", "stone", "wren",
];
const SPEAKERS: [Option<&str>; 4] = [None, Some("Ann"), Some("Bob"), Some("Zoë")];
const DATES: [Option<&str>; 3] = [None, Some("2024-02-27"), Some("2024-03-02")];

/// The words, vector, path, speaker, day and role of a chunk.
type Draw = (Vec<usize>, (i8, i8), u8, (usize, usize, bool));

fn draw() -> impl Strategy<Value = Draw> {
    (
        prop::collection::vec(0..WORDS.len(), 1..6),
        (-4_i8..5, -4_i8..5),
        0_u8..6,
        (0..SPEAKERS.len(), 0..DATES.len(), any::<bool>()),
    )
}

fn chunk(number: usize, draw: &Draw, is_conversation: bool) -> Chunk {
    let (words, (x, y), path, (speaker, date, asks)) = draw;
    let words: Vec<&str> = words.iter().map(|word| WORDS[*word]).collect();
    let end = if *asks { "?" } else { "" };
    let mut metadata = Map::new();
    if is_conversation {
        let role = asks.then_some("user");
        for (key, value) in [
            ("speaker", SPEAKERS[*speaker]),
            ("date", DATES[*date]),
            ("role", role),
        ] {
            metadata.extend(value.map(|value| (key.to_owned(), json!(value))));
        }
    }
    Chunk {
        id: format!("c{number}"),
        path: format!("p{path}"),
        ordinal: i64::try_from(number).unwrap(),
        content: words.join(" ") + end,
        // Many vectors are equal, so that scores tie.
        embedding: Some(vec![f32::from(*x), f32::from(*y)]),
        metadata,
        ..Chunk::default()
    }
}

/// The first hits with their explanations.
fn first(found: &SearchResult, count: usize) -> Vec<String> {
    let hits = found.hits.iter().take(count);
    hits.map(|hit| format!("{hit:?}")).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    #[test]
    fn the_first_hits_do_not_depend_on_how_many_are_wanted(
        draws in prop::collection::vec(draw(), 1..60),
        query in prop::sample::select(vec![
            "oak", "oak elm garden", "what did Ann say of the hedge", "my river on 27 February", "stone in March 2024", "Bob",
        ]),
        (is_conversation, neighbors, extra, by_score) in any::<(bool, bool, bool, bool)>(),
        mode in prop::sample::select(vec![Mode::Auto, Mode::Bm25, Mode::Semantic]),
        (grouped, candidate_k) in (any::<bool>(), 1_usize..20),
    ) {
        let chunks: Vec<Chunk> =
            draws.iter().enumerate().map(|(number, draw)| chunk(number, draw, is_conversation)).collect();
        let index = index(&chunks);
        let (filters, fuzzy) = (Filters::default(), FuzzyChunks::Own);
        let setup = Setup {
            matching: Matching::Extended,
            fusion: if by_score { Fusion::Score } else { Fusion::Rrf },
            neighbors,
            speakers: extra,
            dates: extra,
            reweight: false,
            ..setup(&index, &fuzzy)
        };
        let all = Request {
            mode,
            candidate_k,
            asker: Some("Zoë"),
            group_by: grouped.then_some(GroupBy::Path),
            ..request(query, Embedding::Vector(&[1.0, 0.5]), &filters)
        };
        let plain = search(&setup, &all).unwrap();
        for wanted in [1, 2, 3, 7, 20] {
            let found = search(&setup, &Request { wanted, ..all }).unwrap();
            prop_assert_eq!(first(&found, usize::MAX), first(&plain, wanted));
            prop_assert_eq!(found.trace.fused_count, plain.trace.fused_count);
        }
    }
}
