//! Conflicts that git left in a text.

use hedgerow_engine::rule;

rule! {
    /// Marks of a git conflict outside of fenced code are a conflict, which recalls and lint report.
    pub(crate) static GIT_CONFLICTS = "git conflicts" {}
}

/// A line of a conflict.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Mark {
    Ours,
    Middle,
    Theirs,
}

/// The line, from 1, of the first conflict outside of fenced code, or None.
///
/// Each mark of a conflict is at the beginning of a line. `<<<<<<<` alone shows one, and so does `>>>>>>>` below `=======`,
/// because a mark may have been removed; after a blank line `>>>>>>>` is a quotation. Marks in fenced code are an example,
/// whatever the text says about them.
pub fn conflict_line(lines: &[&str]) -> Option<usize> {
    if !GIT_CONFLICTS.is_on() || !has_marks(lines) {
        return None;
    }
    let (mut middle, mut is_after_blank) = (None, true);
    for ((number, line), is_fenced) in (1..).zip(lines).zip(fenced(lines)) {
        if is_fenced {
            continue;
        }
        match mark_of(line) {
            Some(Mark::Ours) => return Some(number),
            Some(Mark::Middle) => middle = Some(number),
            Some(Mark::Theirs) if middle.is_some() && !is_after_blank => return middle,
            _ => {}
        }
        is_after_blank = line.trim().is_empty();
    }
    None
}

/// The line, from 1, of the first conflict with all its marks in a text without a conflict outside of fenced code, or None. It may
/// be an example, or a real conflict in code.
pub fn fenced_conflict_line(lines: &[&str]) -> Option<usize> {
    if !has_marks(lines) || conflict_line(lines).is_some() {
        return None;
    }
    let (mut start, mut has_middle) = (None, false);
    for (number, line) in (1..).zip(lines) {
        match mark_of(line) {
            Some(Mark::Ours) => (start, has_middle) = (Some(number), false),
            Some(Mark::Middle) => has_middle = true,
            Some(Mark::Theirs) if has_middle && start.is_some() => return start,
            _ => {}
        }
    }
    None
}

fn has_marks(lines: &[&str]) -> bool {
    let mut marks = lines.iter().filter_map(|line| mark_of(line));
    marks.any(|mark| mark != Mark::Middle)
}

fn mark_of(line: &str) -> Option<Mark> {
    let line = line.trim_end_matches('\r');
    let is = |mark: &str| {
        let rest = line.strip_prefix(mark);
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(' '))
    };
    match line.as_bytes().first()? {
        b'<' if is("<<<<<<<") => Some(Mark::Ours),
        b'=' if line == "=======" => Some(Mark::Middle),
        b'>' if is(">>>>>>>") => Some(Mark::Theirs),
        _ => None,
    }
}

/// Whether each line is within fenced code, without the line that begins it. A fence is closed by one of the same character
/// that is at least as long and alone on its line.
fn fenced<'a>(lines: &'a [&str]) -> impl Iterator<Item = bool> + 'a {
    let mut open: Option<&str> = None;
    lines.iter().map(move |line| {
        let was_open = open.is_some();
        match (open, fence(line)) {
            (None, new) => open = new,
            (Some(begin), Some(end)) if end.starts_with(begin) && line.trim() == end => open = None,
            _ => {}
        }
        was_open
    })
}

/// The backticks or tildes that begin a line of fenced code.
fn fence(line: &str) -> Option<&str> {
    let text = line.trim_start_matches(' ');
    let first = text.chars().next().filter(|one| matches!(one, '`' | '~'))?;
    let length = text.len() - text.trim_start_matches(first).len();
    (line.len() - text.len() <= 3 && length >= 3).then_some(&text[..length])
}

#[cfg(test)]
mod tests {
    use super::*;

    const CONFLICT: &str = "<<<<<<< HEAD\nb\n=======\nc\n>>>>>>> x\n";

    fn lines_of(text: &str) -> (Option<usize>, Option<usize>) {
        let lines: Vec<&str> = text.split('\n').collect();
        (conflict_line(&lines), fenced_conflict_line(&lines))
    }

    #[test]
    fn a_conflict_begins_lines_outside_of_code() {
        for (text, line) in [
            (CONFLICT, Some(1)),
            ("a\n<<<<<<<\nb", Some(2)),
            ("a\r\n=======\r\nb\r\n>>>>>>>\r\n", Some(2)),
            ("a\n=======\nb", None),
            ("a\n=======\n\n>>>>>>> b", None),
            (">>>>>>> a quotation in a quotation", None),
            ("<<<<<<<< HEAD\n========\n>>>>>>>> x", None),
            (
                "<<<<<<< HEAD\n```py\na\n=======\n```js\nb\n>>>>>>> x\n```",
                Some(1),
            ),
        ] {
            assert_eq!(lines_of(text), (line, None), "{text}");
        }
    }

    #[test]
    fn a_conflict_in_fenced_code_is_a_note_whatever_the_text_says() {
        for (before, after) in [("```sh", "```"), ("~~~", "~~~~"), ("````", "```\n````")] {
            let text = format!("A merge:\n{before}\n{CONFLICT}{after}\nend");
            assert_eq!(lines_of(&text), (None, Some(3)), "{text}");
            assert_eq!(lines_of(&format!("{text}\n{CONFLICT}")).1, None);
        }
        // A part of the marks is nothing.
        assert_eq!(lines_of("```\n<<<<<<< HEAD\nmake\n```\n"), (None, None));
    }
}
