//! Conflicts that git left in a text.

/// The line, from 1, of the first conflict in a text; None if there is none.
///
/// Each mark of a conflict stands at the beginning of a line. `<<<<<<<` alone shows one, and so does `>>>>>>>` below `=======`,
/// because a mark may have been removed; after a blank line `>>>>>>>` is a quotation. A conflict inside fenced code is
/// an example.
pub fn conflict_line(lines: &[&str]) -> Option<usize> {
    let (mut middle, mut is_fenced, mut is_after_blank) = (None, false, true);
    for (number, line) in (1..).zip(lines) {
        if is_fence(line) {
            is_fenced = !is_fenced;
        }
        if is_fenced {
            continue;
        }
        if is_mark(line, "<<<<<<<") {
            return Some(number);
        }
        if *line == "=======" {
            middle = Some(number);
        } else if middle.is_some() && !is_after_blank && is_mark(line, ">>>>>>>") {
            return middle;
        }
        is_after_blank = line.trim().is_empty();
    }
    None
}

fn is_mark(line: &str, mark: &str) -> bool {
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

    #[test]
    fn a_conflict_begins_lines_outside_of_code() {
        let line = |text: &str| conflict_line(&text.split('\n').collect::<Vec<_>>());
        assert_eq!(line("a\n<<<<<<< HEAD\nb\n=======\nc\n>>>>>>> x"), Some(2));
        assert_eq!(line("a\n<<<<<<<\nb"), Some(2));
        assert_eq!(line("a\n=======\nb\n>>>>>>> x"), Some(2));
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
}
