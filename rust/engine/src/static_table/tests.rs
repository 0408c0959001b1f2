//! A small table made for the tests: pieces, the kinds of numbers, and invalid files.

use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;

const PIECES: [&str; 9] = [
    "[PAD]", "[UNK]", "oak", "tree", "##s", "##house", "é", "e", "!",
];

/// A file of safetensors with tensors of these names, kinds, shapes and bytes.
fn tensors(all: &[(&str, &str, &[usize], Vec<u8>)]) -> Vec<u8> {
    let mut header = serde_json::Map::new();
    let mut data = Vec::new();
    for (name, kind, shape, bytes) in all {
        let start = data.len();
        data.extend_from_slice(bytes);
        let entry = json!({ "dtype": kind, "shape": shape, "data_offsets": [start, data.len()] });
        header.insert((*name).to_owned(), entry);
    }
    let header = Value::Object(header).to_string();
    let length = header.len() as u64;
    [&length.to_le_bytes()[..], header.as_bytes(), &data].concat()
}

fn floats(numbers: &[f32]) -> Vec<u8> {
    numbers
        .iter()
        .flat_map(|number| number.to_le_bytes())
        .collect()
}

/// Two numbers for each piece: the first is its position, the second 1.
fn rows() -> Vec<f32> {
    (0..9_u8)
        .flat_map(|piece| [f32::from(piece), 1.0])
        .collect()
}

fn table() -> StaticTable {
    let file = tensors(&[("embeddings", "F32", &[9, 2], floats(&rows()))]);
    StaticTable::new(PIECES.join("\n").as_bytes(), &file).unwrap()
}

/// The positions of the pieces of a text.
fn pieces(text: &str) -> Vec<usize> {
    let mut found = Vec::new();
    table()
        .tokenizer
        .pieces_of(text, 512, &mut |piece| found.push(piece));
    found
}

#[test]
fn words_are_split_into_their_longest_pieces() {
    for (text, expected) in [
        ("oak", &[2][..]),
        ("Oaks TREEHOUSES!", &[2, 4, 3, 5, 4, 8]),
        ("oak\u{200B}\0s", &[2, 4]),
        ("oak\ttree\u{3000}oak", &[2, 3, 2]),
        ("É é e", &[7, 7, 7]),
        ("oakx tree", &[3]),
        ("oak,tree", &[2, 3]),
        ("[UNK] house", &[]),
        ("中oak中", &[2]),
        ("", &[]),
    ] {
        assert_eq!(pieces(text), expected, "{text:?}");
    }
}

#[test]
fn a_vector_is_the_direction_of_the_mean() {
    let (vector, is_cut) = table().embed("oak tree unheard");
    assert_eq!(vector, unit_vector::unit(&[5.0, 2.0]));
    assert!(!is_cut);
    assert_eq!(table().embed("unheard").0, Vec::<f32>::new());
}

#[test]
fn only_the_first_pieces_count() {
    let long = "oak ".repeat(MOST_PIECES) + "tree";
    assert_eq!(table().embed(&long), (table().embed("oak").0, true));
    assert_eq!(
        table().embed(long.trim_end_matches(" tree")),
        (table().embed("oak").0, false)
    );
}

#[test]
fn tables_of_all_kinds_of_numbers_give_the_same() {
    let bytes: Vec<u8> = (0..9_u8).flat_map(|piece| [piece, 1]).collect();
    let doubles: Vec<u8> = rows()
        .iter()
        .flat_map(|n| f64::from(*n).to_le_bytes())
        .collect();
    let halves: Vec<u8> = [
        0x0000, 0x3C00, 0x4000, 0x4200, 0x4400, 0x4500, 0x4600, 0x4700, 0x4800,
    ]
    .iter()
    .flat_map(|half: &u16| [half.to_le_bytes(), 0x3C00_u16.to_le_bytes()].concat())
    .collect();
    for (kind, data) in [("I8", bytes), ("F64", doubles), ("F16", halves)] {
        let file = tensors(&[("embeddings", kind, &[9, 2], data)]);
        let other = StaticTable::new(PIECES.join("\n").as_bytes(), &file).unwrap();
        for text in ["oak", "trees!", "e oaks"] {
            assert_eq!(other.embed(text), table().embed(text), "{kind}");
        }
    }
}

