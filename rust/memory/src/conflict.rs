//! Conflicts that git left in a text.

/// Words of a text about conflicts, in several languages.
const SUBJECT: [&str; 12] = [
    "conflict",
    "conflit",
    "konflikt",
    "конфликт",
    "冲突",
    "衝突",
    "競合",
    "コンフリクト",
    "충돌",
    "merge",
    "rebase",
    "<<<<<<<",
];

/// The line, from 1, of the first conflict in a text; None if there is none.
///
/// Each mark of a conflict stands at the beginning of a line. `<<<<<<<` alone shows one, and so does `>>>>>>>` below `=======`,
/// because a mark may have been removed; after a blank line `>>>>>>>` is a quotation. In fenced code only a whole
/// conflict counts, whose versions differ, and only if the text outside of fenced code speaks of no conflict: otherwise
/// it is an example.
pub fn conflict_line(lines: &[&str]) -> Option<usize> {
    let is_last = |line: &&str| is_mark(line, "<<<<<<<") || is_mark(line, ">>>>>>>");
    if !lines.iter().any(is_last) {
        return None;
    }
    let is_fenced = fenced(lines);
    outside_of_code(lines, &is_fenced).or_else(|| {
        let line = whole_conflict(lines)?;
        let prose = lines
            .iter()
            .zip(&is_fenced)
            .filter(|(_, is_fenced)| !**is_fenced);
        let is_example = prose.into_iter().any(|(line, _)| {
            let line = line.to_lowercase();
            SUBJECT.iter().any(|subject| {
                // Not in *emerged*.
                let mut found = line.match_indices(subject);
                found.any(|(at, _)| !line[..at].ends_with(|one: char| one.is_ascii_alphanumeric()))
            })
        });
        (!is_example).then_some(line)
    })
}

/// Whether each line is within fenced code. The line that begins it is not: it may say what the code is.
fn fenced(lines: &[&str]) -> Vec<bool> {
    let mut is_within = false;
    let lines = lines.iter().map(|line| {
        let was_within = is_within;
        is_within ^= is_fence(line);
        was_within
    });
    lines.collect()
}

fn outside_of_code(lines: &[&str], is_fenced: &[bool]) -> Option<usize> {
    let (mut middle, mut is_after_blank) = (None, true);
    for ((number, line), is_fenced) in (1..).zip(lines).zip(is_fenced) {
        if *is_fenced {
            continue;
        }
        if is_mark(line, "<<<<<<<") {
            return Some(number);
        }
        if is_middle(line) {
            middle = Some(number);
        } else if middle.is_some() && !is_after_blank && is_mark(line, ">>>>>>>") {
            return middle;
        }
        is_after_blank = line.trim().is_empty();
    }
    None
}

/// The line of the first conflict with all its marks, wherever they are.
fn whole_conflict(lines: &[&str]) -> Option<usize> {
    let (mut start, mut middle) = (None, None);
    for (number, line) in lines.iter().enumerate() {
        if is_mark(line, "<<<<<<<") {
            (start, middle) = (Some(number), None);
        } else if start.is_some() && middle.is_none() && is_middle(line) {
            middle = Some(number);
        } else if let (Some(start), Some(middle)) = (start, middle)
            && is_mark(line, ">>>>>>>")
        {
            let ours = lines[start + 1..middle].iter();
            let ours = ours.take_while(|line| !is_mark(line, "|||||||"));
            if !ours.eq(&lines[middle + 1..number]) {
                return Some(start + 1);
            }
        }
    }
    None
}

fn is_middle(line: &str) -> bool {
    line.trim_end_matches('\r') == "======="
}

fn is_mark(line: &str, mark: &str) -> bool {
    let line = line.trim_end_matches('\r');
    line.strip_prefix(mark)
        .is_some_and(|rest| rest.is_empty() || rest.starts_with(' '))
}

fn is_fence(line: &str) -> bool {
    let text = line.trim_start_matches(' ');
    line.len() - text.len() <= 3 && (text.starts_with("```") || text.starts_with("~~~"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(text: &str) -> Option<usize> {
        conflict_line(&text.split('\n').collect::<Vec<_>>())
    }

    #[test]
    fn a_conflict_begins_lines_outside_of_code() {
        assert_eq!(line("a\n<<<<<<< HEAD\nb\n=======\nc\n>>>>>>> x"), Some(2));
        assert_eq!(line("a\n<<<<<<<\nb"), Some(2));
        assert_eq!(line("a\n=======\nb\n>>>>>>> x"), Some(2));
        assert_eq!(line("a\r\n=======\r\nb\r\n>>>>>>>\r\n"), Some(2));
        assert_eq!(line("a\n=======\nb"), None);
        assert_eq!(line("a\n=======\n\n>>>>>>> b"), None);
        assert_eq!(line(">>>>>>> a quotation in a quotation"), None);
        assert_eq!(line("```\n<<<<<<< HEAD\n=======\n>>>>>>> x\n```"), None);
        assert_eq!(
            line("<<<<<<< HEAD\n```py\na\n=======\n```js\nb\n>>>>>>> x\n```"),
            Some(1)
        );
        assert_eq!(line("<<<<<<<< HEAD\n========\n>>>>>>>> x"), None);
    }

    #[test]
    fn a_whole_conflict_in_code_counts_unless_the_text_speaks_of_conflicts() {
        let code = "```sh\ncd src\n<<<<<<< HEAD\nmake\n=======\nmake all\n>>>>>>> other\n```\n";
        assert_eq!(line(&format!("# Build\n\n{code}")), Some(5));
        assert_eq!(
            line(&format!("# Git\n\nA Merge leaves marks:\n\n{code}")),
            None
        );
        assert_eq!(line(&format!("Ein Konflikt:\n{code}")), None);
        assert_eq!(line(&format!("It emerged:\n{code}")), Some(4));
        assert_eq!(line(&code.replace("sh", "conflict")), None);
        assert_eq!(line(&format!("`<<<<<<<` begins it:\n{code}")), None);
        // A part of the marks is an example, and so are equal versions.
        assert_eq!(line("```\n<<<<<<< HEAD\nmake\n```\n"), None);
        assert_eq!(
            line("```\n<<<<<<< a\nx\n||||||| b\ny\n=======\nx\n>>>>>>> c\n```"),
            None
        );
        // The first version ends the code.
        let torn = "```sh\n<<<<<<< HEAD\nmake\n```\n=======\nmake all\n```\n>>>>>>> other\n";
        assert_eq!(line(&format!("# Build\n\n{torn}")), Some(4));
    }
}
