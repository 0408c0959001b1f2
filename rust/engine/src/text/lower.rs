//! Lower-casing with the full Unicode rules, final sigma included (`toLocaleLowerCase('en')`).

/// `text` in lower case; one character may become several (`İ` becomes `i` and U+0307).
pub fn lower(mut text: String) -> String {
    if text.is_ascii() {
        text.make_ascii_lowercase();
        text
    } else {
        text.to_lowercase()
    }
}

/// Lower-case the ASCII characters of a text, plus two others: enough for a pattern of ASCII
/// characters on [`lower`]`(text)`, at a fraction of the cost.
///
/// Outside ASCII just two characters have ASCII in their lower case; the others stay.
pub fn lower_ascii(mut text: String) -> String {
    text.make_ascii_lowercase();
    if text.is_ascii() || !text.contains(['\u{130}', '\u{212A}']) {
        return text;
    }
    text.replace('\u{130}', "i\u{307}").replace('\u{212A}', "k")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ascii_in_lower_case_comes_from_ascii_or_two_others() {
        let visible = |text: String| text.replace(|c: char| !c.is_ascii(), "-");
        for c in '\0'..=char::MAX {
            let text = format!("aΣ{c}Σ b");
            assert_eq!(
                visible(lower_ascii(text.clone())),
                visible(lower(text)),
                "{c:?}"
            );
        }
    }

    #[test]
    fn special_cases_follow_unicode() {
        for (text, expected) in [
            ("ΑΣ", "ας"),
            ("ΑΣ-Β", "ας-β"),
            ("İ", "i\u{307}"),
            ("𞤀", "𞤢"),
            ("\u{212A}", "k"),
        ] {
            assert_eq!(lower(text.to_owned()), expected, "{text}");
        }
    }
}
