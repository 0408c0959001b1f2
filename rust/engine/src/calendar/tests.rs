//! The calendar as its users see it: dates of every form, and the periods of ten languages.

use proptest::prelude::*;

use super::names::NAMES;
use super::*;

/// Saturday, 18 April 2026, 9:30 in UTC.
fn saturday() -> Time {
    read("2026-04-18T09:30Z").unwrap().time()
}

/// The periods of a question asked on that day, each as its first and last day, or `*` for any year.
fn shown(question: &str) -> Vec<String> {
    let text = |period: &NamedPeriod| match period {
        NamedPeriod::Days { first, last, unit } => {
            format!("{} {} {}", unit.as_str(), iso_day(*first), iso_day(*last))
        }
        NamedPeriod::EveryYear { month, day } => {
            format!(
                "*-{month}-{}",
                day.map_or("*".to_owned(), |day| day.to_string())
            )
        }
    };
    let named = periods(question, Some(saturday().day()));
    named.periods.iter().map(text).collect()
}

mod dates {
    use super::*;

    #[test]
    fn one_date_has_many_forms() {
        for text in "2026-03-05| 2026-03-05 |2026/3/5|2026.03.5|2026_3_05".split('|') {
            let stated = read(text).unwrap();
            assert_eq!(stated.precision(), Precision::Day, "{text}");
            assert_eq!(
                stated.time().to_iso(),
                "2026-03-05T00:00:00+00:00",
                "{text}"
            );
        }
        for (text, start, end) in [
            (
                "2026",
                "2026-01-01T00:00:00+00:00",
                "2026-12-31T23:59:59.999999+00:00",
            ),
            (
                "2024/2",
                "2024-02-01T00:00:00+00:00",
                "2024-02-29T23:59:59.999999+00:00",
            ),
            (
                "9999-12",
                "9999-12-01T00:00:00+00:00",
                "9999-12-31T23:59:59.999999+00:00",
            ),
            (
                "2026-03-05T10:20",
                "2026-03-05T10:20:00+00:00",
                "2026-03-05T10:20:00+00:00",
            ),
            (
                "2026-03-05 9:20:30.5 Z",
                "2026-03-05T09:20:30.500000+00:00",
                "2026-03-05T09:20:30.500000+00:00",
            ),
            (
                "2026/3/5t10:20:30,1234567+02:30",
                "2026-03-05T10:20:30.123456+02:30",
                "2026-03-05T10:20:30.123456+02:30",
            ),
            (
                "0001-01-01T00:00-2359",
                "0001-01-01T00:00:00-23:59",
                "0001-01-01T00:00:00-23:59",
            ),
            (
                "1900-01-01 00:00+00:53:28",
                "1900-01-01T00:00:00+00:53:28",
                "1900-01-01T00:00:00+00:53:28",
            ),
        ] {
            let stated = read(text).unwrap();
            assert_eq!(stated.time().to_iso(), start, "{text}");
            assert_eq!(stated.end().to_iso(), end, "{text}");
        }
    }

    #[test]
    fn what_is_no_date_is_none() {
        for text in
            "|0000|24|20240305|2024-00|2024-13|2024-02-30|2023-02-29|1900-02-29|2024-03-05T|\
            2024-03-05T24:00|2024-03-05T10:60|2024-03-05T10:00:00.|2024T10:00|2024-03T10:00|\
            2024-03-05T10:00+|2024-03-05T10:00+24:00|2024-03-05Z|2024-03-051|2024-3/5|2024.03|\
            \u{662}\u{660}\u{662}\u{664}|yesterday|2024-03-05T10:00[UTC]"
                .split('|')
        {
            assert_eq!(read(text), None, "{text:?}");
        }
    }

