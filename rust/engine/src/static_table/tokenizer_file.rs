//! Reading a tokenizer: `tokenizer.json` of the tokenizers library, or `vocab.txt` of BERT.

use serde_json::Value;

use super::numbers::unusable;
use super::word_piece::{Normalizer, WordPiece, WordPieces};
use crate::error::Result;

const PREFIX: &str = "##";
/// The limit of BERT's training.
const LONGEST_WORD: usize = 100;
const UNKNOWN: &str = "[UNK]";

/// The tokenizer of a file. JSON is an object, and a vocabulary has a piece on each line.
pub(super) fn read(bytes: &[u8]) -> Result<WordPiece> {
    let text = std::str::from_utf8(bytes)
        .map_err(|error| unusable(format!("its tokenizer is not UTF-8: {error}")))?;
    if text.trim_start().starts_with('{') {
        from_json(text)
    } else {
        from_lines(text)
    }
}

fn from_lines(text: &str) -> Result<WordPiece> {
    let pieces = text
        .lines()
        .enumerate()
        .map(|(position, piece)| (piece, position));
    word_piece(pieces, PREFIX, UNKNOWN, LONGEST_WORD, bert(true, None))
}

fn from_json(text: &str) -> Result<WordPiece> {
    let file: Value = serde_json::from_str(text)
        .map_err(|error| unusable(format!("its tokenizer.json cannot be read: {error}")))?;
    let model = &file["model"];
    // A file of an earlier version of the library names no kind.
    let kind = model["type"].as_str().unwrap_or("WordPiece");
    if kind != "WordPiece" {
        return Err(unusable(format!(
            "its tokenizer is {kind:?}, and only WordPiece is read here; use model2vec:FOLDER"
        )));
    }
    let splits = file["pre_tokenizer"]["type"].as_str();
    if splits.is_some_and(|splits| splits != "BertPreTokenizer") {
        return Err(unusable(format!(
            "its tokenizer splits by {splits:?}, and only BertPreTokenizer is read here; use \
             model2vec:FOLDER"
        )));
    }
    let Some(vocabulary) = model["vocab"].as_object() else {
        return Err(unusable("its tokenizer.json has no model with a vocab"));
    };
    let mut pieces = Vec::with_capacity(vocabulary.len());
    for (piece, position) in vocabulary {
        let position = position
            .as_u64()
            .and_then(|position| usize::try_from(position).ok());
        let Some(position) = position else {
            return Err(unusable(format!(
                "its tokenizer.json has no position for {piece:?}"
            )));
        };
        pieces.push((piece.as_str(), position));
    }
    let text = |key: &str, default| model[key].as_str().unwrap_or(default);
    let longest = model["max_input_chars_per_word"].as_u64();
    let longest = longest.and_then(|longest| usize::try_from(longest).ok());
    word_piece(
        pieces.into_iter(),
        text("continuing_subword_prefix", PREFIX),
        text("unk_token", UNKNOWN),
        longest.map_or(LONGEST_WORD, |longest| longest.min(LONGEST_WORD)),
        normalizer(&file["normalizer"])?,
    )
}

fn normalizer(value: &Value) -> Result<Normalizer> {
    let flag = |key: &str| value[key].as_bool();
    match value["type"].as_str() {
        None => Ok(Normalizer {
            clean: false,
            chinese: false,
            strip_accents: false,
            lowercase: false,
        }),
        Some("BertNormalizer") => {
            let lowercase = flag("lowercase").unwrap_or(true);
            Ok(Normalizer {
                clean: flag("clean_text").unwrap_or(true),
                chinese: flag("handle_chinese_chars").unwrap_or(true),
                ..bert(lowercase, flag("strip_accents"))
            })
        }
        Some(other) => Err(unusable(format!(
            "its tokenizer normalizes by {other:?}, and only BertNormalizer is read here; use \
             model2vec:FOLDER"
        ))),
    }
}

/// BERT's normalizer. Accents are stripped with case, unless the file says otherwise.
fn bert(lowercase: bool, strip_accents: Option<bool>) -> Normalizer {
    Normalizer {
        clean: true,
        chinese: true,
        strip_accents: strip_accents.unwrap_or(lowercase),
        lowercase,
    }
}

fn word_piece<'p>(
    pieces: impl Iterator<Item = (&'p str, usize)>,
    prefix: &str,
    unknown: &str,
    longest_word: usize,
    normalizer: Normalizer,
) -> Result<WordPiece> {
    let mut vocabulary = WordPieces::default();
    let mut unknown_piece = None;
    for (piece, position) in pieces {
        vocabulary.size = vocabulary.size.max(position.saturating_add(1));
        if piece == unknown {
            unknown_piece = Some(position);
        }
        match piece.strip_prefix(prefix) {
            Some(rest) if !rest.is_empty() && !prefix.is_empty() => {
                vocabulary.rest.insert(rest.to_owned(), position);
            }
            _ => {
                vocabulary.first.insert(piece.to_owned(), position);
            }
        }
    }
    if vocabulary.size == 0 {
        return Err(unusable("its tokenizer has no word pieces"));
    }
    Ok(WordPiece {
        normalizer,
        vocabulary,
        unknown: unknown_piece,
        longest_word,
    })
}
