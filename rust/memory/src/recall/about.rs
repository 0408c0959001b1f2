//! Descriptions of folders: the texts of their `_about.md` files (spec/memory.md, "Folders").

use std::collections::HashSet;

use hedgerow_engine::Result;
use hedgerow_engine::index::session::Session;

use crate::recall::columns::{FileColumns, RecallFilter};
use crate::recall::request::FOUND;
use crate::text::{head, length, trimmed, trimmed_end};

/// The name of the file that describes the memories of its folder and of the folders below.
pub const NAME: &str = "_about.md";
/// The most characters of a text that is returned: it comes with every answer.
const LONGEST: usize = 1_000;
/// The most folders of one answer.
const MOST_FOLDERS: usize = 20;

/// The description of a folder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct About {
    /// The path of the folder, `.` for the indexed folder.
    pub folder: String,
    /// The path of its file.
    pub file: String,
    /// The text of the file, cut between words.
    pub text: String,
}

/// Return the descriptions of the folders around some files, in the order of the folders.
///
/// Of more than 20 folders those of the first files count. A file that is among `files`, or that does not
/// hold at the time of the filter, is left out.
pub(crate) fn abouts(
    session: &Session<'_>,
    columns: &FileColumns,
    filter: &RecallFilter,
    files: &[&str],
) -> Result<Vec<About>> {
    let mut found = Vec::new();
    let mut seen: HashSet<String> = files.iter().map(|file| (*file).to_owned()).collect();
    for file in files {
        let folders = [0].into_iter();
        for end in folders.chain(file.match_indices('/').map(|(at, _)| at + 1)) {
            let path = format!("{}{NAME}", &file[..end]);
            if found.len() == MOST_FOLDERS || !seen.insert(path.clone()) {
                continue;
            }
            let Some(number) = columns.number_of(&path) else {
                continue;
            };
            if !columns.is_shown(number, filter) {
                continue;
            }
            let text = text_of(session, columns.rows_of(number))?;
            if !text.is_empty() {
                let folder = match file[..end].trim_end_matches('/') {
                    "" => ".",
                    folder => folder,
                };
                found.push(About {
                    folder: folder.to_owned(),
                    file: path,
                    text,
                });
            }
        }
    }
    let folders = |one: &About| -> Vec<String> {
        let mut parts: Vec<String> = one.file.split('/').map(str::to_owned).collect();
        parts.pop();
        parts
    };
    found.sort_by_cached_key(folders);
    Ok(found)
}

/// The text of the chunks of a file, cut between words.
fn text_of(session: &Session<'_>, rows: &[i64]) -> Result<String> {
    let rows: Vec<(i64, &str)> = rows.iter().map(|row| (*row, FOUND)).collect();
    let mut chunks = session.texts(&rows)?;
    chunks.sort_by_key(|chunk| chunk.ordinal);
    let parts: Vec<&str> = chunks.iter().map(|chunk| chunk.content.as_str()).collect();
    let whole = parts.join("\n\n");
    let text = trimmed(&whole);
    if length(text) <= LONGEST {
        return Ok(text.to_owned());
    }
    let part = head(text, LONGEST);
    let half = head(text, LONGEST / 2);
    let end = part.rfind(' ').unwrap_or(0).max(half.len());
    Ok(format!("{}\u{2026}", trimmed_end(&part[..end])))
}
