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
    SOURCES,
    "## Maintenance",
];
const SOURCES: &str = "## Source memories";
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

/// The paths of the memories that a generated part names as its sources.
pub fn sources(text: &str) -> impl Iterator<Item = &str> {
    let generated = text
        .split_once(BEGIN)
        .and_then(|(_, rest)| rest.split_once(END));
    let part = generated.map_or("", |(generated, _)| generated);
    let below = part.split_once(SOURCES).map_or("", |(_, below)| below);
    let lines = below.split('\n').take_while(|line| !line.starts_with('#'));
    lines.filter_map(|line| Some(line.strip_prefix("- `")?.split_once("` ")?.0))
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

    #[test]
    fn sources_are_those_of_the_generated_part() {
        let list = "- `notes/a.md` — A (note)\n- `b c.md` — B\n";
        let text = format!(
            "- `x.md` — X\n{BEGIN}\n- **A** [source: `old.md`]\n\n{SOURCES}\n\n{list}\n## Maintenance\n- `y.md` — Y\n{END}\n"
        );
        assert_eq!(sources(&text).collect::<Vec<_>>(), ["notes/a.md", "b c.md"]);
        assert_eq!(sources(list).count(), 0);
    }
}
