"""Conversations with questions and their evidence, from the files of four benchmarks.

LoCoMo, REALTALK and LongMemEval are JSON, BEAM is a folder (benches/README.md, "Conversations"). Each format has one reader,
which makes the chunks that an importer makes of such a conversation: a chunk a turn, with speaker, role and day as metadata,
under the path of its session.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from functools import partial
from itertools import count
from pathlib import Path
from typing import IO, Any, NamedTuple

from hedgerow._checks import shown
from hedgerow._engine import Chunk, _check_query
from hedgerow._judged import wrong
from hedgerow.errors import HedgerowError, InvalidInputError
from hedgerow.temporal import MONTHS

ITEM_LIMIT = 256 * 1024 * 1024
"""The most characters of one conversation. LongMemEval_M, the largest, has about 5 million."""

_BLOCK = 1024 * 1024
_DEPTH = 8
_LOCOMO_TYPES = {1: "multi-hop", 2: "temporal", 3: "open-domain", 4: "single-hop"}
_LOCOMO_ADVERSARIAL = 5
_REALTALK_TYPES = {1: "multi-hop", 2: "temporal", 3: "commonsense"}
_SESSION = re.compile(r"session_(\d{1,6})")
_EVIDENCE = re.compile(r"D:?(\d{1,6}):(\d{1,6})")
_BEAM_INDEX = "->->"
"""In chats of BEAM, a number after this at the end of a message is of its plan."""

_MONTHS = tuple(map(str.lower, MONTHS))
_DAY_FIRST = re.compile(r"(\d{1,2})(?:st|nd|rd|th)? ([A-Za-z]{3,9}),? (\d{4})")
_MONTH_FIRST = re.compile(r"([A-Za-z]{3,9})-(\d{1,2})-(\d{4})")
_YEAR_FIRST = re.compile(r"(\d{4})[/-](\d{1,2})[/-](\d{1,2})")
_DOTTED = re.compile(r"(\d{1,2})\.(\d{1,2})\.(\d{4})")

_Bad = Callable[[str], InvalidInputError]


class Question(NamedTuple):
    """A question with its evidence: ids of turns, and paths of sessions."""

    id: str
    text: str
    type: str
    date: str | None
    turns: tuple[str, ...]
    sessions: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Conversation:
    """The turns of a conversation as chunks, and its questions.

    `unanswerable` counts the questions that the benchmark means to have no answer, `without_evidence` those that name
    no turn, and `unknown` the evidence that is not in the conversation. None of these is in `questions`.
    """

    id: str
    chunks: list[Chunk] = field(default_factory=list)
    questions: list[Question] = field(default_factory=list)
    unanswerable: int = 0
    without_evidence: int = 0
    unknown: int = 0


def read_conversations(path: str) -> Iterator[Conversation]:
    """Yield the conversations of a file or folder of LoCoMo, REALTALK, LongMemEval or BEAM, one at a time.

    The format is recognized by its keys. A folder has the files of REALTALK, or the folders of BEAM's conversations. Raises
    InvalidInputError (`path_not_found`, `invalid_evaluation`), which names the file and the conversation.
    """
    place = Path(path)
    if not place.exists():
        raise InvalidInputError(f"{path}: no such file or folder", code="path_not_found")
    if not place.is_dir():
        yield from _of_file(place)
        return
    chats = sorted(place.rglob("chat.json"), key=_natural)
    if chats:
        for chat in chats:
            yield _beam(chat)
        return
    files = sorted(place.glob("*.json"), key=_natural)
    if not files:
        raise wrong(
            f"{path} has no conversations; name a JSON file of LoCoMo or LongMemEval, a folder of REALTALK's files, or "
            "a folder of BEAM's conversations, each of which has a chat.json"
        )
    for file in files:
        yield from _of_file(file)


def _natural(path: Path) -> list[tuple[int, int, str]]:
    """The order of names in which 2 is before 10."""
    parts = re.split(r"(\d{1,18})", str(path))
    return [(1, int(part), "") if part.isdecimal() else (0, 0, part) for part in parts]


def _of_file(file: Path) -> Iterator[Conversation]:
    for number, item in enumerate(_items(file), start=1):
        bad: _Bad = partial(_bad, f"{file}, conversation {number}")
        if not isinstance(item, dict):
            raise bad("is not a JSON object")
        if "haystack_sessions" in item:
            yield _longmemeval(item, bad)
        elif "conversation" in item:
            yield _locomo(item, str(item.get("sample_id", number)), bad)
        elif any(_SESSION.fullmatch(key) for key in item):
            yield _realtalk(item, file.stem, bad)
        else:
            raise bad(
                "is of none of LoCoMo (conversation), REALTALK (session_1) and LongMemEval (haystack_sessions)"
            )


def _items(file: Path) -> Iterator[Any]:
    """Yield the items of the array in a JSON file, one at a time, or its only object."""
    with file.open(encoding="utf-8-sig") as stream:
        try:
            yield from _decoded(stream, file)
        except UnicodeDecodeError as error:
            raise wrong(f"{file} is not UTF-8; save the file as UTF-8") from error


def _decoded(stream: IO[str], file: Path) -> Iterator[Any]:
    decoder = json.JSONDecoder()
    text, in_array = "", False
    for number in count(1):
        text = text.lstrip(" \t\r\n,") if in_array else text.lstrip()
        while not text and (block := stream.read(_BLOCK)):
            text = block.lstrip(" \t\r\n,") if in_array else block.lstrip()
        if not in_array and text.startswith("["):
            text, in_array = text[1:].lstrip(), True
            while not text and (block := stream.read(_BLOCK)):
                text = block.lstrip()
        if in_array and text.startswith("]"):
            return
        while True:
            try:
                item, end = decoder.raw_decode(text)
                break
            except (ValueError, RecursionError) as error:
                # As much again as there is, so that the time is in proportion to the size.
                more = stream.read(max(_BLOCK, len(text)))
                if not more or len(text) > ITEM_LIMIT or isinstance(error, RecursionError):
                    raise wrong(f"{file}, conversation {number}: not JSON ({error})") from error
                text += more
        yield item
        text = text[end:]
        if not in_array:
            return


class _Turns:
    """Collects the turns of a conversation in their order."""

    def __init__(self, conversation: str) -> None:
        self.found = Conversation(conversation)
        self.paths: dict[str, str] = {}

    def add(self, name: str, path: str, text: str, bad: _Bad, **known: str) -> None:
        if name in self.paths:
            raise bad(f"the turn {shown(name)} is there twice; every turn needs its own id")
        self.paths[name] = path
        speaker, day = known.get("speaker"), known.get("date")
        self.found.chunks.append(
            Chunk(
                name,
                path,
                f"{speaker}: {text}" if speaker else text,
                title=f"{path}, {day}" if day else path,
                ordinal=len(self.paths),
                metadata={key: value for key, value in known.items() if value},
            )
        )


def _finish(turns: _Turns, questions: Sequence[Question], unanswerable: int) -> Conversation:
    """The conversation with the questions of which evidence is there."""
    kept, unknown = [], 0
    sessions = set(turns.paths.values())
    for question in questions:
        there = tuple(dict.fromkeys(turn for turn in question.turns if turn in turns.paths))
        unknown += len(set(question.turns) - set(there))
        paths = question.sessions or tuple(turns.paths[turn] for turn in there)
        paths = tuple(dict.fromkeys(path for path in paths if path in sessions))
        if there or paths:
            kept.append(question._replace(turns=there, sessions=paths))
    found = turns.found
    return Conversation(
        found.id, found.chunks, kept, unanswerable, len(questions) - len(kept), unknown
    )


def _locomo(item: Mapping[str, Any], name: str, bad: _Bad) -> Conversation:
    """An object of LoCoMo's locomo10.json."""
    talk = _want(item, "conversation", dict, bad)
    return _sessions(talk, item, _Form(name, "text", _LOCOMO_TYPES, bad))


