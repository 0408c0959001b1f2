use proptest::prelude::*;
use serde_json::Value;

use super::*;
use crate::text::tokenizer::TokenizerKind;

/// Return the tokens by position, each with the others at the position.
fn positions(text: &str, mode: Mode) -> Vec<Vec<String>> {
    let mut found: Vec<Vec<String>> = Vec::new();
    TokenizerKind::Words
        .tokenize(text, mode, |token| {
            let text = String::from_utf8(token.text.to_vec()).unwrap();
            match found.last_mut() {
                Some(last) if token.colocated => last.push(text),
                _ => found.push(vec![text]),
            }
            true
        })
        .unwrap();
    found
}

#[test]
fn texts_have_the_tokens_of_the_fixture() {
    let cases = include_str!("../../../../../spec/fixtures/words/texts.jsonl");
    for line in cases.split('\n').filter(|line| !line.is_empty()) {
        let case: Value = serde_json::from_str(line).unwrap();
        let found = positions(case["text"].as_str().unwrap(), Mode::Document);
        assert_eq!(serde_json::json!(found), case["tokens"], "{line}");
    }
}

#[test]
fn queries_have_stems_and_no_last_units() {
    let (stem, none) = ("\u{1}", Vec::<Vec<String>>::new());
    for (text, expected) in [
        ("東京都庁", vec![vec!["东京"], vec!["京都"], vec!["都厅"]]),
        ("犬", vec![vec!["犬"]]),
        (
            "hedgehogs of oak",
            vec![
                vec!["hedgehog", "~hedgeh"],
                vec!["of", "of~"],
                vec!["oak", "oak~"],
            ],
        ),
        ("Gärtnerei", vec![vec!["gartnerei", "~gartne"]]),
        ("кустов", vec![vec!["кустов", "~кусто"]]),
        ("под", vec![vec!["под", "под~"]]),
        ("مكتبة", vec![vec!["مكتبة", "مكتبة~", "~مكتب"]]),
        (
            "\u{2}кустов hedgehogs",
            vec![vec!["кустов"], vec!["hedgehog"]],
        ),
        ("\u{2}hedgehogs", vec![vec!["hedgehog"]]),
        ("\u{2}C++ A#", vec![vec!["c"], vec!["a"]]),
        ("C++ oaks", vec![vec!["c"], vec!["oak", "oaks~"]]),
        ("\u{4}C++", vec![vec!["~c++"]]),
        (
            "\u{3}viet nguyen",
            vec![vec!["viet", "~viet", "viet~"], vec!["nguyen", "~nguyen"]],
        ),
    ] {
        let expected: Vec<Vec<String>> = expected
            .into_iter()
            .map(|all| all.into_iter().map(|one| one.replace('~', stem)).collect())
            .collect();
        assert_eq!(positions(text, Mode::Query), expected, "{text:?}");
    }
    assert_eq!(positions("программ", Mode::Prefix), [["программ"]]);
    assert_eq!(positions("\u{3}東京", Mode::Prefix), [["东京"]]);
    assert_eq!(positions("\u{2}…", Mode::Query), none);
    assert_eq!(positions("C++", Mode::Prefix), vec![vec!["c"]]);
}

/// Texts of a kind, and their folded form, which has the same tokens.
const FOLDED: [(&str, &str, &str); 12] = [
    (
        "letters of the collation",
        "Straße Łódź œuf",
        "STRASSE lodz oeuf",
    ),
    ("dotless i", "ısparta", "Isparta"),
    ("ligatures", "the ﬁeld, the ﬂoor", "the field, the floor"),
    (
        "digits of scripts",
        "٢٠٢٦ ۲۰۲۶ २०२६ ২০২৬ ๒๐๒๖",
        "2026 2026 2026 2026 2026",
    ),
    ("raised and lowered digits", "CO₂ m² ②", "CO2 m2 2"),
    ("widths", "ＡＢＣ１２ ｶﾞｷﾞ", "ABC12 ガギ"),
    ("letters in a square", "５㎏ ㍻", "5kg 平成"),
    (
        "forms of Han characters",
        "我的貓在廣場 渡邊 國圖",
        "我的猫在广场 渡辺 国图",
    ),
    ("nukta", "फ़ोन \u{929}", "फोन न"),
    ("nasals of Devanagari", "हिन्दी माँ सम्बन्ध", "हिंदी मां संबंध"),
    ("marks of repetition", "เด็กๆ เด็ก ๆ ເດັກໆ", "เด็ก เด็ก ເດັກ"),
    ("points of vowels", "كِتَابٌ בַּיִת", "كتاب בית"),
];

