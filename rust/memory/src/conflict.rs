//! Conflicts that git left in a text.

/// The line, from 1, of the first conflict in a text; None if there is none.
///
/// The three marks of a conflict stand at the beginning of lines, in their order. A conflict inside
/// fenced code is an example.
pub fn conflict_line(lines: &[&str]) -> Option<usize> {
    let (mut begin, mut has_middle, mut is_fenced) = (None, false, false);
    for (number, line) in lines.iter().enumerate() {
        if is_fence(line) {
            is_fenced = !is_fenced;
        }
        // The sides of a conflict that begins outside may begin or end code.
        if is_fenced && begin.is_none() {
            continue;
        }
        if is_mark(line, "<<<<<<<") {
            (begin, has_middle) = (Some(number + 1), false);
        } else if *line == "=======" && begin.is_some() {
            has_middle = true;
        } else if has_middle && is_mark(line, ">>>>>>>") {
            return begin;
        }
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
    fn the_marks_stand_in_their_order_outside_of_code() {
        let line = |text: &str| conflict_line(&text.split('\n').collect::<Vec<_>>());
        assert_eq!(line("a\n<<<<<<< HEAD\nb\n=======\nc\n>>>>>>> x"), Some(2));
        assert_eq!(line("<<<<<<<\n<<<<<<< HEAD\n=======\n>>>>>>>"), Some(2));
        assert_eq!(line("=======\n>>>>>>> x\n<<<<<<< HEAD"), None);
        assert_eq!(line("```\n<<<<<<< HEAD\n=======\n>>>>>>> x\n```"), None);
        assert_eq!(
            line("<<<<<<< HEAD\n```py\na\n=======\n```js\nb\n>>>>>>> x\n```"),
            Some(1)
        );
        assert_eq!(line("<<<<<<<< HEAD\n=======\n>>>>>>> x"), None);
    }
}