def _realtalk(item: Mapping[str, Any], name: str, bad: _Bad) -> Conversation:
    """A file of REALTALK, whose object has the sessions and the questions."""
    return _sessions(item, item, _Form(name, "clean_text", _REALTALK_TYPES, bad))


class _Form(NamedTuple):
    """The differences between LoCoMo and REALTALK: keys, types of questions, and errors."""

    name: str
    text_key: str
    types: Mapping[int, str]
    bad: _Bad


def _sessions(talk: Mapping[str, Any], item: Mapping[str, Any], form: _Form) -> Conversation:
    name, text_key, types, bad = form
    turns = _Turns(name)
    numbers = sorted(int(found[1]) for key in talk if (found := _SESSION.fullmatch(key)))
    day = ""
    for number in numbers:
        day = _day(talk.get(f"session_{number}_date_time")) or day
        for turn in _want(talk, f"session_{number}", list, bad):
            text = _want(turn, text_key, str, bad)
            caption = turn.get("blip_caption")
            if isinstance(caption, str) and caption:
                text = f"{text} [shared an image: {caption}]"
            speaker = turn.get("speaker")
            turns.add(
                _turn_name(_want(turn, "dia_id", str, bad)),
                f"session-{number:02}",
                text,
                bad,
                speaker=speaker if isinstance(speaker, str) else "",
                date=day,
            )
    questions, unanswerable = [], 0
    for number, asked in enumerate(_want(item, "qa", list, bad), start=1):
        text = _question_text(asked, bad)
        category = asked.get("category")
        if category == _LOCOMO_ADVERSARIAL:
            unanswerable += 1
            continue
        evidence = asked.get("evidence") or []
        named = [evidence] if isinstance(evidence, str) else evidence
        joined = " ".join(one for one in named if isinstance(one, str))
        turns_of = tuple(f"D{int(s)}:{int(t)}" for s, t in _EVIDENCE.findall(joined))
        kind = types.get(category, f"category {shown(category)}")
        questions.append(Question(f"{name}/q{number}", text, kind, day or None, turns_of, ()))
    return _finish(turns, questions, unanswerable)