#[test]
fn a_text_has_the_tokens_of_its_folded_form() {
    for (kind, text, folded) in FOLDED {
        for mode in [Mode::Document, Mode::Query, Mode::Prefix] {
            assert_eq!(positions(text, mode), positions(folded, mode), "{kind}");
        }
    }
}

/// Words with signs that do not count, and without them.
const JOINED: [(&str, &str); 10] = [
    ("U.S.A.", "usa"),
    ("(e.g.", "EG"),
    ("Ph.D.", "PhD"),
    ("т.е.", "те"),
    ("12,000", "12000"),
    ("1.234.567", "1234567"),
    ("12'000", "12000"),
    ("12\u{202F}000", "12000"),
    ("'9,999'", "9999"),
    ("1,234.50", "1234"),
];

#[test]
fn a_word_is_found_without_the_signs_in_it_and_with_them() {
    for (text, word) in JOINED {
        for text in [text.to_owned(), format!("naïve {text} größe")] {
            let stored = positions(&text, Mode::Document).concat();
            let searched = positions(word, Mode::Query).concat();
            assert!(
                searched.iter().any(|token| stored.contains(token)),
                "{text}: {stored:?} {searched:?}"
            );
        }
    }
    for text in [
        "3.14",
        "0.125",
        "12,00",
        "1,2345",
        "node.js",
        "a.b.c.d.e.f",
        "10.1.2",
        "it's",
        "end.Next",
    ] {
        let joined = |tokens: Vec<String>| tokens.iter().any(|token| token.ends_with('\u{1}'));
        assert!(!joined(positions(text, Mode::Document).concat()), "{text}");
        assert_eq!(joined_of(text), None, "{text}");
    }
    assert_eq!(joined_of("(U.S.A.)"), Some("usa".to_owned()));
    assert_eq!(joined_of("12,000"), Some("12000".to_owned()));
}

fn joined_of(word: &str) -> Option<String> {
    super::joined(word)
}

#[test]
fn tokens_are_where_they_come_from() {
    let mut found = Vec::new();
    let text = "x ﾊﾘﾈ\u{301} cafe\u{301} Größere Hecken über Äpfeln U.S.A. 貓咪";
    TokenizerKind::Words
        .tokenize(text, Mode::Document, |token| {
            found.push((
                String::from_utf8(token.text.to_vec()).unwrap(),
                &text[token.range],
            ));
            true
        })
        .unwrap();
    let found: Vec<(&str, &str)> = found.iter().map(|(token, at)| (&**token, *at)).collect();
    assert_eq!(
        found[..8],
        [
            ("x", "x"),
            ("ハリ", "ﾊﾘ"),
            ("リネ", "ﾘﾈ\u{301}"),
            ("ネ\u{1}", "ﾈ\u{301}"),
            ("cafe", "cafe\u{301}"),
            ("grosser", "Größere"),
            ("\u{1}grosse", "Größere"),
            ("hecken", "Hecken"),
        ]
    );
    let end = [
        ("usa\u{1}", "U.S.A"),
        ("s", "S"),
        ("a", "A"),
        ("猫咪", "貓咪"),
        ("咪\u{1}", "咪"),
    ];
    assert_eq!(found[found.len() - 5..], end);
}

/// Return arbitrary text, rich in characters of the rules.
pub(super) fn text() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        3 => prop::sample::select(vec![
            "東京", "都", "ー", "の", "ｶ", "ﾞ", "서울", "ᄒ", "ᅡ", "ᆫ", "เม่น", "ไ", "ำ", "้", "ຫນ", "ខ្", "မြန်",
            "Ежи", "й", "Влади\u{301}мир", "Ὀδυσσεύς", "ב\u{5B7}", "كتاب", "ٱل", "\u{640}", "\u{200D}", "किताब",
            "é", "e\u{301}", "ế", "ß", "ø", "ı", "貓", "發", "२", "न्द", "फ़", "ๆ", "U.S.", "1,000", ".", ",", "İ", "ﬁ", "Größe", "wörter", "the", "and", "oak", "5", "２", "½", "ⅷ", "\u{AD}",
            "\0", "\u{1}", "\u{2}", "\u{3}", "\u{4}", "…", "😀", "👩🏽\u{200D}💻", "🇩🇪", "€", "C++", "a#", "+", " ", "\u{FE0F}", "\u{E000}", "\u{10FFFF}", "ﷺ", "𝒜", "𠮷",
        ]).prop_map(str::to_owned),
        1 => any::<String>(),
        1 => any::<char>().prop_map(String::from),
    ];
    prop::collection::vec(piece, 0..24).prop_map(|pieces| pieces.concat())
}

