"""Texts that look like secrets, and texts that do not."""

from __future__ import annotations

import time

import pytest

from hedgerow import InvalidInputError, MemoryRoot
from hedgerow._engine import _find_secrets, _without_secrets
from memory_doubles import put
from secret_lines import WORDS, harmless_lines, secret_lines

SEEDS = (20260418, 20261129)


@pytest.mark.parametrize("seed", SEEDS)
def test_every_format_is_found_with_its_kind(seed: int) -> None:
    for text, secret, kind in secret_lines(seed):
        if kind != "password":
            assert [one[0] for one in _find_secrets(text)] == [kind], text
            assert secret not in _without_secrets(text)


@pytest.mark.parametrize("seed", SEEDS)
def test_passwords_in_fields_are_found_unless_they_are_words(seed: int) -> None:
    lines = [line for line in secret_lines(seed) if line.kind == "password"]
    missed = [line.secret for line in lines if not _find_secrets(line.text)]
    assert set(missed) <= WORDS


def test_no_harmless_line_is_one(root: MemoryRoot) -> None:
    lines = harmless_lines()
    assert len(lines) == 200
    assert [line for line in lines if _find_secrets(line)] == []
    put(root.path, "notes/harmless.md", "\n".join(lines))
    assert root.audit().counts.get("secret", 0) == 0


class TestValues:
    """A name decides that a value is looked at, and the entropy of the whole value decides."""

    @pytest.mark.parametrize("sign", ["$", "%", "{", "(", "&", "#"])
    def test_a_sign_makes_no_placeholder(self, sign: str) -> None:
        for password in (f"Tr0ub4dor{sign}3x", f"{sign}ecr3tW0rd9", f"pa{sign}sw0rd{sign}9"):
            for text in (f"password: {password}", f"API_KEY={password}"):
                assert [one[0] for one in _find_secrets(text)] == ["password"], text
            assert _find_secrets(f"postgres://u:{password}@h")[0][0] == "password in an address"

    @pytest.mark.parametrize(
        "value",
        [
            *("<token-1a2b>", "${TOKEN_1A2B}", "$TOKEN_1A2B", "{{token1a2b}}", "%TOKEN1A2B%"),
            *("xxxxxxxxxxxx", "********1", "settings.OPENAI_API_KEY_V1", "get_token1a2b()"),
            *("os.environ['TOKEN1A2B']", "/run/secrets/token1a2b", "https://a.example/1a2b3c"),
            *("550e8400-e29b-41d4-a716-446655440000", "0x1a2b3c4d5e"),
        ],
    )
    def test_a_whole_value_may_stand_for_another(self, value: str) -> None:
        assert not _find_secrets(f"password: {value}")
        assert not _find_secrets(f'api_key = "{value}"')

    @pytest.mark.parametrize(
        "text",
        [
            *("{} = {}", "{}: {}", '"{}": "{}"', "**{}**: `{}`", "{} := {}", "{} => '{}'"),
            *("{} is {}.", "{} ist {}", "--{} {}", "<{}>{}</{}>"),
        ],
    )
    def test_a_name_and_its_value_are_written_in_many_ways(self, text: str) -> None:
        for name in (
            "password",
            "DB_PASSWORD",
            "client_secret",
            "access-token",
            "Passwort",
            "密码",
        ):
            line = text.replace("{}", name, 1).replace("{}", "kX9#mQ2$vL7p", 1).replace("{}", name)
            assert _without_secrets(line) == line.replace("kX9#mQ2$vL7p", "[secret]"), line

    @pytest.mark.parametrize(
        "name", ["tokens", "tokenizer", "secretName", "password_file", "keyboard"]
    )
    def test_the_name_ends_with_that_of_a_secret(self, name: str) -> None:
        assert not _find_secrets(f"{name}: kX9#mQ2$vL7p")


def test_what_is_no_token() -> None:
    checksum = "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"  # of the announcement of the format
    assert _find_secrets(checksum)[0][0] == "GitHub token"
    assert not _find_secrets(f"{checksum[:-1]}8")
    assert not _find_secrets(f"x{checksum}")
    assert not _find_secrets("AKIAIOSFODNN7EXAMPLE")


def test_a_secret_is_replaced_with_all_its_lines() -> None:
    text = "a\n-----BEGIN PRIVATE KEY-----\nx\n-----END PRIVATE KEY-----\nb 4111111111111111 c"
    assert _without_secrets(text) == "a\n[secret]\nb [secret] c"


@pytest.mark.parametrize(
    "part",
    [
        *("eyJ", "-eyJa", ".eyJa", "password ", "password: ", "密码", "a://", "a://b:c", "4111 "),
        *(
            "-----BEGIN PRIVATE KEY-----",
            "-----BEGIN ",
            "-----END ",
            "AKIA",
            " xoxb-1",
            ":AA",
            "1:AA",
        ),
        *("sk-", "api_key", "token=(", "token: a(b", "M" * 24 + ".", "Q~", "token=" + "a1" * 100),
    ],
)
def test_takes_linear_time(part: str) -> None:
    start = time.process_time()
    _find_secrets(part * (1_000_000 // len(part)))
    assert time.process_time() - start < 10


class TestRemember:
    def test_refuses_a_secret_unless_told(self, root: MemoryRoot) -> None:
        text = "The key is AKIAIOSFODNN7ABCDEFG."
        for write in (
            lambda: root.remember(text, title="Key"),
            lambda: root.remember("Nothing here.", title="AKIAIOSFODNN7ABCDEFG"),
            lambda: root.supersede("x", text=text),
        ):
            with pytest.raises(InvalidInputError, match="AWS access key on line") as raised:
                write()
            assert raised.value.code == "looks_like_secret"
            assert "AKIAI" not in raised.value.message
        assert root.list().count == 0
        assert root.remember(text, title="Key", allow_secret=True).indexed

    def test_refuses_one_in_a_wrapup(self, root: MemoryRoot) -> None:
        sections = ("Findings", "Decisions", "Conflicts / Corrections", "Open Questions")
        text = "\n".join(f"## {name}\nthe password is s3cretpass99" for name in sections)
        with pytest.raises(InvalidInputError, match="password on line"):
            root.wrapup(text, title="W")
        assert root.wrapup(text, title="W", allow_secret=True).file
