"""Texts that look like secrets: keys, tokens, passwords and card numbers (spec/memory.md, "Secrets").

Every pattern begins where a token begins, and repeats single classes of characters, so a search takes
linear time.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from hedgerow._checks import checked_flag
from hedgerow.errors import InvalidInputError

_START = r"(?<![A-Za-z0-9_+/-])"
_END = r"(?![A-Za-z0-9_-])"

_KINDS: tuple[tuple[str, str], ...] = (
    ("AWS access key", rf"{_START}(?:AKIA|ASIA)[A-Z0-9]{{16}}{_END}"),
    ("GitHub token", rf"{_START}(?:gh[pousr]_[A-Za-z0-9]{{36,}}|github_pat_[A-Za-z0-9_]{{22,}})"),
    ("GitLab token", rf"{_START}gl(?:pat|ptt|rt|dt|soat)-[A-Za-z0-9_-]{{20,}}"),
    ("Slack token", rf"{_START}xox[abeprs]-[A-Za-z0-9-]{{10,}}"),
    ("Slack webhook", r"https://hooks\.slack\.com/services/[A-Za-z0-9/]{20,}"),
    ("API key", rf"{_START}sk-(?:ant-|proj-|or-v1-|svcacct-)?[A-Za-z0-9_-]{{20,}}"),
    ("Google API key", rf"{_START}AIza[A-Za-z0-9_-]{{35}}{_END}"),
    ("Stripe key", rf"{_START}(?:sk|rk|whsec)_(?:live_|test_)?[A-Za-z0-9]{{20,}}"),
    ("npm token", rf"{_START}npm_[A-Za-z0-9]{{36}}{_END}"),
    ("PyPI token", rf"{_START}pypi-[A-Za-z0-9_-]{{50,}}"),
    ("Hugging Face token", rf"{_START}hf_[A-Za-z0-9]{{30,}}"),
    (
        "JSON Web Token",
        rf"{_START}eyJ[A-Za-z0-9_-]{{10,}}\.eyJ[A-Za-z0-9_-]{{10,}}\.[A-Za-z0-9_-]{{10,}}",
    ),
)
_PATTERNS = tuple((kind, re.compile(pattern)) for kind, pattern in _KINDS)
_HINTS = re.compile(
    r"-----BEGIN |A[KS]IA|gh[pousr]_|github_pat_|gl(?:pat|ptt|rt|dt|soat)-|xox[abeprs]-|hooks\.slack"
    r"|sk-|AIza|[sr]k_|whsec_|npm_|pypi-|hf_|eyJ"
)

_KEY_BEGIN = re.compile(r"-----BEGIN (?:[A-Z0-9]{1,10} ){0,3}PRIVATE KEY(?: BLOCK)?-----")
_KEY_END = re.compile(r"-----END [A-Z0-9 ]{0,50}-----")
_DIGIT = re.compile("[0-9]")

_PASSWORD_KIND = "password"  # noqa: S105 - the name of a kind
_PASSWORD = re.compile(
    r"(?i)(?<![^\W_])(?:password|passwd|passphrase|passwort|wachtwoord|pwd|secret|api[_ -]?key"
    r"|(?:access|auth|api|bearer|secret)[_ -]?token|(?:client|secret|access)[_ -]?(?:secret|key))"
    r"['\"`]{0,2}[ \t]{0,3}(?::=|=>|[:=]|[ \t](?:is|ist))[ \t]{0,3}['\"`]?([^\s'\"`,;<>]{8,200})"
)
_IN_URL = re.compile(
    r"(?<![A-Za-z0-9+.-])[A-Za-z][A-Za-z0-9+.-]{1,20}://[^\s/:@'\"<>]{1,100}:([^\s/@'\"<>]{3,200})@"
)
_CARD = re.compile(
    r"(?<![\w.+-])(?:[0-9]{13,19}|[0-9]{4}([ -])[0-9]{4}\1[0-9]{4}\1[0-9]{4}"
    r"|3[47][0-9]{2}([ -])[0-9]{6}\2[0-9]{5})(?![\w-])(?!\.[0-9])"
)
_ISSUER = re.compile(
    r"(?:4(?:[0-9]{12}|[0-9]{15}|[0-9]{18})|(?:5[1-5]|2[2-7])[0-9]{14}|3[47][0-9]{13}"
    r"|6(?:011|5[0-9]{2})[0-9]{12}|35[2-8][0-9]{13})"
)
_PLACEHOLDER = re.compile(
    r"(?i)[.…]{3}|[*•]{3}|x{4}|[<{$%]|example|sample|placeholder|changeme|redacted|dummy|your[_-]?"
    r"|\.(?:env|md|py|json|ya?ml|txt|toml)\b|^(?:[a-z_]+\.)+[a-z_]+\(|\(|^https?://|^(?:process|os)\."
)
_UUID = re.compile(r"(?i)[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")


@dataclass(frozen=True, slots=True)
class Secret:
    """A text that looks like a secret: its kind and its line, from 1.

    `start` has its first characters, which name the issuer; it is empty for a password.
    """

    kind: str
    line: int
    start: str

    def __str__(self) -> str:
        start = f" ({self.start}…)" if self.start else ""
        return f"{self.kind} on line {self.line}{start}"


def find_secrets(text: str) -> list[Secret]:
    """Return the likely secrets of a text in their order, one for each place.

    UUIDs, digests, telephone numbers and placeholders such as `<token>` are none. Takes linear time.
    """
    spans: list[tuple[int, int, str]] = []
    for start, end, kind in sorted(_spans(text), key=lambda span: (span[0], -span[1])):
        if not spans or start >= spans[-1][1]:
            spans.append((start, end, kind))
    found, line, at = [], 1, 0
    for start, _, kind in spans:
        line, at = line + text.count("\n", at, start), start
        is_password = kind.startswith(_PASSWORD_KIND)
        found.append(Secret(kind, line, "" if is_password else text[start : start + 4]))
    return found


def check_no_secret(text: str, title: str = "", *, allowed: bool) -> None:
    """Raise InvalidInputError (`looks_like_secret`) if a text or its title has one, unless allowed."""
    if checked_flag(allowed, "allow_secret"):
        return
    for part, name in ((text, "text"), (title, "title")):
        if secrets := find_secrets(part):
            more = f" and {len(secrets) - 1} more" if len(secrets) > 1 else ""
            raise InvalidInputError(
                f"the {name} looks like it has a secret: {secrets[0]}{more}; nothing was written. "
                "Remove the secret, or write it with --allow-secret (allow_secret=True)",
                code="looks_like_secret",
            )


def without_secrets(text: str) -> str:
    """Return a text with `[secret]` in the place of each secret."""
    parts, at = [], 0
    for start, end, _ in sorted(_spans(text)):
        if end > at:
            parts.append(f"{text[at : max(at, start)]}{'[secret]' if start >= at else ''}")
            at = end
    return "".join([*parts, text[at:]])


def _spans(text: str) -> Iterator[tuple[int, int, str]]:
    """Yield the start, the end and the kind of each secret, kind by kind. Spans may overlap."""
    if _HINTS.search(text):
        yield from _private_keys(text)
        for kind, pattern in _PATTERNS:
            for found in pattern.finditer(text):
                if _DIGIT.search(found[0]) and not _PLACEHOLDER.search(found[0]):
                    yield *found.span(), kind
    checks: tuple[tuple[str, re.Pattern[str], Callable[[str], bool]], ...] = (
        (_PASSWORD_KIND, _PASSWORD, _is_password),
        ("password in an address", _IN_URL, _is_password_of_url),
    )
    for kind, pattern, is_secret in checks:
        for found in pattern.finditer(text):
            if is_secret(found[1]):
                yield *found.span(1), kind
    for found in _CARD.finditer(text):
        digits = re.sub("[ -]", "", found[0])
        if _ISSUER.fullmatch(digits) and _passes_luhn(digits):
            yield *found.span(), "card number"


def _private_keys(text: str) -> Iterator[tuple[int, int, str]]:
    """Yield each private key with all of its lines; a key without an end is its first line."""
    at = 0
    while begin := _KEY_BEGIN.search(text, at):
        end = _KEY_END.search(text, begin.end())
        at = begin.end() if end is None else end.end()
        yield begin.start(), at, "private key"
        if end is None:
            return


def _is_password(value: str) -> bool:
    """Whether a value has letters and digits, and is neither a placeholder nor a UUID."""
    has_both = any(one.isalpha() for one in value) and any(one.isdigit() for one in value)
    return has_both and not _PLACEHOLDER.search(value) and not _UUID.fullmatch(value)


def _is_password_of_url(value: str) -> bool:
    words = {"password", "pass", "passwd", "pwd", "secret", "token", "port"}
    return value.lower() not in words and not value.isdigit() and not _PLACEHOLDER.search(value)


def _passes_luhn(digits: str) -> bool:
    doubled = ((int(one) * 2 if at % 2 else int(one)) for at, one in enumerate(reversed(digits)))
    return len(set(digits)) > 1 and sum(one - 9 if one > 9 else one for one in doubled) % 10 == 0  # noqa: PLR2004
