"""Write the names of months, weekdays and periods that the engine reads in questions, options and file names.

python scripts/write_calendar_names.py CLDR_DATES.tgz CLDR_RBNF.tgz

The two files are the npm packages cldr-dates-full and cldr-rbnf of one version of CLDR:
`npm pack cldr-dates-full cldr-rbnf`. Each line of the output is a meaning and the phrases for it, as CLDR writes
them, each with its language: `relative week -1`, `en:last week`, `de:letzte Woche`. `#` is a number. The
second line of the output is the digest of what follows, so that a test can tell an edit by hand.
"""

from __future__ import annotations

import hashlib
import json
import re
import sys
import tarfile
from collections import defaultdict
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

OUTPUT = Path(__file__).parent.parent / "rust/engine/src/calendar/names.txt"
LANGUAGES = ("en", "de", "fr", "es", "pt", "it", "nl", "ru", "zh", "ja")
WEEKDAYS = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")
UNITS = ("day", "week", "month", "year")
MOST_NUMBER_WORDS = 12
"""CLDR composes the words of larger numbers by rules."""

SUPPLEMENT = {"relative day -2": "the day before yesterday", "joint": "of"}
"""English phrases that CLDR lacks: for two days ago, and the word between a day and its month."""

_LOCALE = re.compile(rf"({'|'.join(LANGUAGES)})(-[A-Z]{{2}}|-\d{{3}}|-Han[st](-[A-Z]{{2}})?)?")
_BREAK = re.compile(r"[\s\u2019']+")

Phrases = dict[str, dict[tuple[str, str], None]]
"""The languages and phrases of each meaning, in the order in which they were added."""


def names_of(dates: Mapping[str, Mapping[str, Any]], numbers: Mapping[str, Any]) -> str:
    """Return the file of names, from the fields and calendars of locales and the number rules of languages."""
    phrases: Phrases = defaultdict(dict)
    known = set()
    for locale, found in sorted(dates.items(), key=lambda one: _order(one[0])):
        language = locale.partition("-")[0]
        names = (*_calendar(found["calendar"]), *_relative(found["fields"], language))
        for meaning, phrase in (*names, *_numbers(numbers[language])):
            # The case of a word is that of its language, whatever a region does.
            key = language, meaning, phrase.lower()
            if key not in known:
                known.add(key)
                phrases[meaning][language, phrase] = None
    for meaning, phrase in SUPPLEMENT.items():
        phrases[meaning]["en", phrase] = None
    _add_without_first_words(phrases)
    _check_unambiguous(phrases)
    lines = (
        "\t".join((meaning, *map(":".join, phrases[meaning]))) + "\n" for meaning in sorted(phrases)
    )
    return "".join(lines)


def _order(locale: str) -> tuple[int, str]:
    return LANGUAGES.index(locale.partition("-")[0]), locale