    #[test]
    fn instants_have_nanoseconds_and_ages_are_days() {
        assert_eq!(
            instant("1970-01-01T00:00:00,123456789Z"),
            Some((0, 123_456_789))
        );
        assert_eq!(instant("2024-03-05T14:30:15+02"), Some((1_709_641_815, 0)));
        assert_eq!(instant("0001"), Some((-62_135_596_800, 0)));
        let ages = ["30d", " 2w ", "99999w", "100000d", "d", "-1d", "3m", "1 d"].map(age);
        assert_eq!(
            ages,
            [
                Some(30),
                Some(14),
                Some(699_993),
                None,
                None,
                None,
                None,
                None
            ]
        );
        assert_eq!(read("9999-12-31").unwrap().time().after_days(1), None);
    }

    #[test]
    fn the_day_of_a_chunk_is_that_at_the_beginning() {
        assert_eq!(day_at("1970-01-02T23:00-05:00"), Some(1));
        for text in "1970-01-021|1970-1-02|1970-13-01|x1970-01-02|".split('|') {
            assert_eq!(day_at(text), None, "{text}");
        }
    }

    #[test]
    fn a_date_time_is_written_with_a_t() {
        assert_eq!(
            iso_date_time("2026-4-8 9:30:00 +02:00").as_deref(),
            Some("2026-04-08T09:30:00+02:00")
        );
        assert_eq!(iso_date_time("2026-04-08"), None);
    }

    proptest! {
        #[test]
        fn any_text_is_a_date_or_none(text in "[0-9TtZz:.,+/ -]{0,30}|\\PC{0,12}") {
            if let Some(stated) = read(&text) {
                prop_assert!(stated.time() <= stated.end());
                prop_assert_eq!(read(&stated.time().to_iso()).unwrap().time(), stated.time());
            }
            age(&text);
            day_at(&text);
            iso_date_time(&text);
        }

        #[test]
        fn a_time_in_iso_is_that_time(micros in -62_135_596_800_000_000_i64..253_402_300_800_000_000, offset in -86_399..86_400) {
            let time = Time { micros, offset };
            let local = micros + i64::from(offset) * 1_000_000;
            prop_assume!((-62_135_596_800_000_000..253_402_300_800_000_000).contains(&local));
            prop_assert_eq!(read(&time.to_iso()).unwrap().time(), time);
        }

        #[test]
        fn every_day_has_a_date(day in -719_162..2_932_897_i32) {
            prop_assert_eq!(day_of(read(&iso_day(day)).unwrap().date()), day);
        }
    }
}

/// The days of relative phrases are the same in every language that has a phrase for them.
#[test]
fn a_period_is_the_same_in_every_language() {
    for (expected, phrases) in [
        (
            "day 2026-04-18 2026-04-18",
            "today|heute|aujourd’hui|hoy|hoje|oggi|vandaag|сегодня|今天|今日",
        ),
        (
            "day 2026-04-17 2026-04-17",
            "Yesterday|gestern|hier|ayer|ontem|ieri|gisteren|вчера|昨天|昨日|last Friday|a day ago",
        ),
        (
            "day 2026-04-16 2026-04-16",
            "the day before yesterday|vorgestern|avant-hier|anteayer|anteontem|l'altro ieri|eergisteren|\
                позавчера|前天|一昨日",
        ),
        (
            "day 2026-04-15 2026-04-15",
            "3 days ago|three days ago|vor drei Tagen|il y a 3 jours|hace tres días|há 3 dias|\
                3 giorni fa|drie dagen geleden|3 дня назад|3天前|三天前|3 日前|３日前",
        ),
        (
            "week 2026-04-06 2026-04-12",
            "last week|LAST WEEK|letzte Woche|la semaine dernière|semaine derniere|la semana pasada|\
                semana passada|settimana scorsa|vorige week|на прошлой неделе|上周|上週|先週|a week ago|\
                vor einer Woche|hace una semana|неделю назад",
        ),
        (
            "month 2026-03-01 2026-03-31",
            "last month|letzten Monat|le mois dernier|mes pasado|mês passado|mese scorso|vorige maand|\
                в прошлом месяце|上个月|先月",
        ),
        (
            "year 2024-01-01 2024-12-31",
            "two years ago|vor 2 Jahren|il y a deux ans|hace 2 años|há dois anos|2 anni fa|\
                2 jaar geleden|два года назад|两年前|2 年前",
        ),
        (
            "day 2026-04-13 2026-04-13",
            "last Monday|letzten Montag|lundi dernier|lunes pasado|segunda-feira passada|lunedì scorso|\
                afgelopen maandag|прошлый понедельник|本周一|今週の月曜日",
        ),
        ("day 2026-04-06 2026-04-06", "上周一|先週の月曜日"),
        ("day 2026-04-11 2026-04-11", "last Saturday"),
    ] {
        for phrase in phrases.split('|') {
            assert_eq!(shown(phrase), [expected], "{phrase}");
        }
    }
}