def _turn_name(name: str) -> str:
    found = _EVIDENCE.fullmatch(name)
    return f"D{int(found[1])}:{int(found[2])}" if found else name


def _longmemeval(item: Mapping[str, Any], bad: _Bad) -> Conversation:
    """A question of LongMemEval with the history that it is about."""
    name = _want(item, "question_id", str, bad)
    names = _want(item, "haystack_session_ids", list, bad)
    dates = _want(item, "haystack_dates", list, bad)
    sessions = _want(item, "haystack_sessions", list, bad)
    if not len(names) == len(dates) == len(sessions):
        raise bad("haystack_session_ids, haystack_dates and haystack_sessions differ in length")
    turns, evidence = _Turns(name), []
    for number, (path, when, session) in enumerate(zip(names, dates, sessions, strict=True)):
        if not isinstance(session, list):
            raise bad(f"haystack_sessions[{number}] must be a list of turns")
        for at, turn in enumerate(session):
            turn_name = f"{number}:{at}"
            text = _want(turn, "content", str, bad)
            role = _want(turn, "role", str, bad)
            turns.add(turn_name, str(path), text, bad, role=role, date=_day(when))
            if turn.get("has_answer") is True:
                evidence.append(turn_name)
    if name.endswith("_abs"):
        return _finish(turns, (), 1)
    answers = item.get("answer_session_ids")
    paths = tuple(map(str, answers)) if isinstance(answers, list) else ()
    kind = _want(item, "question_type", str, bad)
    asked = _day(item.get("question_date")) or None
    question = Question(name, _question_text(item, bad), kind, asked, tuple(evidence), paths)
    return _finish(turns, [question], 0)