def _calendar(calendar: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    for form in ("format", "stand-alone"):
        for kind, width in (("named", "wide"), ("short", "abbreviated")):
            for number, name in calendar["months"][form][width].items():
                yield f"{kind} month {number}", name.rstrip(".")
            for number, day in enumerate(WEEKDAYS, 1):
                name = calendar["days"][form][width][day]
                # A weekday of one letter is also another word in a text without spaces.
                if len(name) > 1:
                    yield f"{kind} weekday {number}", name.rstrip(".")
    # The word between a day and its month, or a month and its year: `8 de mayo de 2026`.
    for literal in re.findall(r"MMMM '(\w+)' y", calendar["dateFormats"]["long"]):
        yield "joint", literal
    # The sign after a number, in languages without spaces.
    if signs := re.fullmatch(r"y(\w)M\w?d(\w)", calendar["dateFormats"]["long"]):
        yield "sign year", signs[1]
        yield "sign day", signs[2]


def _relative(fields: Mapping[str, Any], language: str) -> Iterator[tuple[str, str]]:
    for unit in UNITS:
        found = fields[unit]
        for offset in (-2, -1, 0):
            if (phrase := found.get(f"relative-type-{offset}")) is not None:
                yield f"relative {unit} {offset}", phrase
        past = {
            key.rpartition("-")[2]: pattern.replace("{0}", "#")
            for key, pattern in found["relativeTime-type-past"].items()
        }
        for pattern in past.values():
            yield f"past {unit}", pattern
        # A singular with another word in the place of the number, or with none: `a week ago`.
        one = past.get("one", "")
        if one.startswith("#") and one != past["other"]:
            yield f"relative {unit} -1", one.removeprefix("#").strip()
        # The word before a span of time, where months are written with a capital: `in 3 days`, `in May`.
        future = found["relativeTime-type-future"]["relativeTimePattern-count-other"]
        if language in {"en", "de"}:
            yield "before", future.partition(" {0}")[0]
    for number, day in enumerate(WEEKDAYS, 1):
        for offset in (-1, 0):
            phrase = fields[day][f"relative-type-{offset}"]
            # In Chinese and Japanese the phrase names the week too: of a Saturday, it is not the nearest Monday.
            is_nearest = offset == -1 and fields["week"]["relative-type--1"] not in phrase
            kind = "nearest" if is_nearest else f"relative {offset}"
            yield f"{kind} weekday {number}", phrase


def _numbers(rules: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    for name, found in rules.items():
        is_plain = re.match(r"%spellout-(cardinal|numbering)(?!.*(financial|year|days))", name)
        for base, rule in found if is_plain else ():
            word = rule.rstrip(";").replace("[\u2192\u2192]", "")
            is_word = re.fullmatch(r"\w+", word) is not None
            if is_word and base.isdecimal() and 1 <= int(base) <= MOST_NUMBER_WORDS:
                yield f"number {base}", word


def _add_without_first_words(phrases: Phrases) -> None:
    """Add phrases of three words or more without the first one, an article or a preposition."""
    for meaning, known in phrases.items():
        if not meaning.startswith(("relative", "nearest")):
            continue
        for language, phrase in list(known):
            _, *rest = _BREAK.split(phrase, maxsplit=1)
            if rest and _BREAK.search(rest[0]):
                known[language, rest[0]] = None


def _check_unambiguous(phrases: Phrases) -> None:
    meanings: dict[str, set[str]] = defaultdict(set)
    for meaning, known in phrases.items():
        # A word may be a month, a number and a weekday: they are read in different places.
        if meaning.startswith(("relative", "nearest", "past")):
            for _, phrase in known:
                meanings[phrase.lower()].add(meaning)
    wrong = {phrase: found for phrase, found in meanings.items() if len(found) > 1}
    if wrong:
        raise SystemExit(f"phrases with several meanings: {wrong}")


def _read(dates: Path, numbers: Path) -> tuple[str, dict[str, Any], dict[str, Any]]:
    locales: dict[str, Any] = defaultdict(dict)
    with tarfile.open(dates) as package:
        for member in package:
            folder, _, file = member.name.removeprefix("package/main/").partition("/")
            kind = {"ca-gregorian.json": "calendar", "dateFields.json": "fields"}.get(file)
            if kind is None or not _LOCALE.fullmatch(folder):
                continue
            content = json.load(package.extractfile(member))["main"][folder]["dates"]  # type: ignore[arg-type]
            locales[folder][kind] = (
                content["fields"] if kind == "fields" else content["calendars"]["gregorian"]
            )
        version = json.load(package.extractfile("package/package.json"))["version"]  # type: ignore[arg-type]
    rules = {}
    with tarfile.open(numbers) as package:
        for language in LANGUAGES:
            file = package.extractfile(f"package/rbnf/{language}.json")
            rules[language] = json.load(file)["rbnf"]["rbnf"]["SpelloutRules"]  # type: ignore[arg-type]
    return version, locales, rules


def main() -> None:
    """Write the file from two packages."""
    version, dates, numbers = _read(*map(Path, sys.argv[1:3]))
    body = names_of(dates, numbers)
    digest = hashlib.sha256(body.encode()).hexdigest()
    OUTPUT.write_text(
        f"# CLDR {version} (Unicode-3.0), written by scripts/write_calendar_names.py: do not edit\n"
        f"# sha256 {digest}\n{body}",
        encoding="utf-8",
    )


if __name__ == "__main__":
    main()