#[test]
fn pieces_have_weights_and_rows_of_their_own() {
    let weights = floats(&[0.0, 0.0, 1.0, 2.0, 0.0, 0.0, 0.0, 0.0, 0.0]);
    let mapping: Vec<u8> = [0_i64, 0, 1, 2, 0, 0, 0, 0, 0]
        .iter()
        .flat_map(|n| n.to_le_bytes())
        .collect();
    let file = tensors(&[
        (
            "embeddings",
            "F32",
            &[3, 2],
            floats(&[9.0, 9.0, 1.0, 0.0, 0.0, 1.0]),
        ),
        ("weights", "F32", &[9], weights),
        ("mapping", "I64", &[9], mapping),
    ]);
    let table = StaticTable::new(PIECES.join("\n").as_bytes(), &file).unwrap();
    assert_eq!(table.embed("oak tree").0, unit_vector::unit(&[1.0, 2.0]));
}

#[test]
fn a_tokenizer_of_json_is_the_same_as_its_vocabulary() {
    let vocabulary: serde_json::Map<String, Value> = PIECES
        .iter()
        .enumerate()
        .map(|(position, piece)| ((*piece).to_owned(), json!(position)))
        .collect();
    let file = json!({
        "normalizer": { "type": "BertNormalizer", "lowercase": true, "strip_accents": null },
        "pre_tokenizer": { "type": "BertPreTokenizer" },
        "model": { "type": "WordPiece", "vocab": vocabulary, "unk_token": "[UNK]" },
    });
    let numbers = tensors(&[("embeddings", "F32", &[9, 2], floats(&rows()))]);
    let other = StaticTable::new(file.to_string().as_bytes(), &numbers).unwrap();
    for text in ["Oaks TREEHOUSES!", "É", "oakx"] {
        assert_eq!(other.embed(text), table().embed(text));
    }
}

#[test]
fn files_that_do_not_fit_say_why() {
    let good = tensors(&[("embeddings", "F32", &[9, 2], floats(&rows()))]);
    let vocabulary = PIECES.join("\n");
    let one = |name, kind, shape, bytes| tensors(&[(name, kind, shape, bytes)]);
    let nan = [f32::NAN; 18];
    for (tokenizer, file, expected) in [
        (
            vocabulary.as_str(),
            b"x".to_vec(),
            "its model.safetensors is not one, or is cut off",
        ),
        (
            &vocabulary,
            good[..good.len() - 1].to_vec(),
            "no readable embeddings",
        ),
        (
            &vocabulary,
            one("other", "F32", &[9, 2], floats(&rows())),
            "has no embeddings",
        ),
        (
            &vocabulary,
            one("embeddings", "F32", &[18], floats(&rows())),
            "no table of rows",
        ),
        (
            &vocabulary,
            one("embeddings", "F32", &[9, 0], vec![]),
            "rows without numbers",
        ),
        (
            &vocabulary,
            one("embeddings", "BF16", &[9, 1], vec![0; 18]),
            "of the type \"BF16\"",
        ),
        (
            &vocabulary,
            one("embeddings", "F32", &[9, 2], floats(&nan)),
            "not finite, or above 1e15",
        ),
        (
            &vocabulary,
            one("embeddings", "I8", &[8, 1], vec![0; 8]),
            "9 pieces and its table 8",
        ),
        ("", good.clone(), "no word pieces"),
        ("{", good.clone(), "its tokenizer.json cannot be read"),
        (
            "{\"model\": {\"type\": \"BPE\"}}",
            good.clone(),
            "only WordPiece is read here",
        ),
        ("{\"model\": {}}", good.clone(), "no model with a vocab"),
        (
            "{\"model\": {\"vocab\": {\"a\": -1}}}",
            good.clone(),
            "no position for \"a\"",
        ),
        (
            "{\"model\": {\"vocab\": {\"a\": 0}}, \"normalizer\": {\"type\": \"NFC\"}}",
            good.clone(),
            "normalizes by \"NFC\"",
        ),
        (
            "{\"model\": {\"vocab\": {\"a\": 0}}, \"pre_tokenizer\": {\"type\": \"Metaspace\"}}",
            good.clone(),
            "splits by",
        ),
    ] {
        let error = StaticTable::new(tokenizer.as_bytes(), &file)
            .unwrap_err()
            .to_string();
        assert!(error.contains(expected), "{error}");
    }
}

proptest! {
    #[test]
    fn no_bytes_are_too_much(tokenizer: Vec<u8>, tensors: Vec<u8>) {
        let _ = StaticTable::new(&tokenizer, &tensors);
    }

    #[test]
    fn every_text_has_a_unit_vector_or_none(text: String) {
        let (vector, _) = table().embed(&text);
        let square: f32 = vector.iter().map(|number| number * number).sum();
        prop_assert!(vector.is_empty() || (square - 1.0).abs() < 1e-5);
    }
}
