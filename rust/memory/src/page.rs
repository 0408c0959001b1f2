//! The generated part of a page that sums up others (spec/memory.md, "Synthesize").

/// The lines of a generated part that are the same on every page: the two comments around it, its subject,
/// its handling, and its headings.
pub const FRAME: [&str; 8] = [
    BEGIN,
    END,
    "What the memories below say, a line each, the newest first.",
    "Text between the two comments is replaced by the next synthesis; text outside stays.",
    "## Current understanding",
    "## No longer holds",
    "## Source memories",
    "## Maintenance",
];
const BEGIN: &str = "<!-- hedgerow:begin -->";
const END: &str = "<!-- hedgerow:end -->";

/// The lines with those of the frame blank: they say nothing. Line numbers stay those of the file.
pub fn without_frame<'l>(lines: &[&'l str]) -> Vec<&'l str> {
    let mut inside = false;
    let kept = lines.iter().map(|line| {
        inside = inside || *line == BEGIN;
        let kept = if inside && FRAME.contains(line) {
            ""
        } else {
            line
        };
        inside = inside && *line != END;
        kept
    });
    kept.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_frame_alone_is_blank() {
        let lines = [
            "## Maintenance",
            BEGIN,
            "## Maintenance",
            "a",
            END,
            "## Maintenance",
        ];
        assert_eq!(
            without_frame(&lines),
            ["## Maintenance", "", "", "a", "", "## Maintenance"]
        );
    }
}