/// A run without spaces of one script.
fn run() -> impl Strategy<Value = (String, usize, usize)> {
    let units = prop_oneof![
        Just(vec!["東", "京", "都", "の", "ー", "々", "が"]),
        Just(vec!["한", "글", "서", "울"]),
        Just(vec!["เม่", "น", "จำ", "ศี", "ล", "ใต้", "พุ่", "ไม้", "เก"]),
    ];
    units
        .prop_flat_map(|units| prop::collection::vec(prop::sample::select(units), 2..60))
        .prop_flat_map(|units| {
            let count = units.len();
            (Just(units), 0..count - 1).prop_flat_map(move |(units, start)| {
                let most = (count - start).min(20);
                (Just(units), Just(start), 2..=most)
            })
        })
        .prop_map(|(units, start, count)| {
            let [before, within] =
                [0..start, start..start + count].map(|part| units[part].concat());
            let end = before.len() + within.len();
            (units.concat(), before.len(), end)
        })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    #[test]
    fn tokens_are_in_the_text_and_in_order(text in text(), mode in prop::sample::select(vec![Mode::Document, Mode::Query, Mode::Prefix])) {
        let mut start = 0;
        let mut is_first = true;
        TokenizerKind::Words.tokenize(&text, mode, |token| {
            assert!(text.get(token.range.clone()).is_some_and(|found| !found.is_empty()), "{token:?}");
            assert!(token.range.start >= start, "{token:?}");
            start = token.range.start.max(start);
            assert!(!token.text.is_empty());
            let word = std::str::from_utf8(token.text).unwrap();
            let marks = word.chars().filter(|c| *c < ' ').count();
            assert!(!(is_first && token.colocated));
            // The phrase of a word with symbols is a token at the position of the word.
            let is_of_symbols = mode == Mode::Query && text.starts_with('\u{4}');
            assert!(is_of_symbols || marks == usize::from(token.colocated), "{word:?}");
            is_first = false;
            true
        }).unwrap();
    }

    #[test]
    fn ascii_has_the_tokens_of_porter(text in "[ -~\t\n\0\u{1}]{0,60}") {
        let tokens = |kind: TokenizerKind, mode| {
            let mut found = Vec::new();
            kind.tokenize(&text, mode, |token| {
                found.push((token.text.to_vec(), token.range, token.colocated));
                true
            }).unwrap();
            found
        };
        for mode in [Mode::Document, Mode::Prefix] {
            let mut words = tokens(TokenizerKind::Words, mode);
            // Words with symbols share the positions of porter's tokens.
            words.retain(|(_, _, colocated)| !colocated);
            prop_assert_eq!(words, tokens(TokenizerKind::Porter, mode));
        }
    }

    #[test]
    fn decomposed_text_has_the_same_tokens(text in text()) {
        use unicode_normalization::UnicodeNormalization;
        let (composed, decomposed): (String, String) = (text.nfc().collect(), text.nfd().collect());
        prop_assert_eq!(positions(&composed, Mode::Document), positions(&decomposed, Mode::Document));
    }

    #[test]
    fn the_compatibility_form_of_folded_characters_has_the_same_tokens(text in text()) {
        use unicode_normalization::UnicodeNormalization;
        // Other characters, such as fractions, have a form that separates words.
        let is_folded = |c: &char| c.nfkc().eq(c.nfc()) || !foldings::composed_text(*c).is_empty();
        let text: String = text.chars().filter(is_folded).collect();
        let form: String = text.nfkc().collect();
        prop_assert_eq!(positions(&text, Mode::Document), positions(&form, Mode::Document));
    }

    #[test]
    fn a_part_of_a_run_is_a_phrase((run, start, end) in run()) {
        let (stored, phrase) = (positions(&run, Mode::Document), positions(&run[start..end], Mode::Query));
        let is_at = |at: &[Vec<String>]| at.iter().zip(&phrase).all(|(stored, word)| stored.contains(&word[0]));
        prop_assert!(stored.windows(phrase.len()).any(is_at), "{stored:?} {phrase:?}");
    }
}

#[test]
fn a_long_text_takes_time_in_proportion_to_its_length() {
    for piece in [
        "漢", "貓", "२", "न्", "a.", "1,111", "ø", "😀", "a+", "a#", "+", "a++", "\u{301}",
        "e\u{301}", "ๆ", "ß", "й", "ا", "\u{200D}", "ﾞ", "ᅡ", "ß ",
    ] {
        let text = format!("漢{}", piece.repeat(300_000));
        let mut bytes = 0;
        TokenizerKind::Words
            .tokenize(&text, Mode::Document, |token| {
                bytes += token.text.len();
                true
            })
            .unwrap();
        assert!(bytes <= 3 * text.len() + 1_000, "{piece:?}: {bytes}");
    }
}
