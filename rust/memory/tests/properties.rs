//! Properties of any file: no panic, lines in range, texts of chunks from the file.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

use hedgerow_memory::edit::{Changes, changed};
use hedgerow_memory::folder::{SourceFile, text_of};
use hedgerow_memory::format::{FrontMatter, inline_tags, link_positions, read_chunks};
use proptest::prelude::*;
use serde_json::{Map, json};

const PIECES: [&str; 48] = [
    "---\n",
    "...\n",
    "a: ",
    "- ",
    "b:\n",
    "&a ",
    "*a",
    "<<: ",
    "[",
    "]",
    "{",
    "}",
    "? ",
    "!!int ",
    "| ",
    ">\n",
    "\"",
    "'",
    "\\",
    "#",
    "\t",
    "\n",
    "\n",
    "  ",
    "0x1",
    "1e3",
    ".inf",
    "~",
    "2026-04-18 10:30:45",
    "title: x\n",
    "tags: [a, b]\n",
    "é",
    "🦔",
    "\\ud83e",
    "- - -\n",
    "# h\n",
    "```\n",
    "<!--",
    "![",
    "](x)",
    "[[a]]",
    "|a|b|\n|-|-|\n",
    "> ",
    "A sentence. ",
    "#tag ",
    "\u{85}",
    "\u{2028}",
    "\u{feff}",
];

fn texts() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        8 => (0..PIECES.len()).prop_map(|at| PIECES[at].to_owned()),
        1 => ".{0,5}",
    ];
    prop::collection::vec(piece, 0..40).prop_map(|pieces| pieces.concat())
}

fn check(path: &str, data: &[u8]) {
    let source = SourceFile {
        path,
        file: "/file",
    };
    let Ok(results) = read_chunks(&source, Some(data)) else {
        return;
    };
    let text = text_of(data).unwrap_or_default();
    let lines: Vec<&str> = text.split('\n').collect();
    for chunk in results.filter_map(|result| result.ok()?.ok()) {
        let line = |key: &str| usize::try_from(chunk.metadata[key].as_u64().unwrap()).unwrap();
        let (first, last) = (line("line_start"), line("line_end"));
        assert!(1 <= first && first <= last && last <= lines.len());
        if path != "a.jsonl" {
            for line in chunk.content.split('\n') {
                assert!(lines[first - 1..last].iter().any(|one| one.contains(line)));
            }
        }
    }
}

proptest! {
    #[test]
    fn chunks_are_of_the_file(data in prop::collection::vec(any::<u8>(), 0..200)) {
        for path in ["a.md", "a.txt", "a.jsonl"] {
            check(path, &data);
        }
    }

    #[test]
    fn chunks_of_texts_are_of_the_file(block in texts(), body in texts()) {
        for text in [format!("---\n{block}\n---\n{body}"), body] {
            check("a.md", text.as_bytes());
            check("a.txt", text.as_bytes());
        }
    }

    #[test]
    fn positions_are_in_the_text(text in texts()) {
        inline_tags(&text);
        for link in link_positions(&text).links {
            prop_assert!(link.start <= link.end && text.get(link.start..link.end).is_some());
        }
    }

    #[test]
    fn a_changed_block_reads_back(block in texts()) {
        let changes = Changes {
            fields: Map::from_iter([("new".to_owned(), json!(["x", 1]))]),
            removed: vec!["a".to_owned()],
            ..Changes::default()
        };
        if let Ok(text) = changed(&format!("---\n{block}\n---\n"), changes) {
            let plain = text.replace("\r\n", "\n");
            let lines: Vec<&str> = plain.split(['\r', '\n']).collect();
            let read = FrontMatter::read(&lines);
            prop_assert_eq!(read.fields.get("new"), Some(&json!(["x", 1])), "{}", text);
            prop_assert_eq!(read.fields.get("a"), None);
        }
    }
}