def _beam(chat: Path) -> Conversation:
    """A folder of BEAM: chat.json, and probing_questions.json in it or in probing_questions/."""
    folder = chat.parent
    bad: _Bad = partial(_bad, str(folder))
    places = [folder / "probing_questions" / "probing_questions.json"]
    places.append(folder / "probing_questions.json")
    asked = next((one for one in places if one.is_file()), None)
    if asked is None:
        raise bad("has a chat.json and no probing_questions/probing_questions.json")
    turns, day = _Turns(folder.name), ""
    for session, message in _messages(list(_items(chat)), "1", 0):
        day = _day(message.get("time_anchor")) or day
        text = _want(message, "content", str, bad)
        before, _, number = text.rpartition(_BEAM_INDEX)
        if before and not number.strip(" \n,0123456789"):
            text = before.rstrip()
        role = _want(message, "role", str, bad)
        turns.add(str(message.get("id")), f"batch-{session}", text, bad, role=role, date=day)
    questions: list[Question] = []
    unanswerable = 0
    for of_types in _items(asked):
        if not isinstance(of_types, dict):
            raise bad("probing_questions.json must be an object with a list for each type")
        for kind, of_type in of_types.items():
            for question in of_type if isinstance(of_type, list) else ():
                text = _question_text(question, bad)
                if kind == "abstention":
                    unanswerable += 1
                    continue
                named = tuple(map(str, _numbers(question.get("source_chat_ids"), 0)))
                name = f"{folder.name}/q{len(questions) + 1}"
                questions.append(Question(name, text, kind, day or None, named, ()))
    return _finish(turns, questions, unanswerable)


def _messages(value: Any, session: str, depth: int) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """The messages of nested batches and turns, each with the number of its batch."""
    if depth > _DEPTH:
        return
    if isinstance(value, list):
        for one in value:
            yield from _messages(one, session, depth + 1)
    elif isinstance(value, dict) and "role" in value:
        yield session, value
    elif isinstance(value, dict):
        number = value.get("batch_number", session)
        for one in value.values():
            yield from _messages(one, str(number), depth + 1)


def _numbers(value: Any, depth: int) -> Iterator[int]:
    """The numbers in nested lists and objects."""
    if type(value) is int:
        yield value
    elif depth <= _DEPTH and isinstance(value, (list, dict)):
        for one in value.values() if isinstance(value, dict) else value:
            yield from _numbers(one, depth + 1)


def _day(text: Any) -> str:
    """The day of a date in any of the formats' spellings, as 2026-04-18; empty for a text without a date."""
    if not isinstance(text, str):
        return ""
    text = text[:100]
    if found := _YEAR_FIRST.search(text):
        year, month, day = map(int, found.groups())
    elif found := _DOTTED.search(text):
        day, month, year = map(int, found.groups())
    elif found := _DAY_FIRST.search(text):
        day, month, year = int(found[1]), _month(found[2]), int(found[3])
    elif found := _MONTH_FIRST.search(text):
        month, day, year = _month(found[1]), int(found[2]), int(found[3])
    else:
        return ""
    try:
        return date(year, month, day).isoformat()
    except ValueError:
        return ""


def _month(name: str) -> int:
    """The number of a month by its name or the first three letters; 0 if it is none."""
    starts = (name.lower() in {month, month[:3]} for month in _MONTHS)
    return next((number for number, is_it in enumerate(starts, start=1) if is_it), 0)


def _question_text(asked: Any, bad: _Bad) -> str:
    text: str = _want(asked, "question", str, bad)
    try:
        _check_query(text)
    except HedgerowError as error:
        raise bad(f"a question: {error.message}") from error
    return text


def _want(record: Any, key: str, kind: type, bad: _Bad) -> Any:
    """The value of a key, which must be of a kind."""
    value = record.get(key) if isinstance(record, dict) else None
    if not isinstance(value, kind):
        noun = "an object" if kind is dict else "a list" if kind is list else "a text"
        raise bad(f'needs {noun} as "{key}", not {shown(value)}')
    return value


def _bad(place: str, reason: str) -> InvalidInputError:
    return wrong(f"{place}: {reason}")
