//! Plain text to chunks: passages, cut at blank lines (spec/ingest.md, "Plain text").

use hedgerow_engine::chunks::Chunk;

use crate::folder::source::SourceFile;
use crate::format::chunks::chunk_of;
use crate::format::passages::{NO_BOUNDARY, PassageSplitter, first_sentence};
use crate::format::turns::Turns;
use crate::text;

const LONGEST_TITLE: usize = 100;

/// Return the passages of a text, titled with its first line if that stands alone.
pub fn plain_text_chunks(source: &SourceFile<'_>, text: &str) -> Vec<Chunk> {
    let lines: Vec<&str> = text.split('\n').collect();
    let title = title_of(&lines, source);
    let boundaries = paragraph_starts(&lines);
    let splitter = PassageSplitter::new(&lines, &boundaries);
    let turns = Turns::of(&lines);
    let mut chunks = Vec::new();
    for piece in turns.pieces(&lines, 0, lines.len()) {
        for passage in splitter.split(piece.start, piece.end) {
            let heading = if chunks.is_empty() {
                title.as_str()
            } else {
                ""
            };
            let summary = first_sentence(&body(&passage.text, heading));
            let mut chunk = chunk_of(source, chunks.len(), passage, title.clone(), summary);
            if let Some(voice) = piece.voice {
                voice.add_to(&mut chunk.metadata);
            }
            chunks.push(chunk);
        }
    }
    chunks
}

/// The first line if it stands alone like a heading, else the file's name.
fn title_of(lines: &[&str], source: &SourceFile<'_>) -> String {
    let Some(first) = lines.iter().position(|line| !is_rule(line)) else {
        return source.title();
    };
    let line = text::one_line(lines[first]);
    let stands_alone = lines.get(first + 1).is_none_or(|below| is_rule(below));
    // In reStructuredText a line that begins like this is a comment, a target or a directive.
    let is_title = text::length(&line) <= LONGEST_TITLE && !line.starts_with(".. ");
    if stands_alone && is_title {
        line
    } else {
        source.title()
    }
}

/// Whether a line is blank or only underlines the one above it.
fn is_rule(line: &str) -> bool {
    let line = text::trimmed(line);
    match line.chars().next() {
        None => true,
        Some(first) => !first.is_alphanumeric() && line.chars().all(|one| one == first),
    }
}

/// The text without its title, if other text follows.
fn body(text: &str, title: &str) -> String {
    if let Some((first, rest)) = text.split_once('\n')
        && !title.is_empty()
        && text::one_line(first) == title
        && !text::is_blank(rest)
    {
        let kept = rest
            .split('\n')
            .filter(|line| line.is_empty() || !is_rule(line));
        return kept.collect::<Vec<_>>().join("\n");
    }
    text.to_owned()
}

/// For each line whether a paragraph starts on it.
fn paragraph_starts(lines: &[&str]) -> Vec<u8> {
    let mut boundaries = vec![NO_BOUNDARY; lines.len()];
    let mut is_after_blank = false;
    for (boundary, line) in boundaries.iter_mut().zip(lines) {
        let is_blank = text::is_blank(line);
        if is_after_blank && !is_blank {
            *boundary = 0;
        }
        is_after_blank = is_blank;
    }
    boundaries
}
