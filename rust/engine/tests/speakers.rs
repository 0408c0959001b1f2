//! Chunks of the speaker that a question names count more, over whole indexes.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod searching;

use hedgerow_engine::chunks::{Chunk, Filters, GroupBy};
use hedgerow_engine::index::Index;
use hedgerow_engine::retrieval::{
    Because, Embedding, Fusion, FuzzyChunks, Request, SearchResult, Setup, search, why_not,
};
use searching::{index, request, setup};
use serde_json::json;

fn said(id: &str, path: &str, ordinal: i64, speaker: &str, content: &str) -> Chunk {
    let metadata = json!({ "speaker": speaker });
    Chunk {
        id: id.to_owned(),
        path: path.to_owned(),
        ordinal,
        content: content.to_owned(),
        metadata: metadata.as_object().cloned().unwrap(),
        ..Chunk::default()
    }
}

fn talk() -> Index {
    index(&[
        said(
            "a",
            "talk",
            0,
            "Melanie",
            "I painted a lake, a lake and a lake",
        ),
        said("b", "talk", 10, "Caroline", "the lake was cold"),
        said(
            "c",
            "walk",
            20,
            "Caroline",
            "we drove home after a long and quiet day by the lake",
        ),
        said("d", "walk", 30, "Melanie", "nothing of it"),
    ])
}

fn best<'a>(index: &'a Index, fuzzy: &'a FuzzyChunks) -> Setup<'a> {
    Setup {
        fusion: Fusion::Score,
        speakers: true,
        reweight: false,
        ..setup(index, fuzzy)
    }
}

fn ids(found: &SearchResult) -> Vec<&str> {
    found.hits.iter().map(|one| one.hit.id.as_str()).collect()
}

#[test]
fn a_named_speaker_comes_first_with_score_fusion_alone() {
    let (index, filters) = (talk(), Filters::default());
    let setup = best(&index, &FuzzyChunks::Own);
    let asked = request("Caroline lake", Embedding::Absent, &filters);
    let found = search(&setup, &asked).unwrap();
    assert_eq!(ids(&found), ["b", "c", "a"]);
    assert!(found.trace.speakers);
    let explanation = &found.hits[0].explanation;
    let speaker = explanation.speaker.as_ref().unwrap();
    assert_eq!(
        (speaker.name.as_str(), speaker.because),
        ("Caroline", Because::Named)
    );
    assert_eq!(
        explanation.score.to_bits(),
        (explanation.fused + 0.6).to_bits()
    );
    assert!(found.hits[2].explanation.speaker.is_none());

    for setup in [
        Setup {
            speakers: false,
            ..best(&index, &FuzzyChunks::Own)
        },
        Setup {
            fusion: Fusion::Rrf,
            ..best(&index, &FuzzyChunks::Own)
        },
    ] {
        let found = search(&setup, &asked).unwrap();
        assert_eq!(ids(&found)[0], "a");
        assert!(!found.trace.speakers);
        assert!(
            found
                .hits
                .iter()
                .all(|one| one.explanation.speaker.is_none())
        );
    }
}

#[test]
fn the_speaker_counts_before_the_best_chunk_of_a_path_is_taken() {
    let (index, filters) = (talk(), Filters::default());
    for neighbors in [false, true] {
        let setup = Setup {
            neighbors,
            ..best(&index, &FuzzyChunks::Own)
        };
        let grouped = Request {
            group_by: Some(GroupBy::Path),
            ..request("Caroline lake", Embedding::Absent, &filters)
        };
        let found = search(&setup, &grouped).unwrap();
        assert_eq!(ids(&found), ["b", "c"], "{neighbors}");
    }
}

#[test]
fn why_not_explains_the_speaker_too() {
    let (index, filters) = (talk(), Filters::default());
    let setup = best(&index, &FuzzyChunks::Own);
    let asked = request("Caroline lake", Embedding::Absent, &filters);
    let explanation = why_not(&setup, &asked, "c").unwrap().explanation.unwrap();
    assert_eq!(explanation.speaker.unwrap().name, "Caroline");
}

#[test]
fn the_asker_is_the_speaker_of_the_first_person() {
    let (index, filters) = (talk(), Filters::default());
    let setup = best(&index, &FuzzyChunks::Own);
    let asked = Request {
        asker: Some("Caroline"),
        ..request("my lake", Embedding::Absent, &filters)
    };
    let found = search(&setup, &asked).unwrap();
    assert_eq!(ids(&found), ["b", "c", "a"]);
    let speaker = found.hits[0].explanation.speaker.as_ref().unwrap();
    assert_eq!(speaker.because, Because::FirstPerson);
    assert_eq!(
        ids(&search(
            &setup,
            &Request {
                asker: None,
                ..asked
            }
        )
        .unwrap())[0],
        "a"
    );
}