#[test]
fn dates_are_read_in_the_orders_of_every_language() {
    for (expected, texts) in [
        (
            "day 2024-01-23 2024-01-23",
            "2024-01-23|2024/1/23|2024.01.23|23.01.2024|23/1/2024|1/23/2024|23-01-2024|23 January 2024|\
                23rd of January 2024|January 23rd, 2024|Jan 23, 2024|23. Januar 2024|23 janvier 2024|\
                23 de enero de 2024|23 января 2024 г.|2024年1月23日|23 jan 2024|january 23 2024",
        ),
        (
            "*-5-8",
            "8 May|May 8th|the 8th of may|8. Mai|8 mai|8 de mayo|8 мая|5月8日|on 8. Mai.|le 8 mai",
        ),
        (
            "month 2023-05-01 2023-05-31",
            "May 2023|in may 2023|2023-05|2023/5|Mai 2023|mai 2023|mayo de 2023|май 2023|2023年5月|May, 2023",
        ),
        (
            "*-5-*",
            "what was in May?|in may|notes of May|was im Mai war|en mai|el mayo|в мае или май|五月|5月の計画|May",
        ),
        ("*-3-*", "planned in march"),
    ] {
        for text in texts.split('|') {
            assert_eq!(shown(text), [expected], "{text}");
        }
    }
    assert_eq!(
        shown("05/04/2024"),
        ["day 2024-04-05 2024-04-05", "day 2024-05-04 2024-05-04"]
    );
    assert_eq!(shown("29 February 2023"), ["month 2023-02-01 2023-02-28"]);
    assert_eq!(shown("31 April"), ["*-4-*"]);
}

#[test]
fn other_words_are_no_periods() {
    for text in "|the last hedge|blast week|weekly|may we cut?|May I ask who may come?|\
        how far did they march|what did Mar say to Jan|3 out of 5|set 2 alarms|5000000 years ago|\
        1.5 weeks ago|2,5 days ago|2023-13-01|room 12345 of 8|ask Marco and Julio|last. Week|\
        plan NOT yesterday|plan -yesterday|\"last week we met\"|hedge \"yesterday|“last week”|\
        „letzte Woche“|« hier »|「上周」|`today`|10.1.2.2024|in 0000|the song Yesterday|\
        they say on Last Week Tonight"
        .split('|')
    {
        assert_eq!(shown(text), Vec::<String>::new(), "{text}");
    }
}

#[test]
fn the_rest_is_the_question_without_its_periods() {
    for (question, rest) in [
        ("what did I do last week", "what did I do"),
        ("slugs, yesterday, in the T-bed", "slugs,  , in the T-bed"),
        ("last week", ""),
        ("昨天我做了什么", "我做了什么"),
        ("\"last week\" today", "\"last week\""),
    ] {
        let named = periods(question, Some(saturday().day()));
        assert_eq!(named.rest, rest, "{question}");
    }
    for (question, undated) in [
        (
            "slugs, last week, in the T-bed",
            Some("slugs,  , in the T-bed"),
        ),
        ("hedge vor 3 Tagen on 8 May", Some("hedge   on 8 May")),
        ("last week", Some("")),
        ("hedge in May 2026", None),
    ] {
        let named = periods(question, Some(saturday().day()));
        assert_eq!(named.undated.as_deref(), undated, "{question}");
    }
    assert_eq!(
        periods("last week", None),
        NamedPeriods {
            periods: Vec::new(),
            rest: "last week".to_owned(),
            undated: None,
        }
    );
}

#[test]
fn options_take_dates_ages_and_words() {
    for (text, start, end) in [
        (
            "2025",
            Some("2025-01-01T00:00:00"),
            Some("2025-12-31T23:59:59.999999"),
        ),
        (
            "yesterday",
            Some("2026-04-17T00:00:00"),
            Some("2026-04-17T23:59:59.999999"),
        ),
        (
            " Letzte Woche ",
            Some("2026-04-06T00:00:00"),
            Some("2026-04-12T23:59:59.999999"),
        ),
        (
            "März",
            Some("2026-03-01T00:00:00"),
            Some("2026-03-31T23:59:59.999999"),
        ),
        (
            "May",
            Some("2025-05-01T00:00:00"),
            Some("2025-05-31T23:59:59.999999"),
        ),
        (
            "29 February",
            Some("2024-02-29T00:00:00"),
            Some("2024-02-29T23:59:59.999999"),
        ),
        (
            "23.01.2024",
            Some("2024-01-23T00:00:00"),
            Some("2024-01-23T23:59:59.999999"),
        ),
        (
            "2 weeks ago",
            Some("2026-03-30T00:00:00"),
            Some("2026-04-05T23:59:59.999999"),
        ),
        ("7d", Some("2026-04-11T09:30:00"), None),
        ("slugs yesterday", None, None),
        ("05/04/2024", None, None),
        ("yesterday or today", None, None),
        ("tomorrow", None, None),
        ("", None, None),
    ] {
        for (edge, expected) in [(Edge::Start, start), (Edge::End, end)] {
            let found = moment(text, saturday(), edge).map(Time::to_iso);
            assert_eq!(
                found,
                expected.map(|iso| format!("{iso}+00:00")),
                "{text} {edge:?}"
            );
        }
    }
    let auckland = read("2026-04-18T09:30+12:00").unwrap().time();
    let found = moment("today", auckland, Edge::Start).map(Time::to_iso);
    assert_eq!(found.as_deref(), Some("2026-04-18T00:00:00+12:00"));
}

#[test]
fn names_begin_a_text_in_every_language() {
    assert_eq!(
        month_at("septembre 2026", NameLength::Wide),
        Some((9, " 2026"))
    );
    assert_eq!(month_at("SEPT 2026", NameLength::Short), Some((9, " 2026")));
    assert_eq!(weekday_at("samedi.md", NameLength::Wide), Some((6, ".md")));
    assert_eq!(weekday_at("sat", NameLength::Wide), None);
}

#[test]
fn every_line_of_the_table_is_read() {
    let table = include_str!("names.txt");
    let lines = table.lines().filter(|line| !line.starts_with('#'));
    for line in lines {
        let (meaning, names) = line.split_once('\t').unwrap();
        let languages = names
            .split('\t')
            .map(|name| name.split_once(':').unwrap().0);
        let count = languages.collect::<std::collections::BTreeSet<_>>().len();
        let has_all = [
            "named",
            "past",
            "relative week",
            "relative month",
            "relative year",
        ];
        if has_all.iter().any(|start| meaning.starts_with(start)) {
            assert_eq!(count, 10, "{meaning}");
        }
    }
    assert_eq!(NAMES.numbers["drei"], 3);
    assert!(NAMES.longest >= 5);
}

proptest! {
    #[test]
    fn no_question_panics(
        question in "\\PC{0,60}|((last|letzte|vor|[0-9]{1,5}|days|ago|May|week|Tagen|天|前|月|年|日|\\.|-|/|\
            \u{20})){0,12}",
        today in proptest::option::of(proptest::num::i32::ANY),
    ) {
        let named = periods(&question, today);
        for period in named.periods {
            if let NamedPeriod::Days { first, last, .. } = period {
                prop_assert!(first <= last);
            }
            period.contains(i32::MIN);
            period.contains(i32::MAX);
        }
        moment(&question, saturday(), Edge::Start);
    }
}
