"""Texts that look like secrets, and texts that do not."""

from __future__ import annotations

import time

import pytest

from hedgerow import InvalidInputError, MemoryRoot
from hedgerow._engine import _find_secrets, _without_secrets

TOKEN = "a1B2" * 10

SECRETS = {
    "AKIAIOSFODNN7ABCDEFG": "AWS access key",
    f"ghp_{TOKEN[:36]}": "GitHub token",
    f"github_pat_{TOKEN}": "GitHub token",
    f"glpat-{TOKEN[:20]}": "GitLab token",
    "xoxb-123456789012-abcdef": "Slack token",
    f"sk-ant-api03-{TOKEN}": "API key",
    f"AIza{TOKEN[:35]}": "Google API key",
    f"sk_live_{TOKEN[:24]}": "Stripe key",
    f"npm_{TOKEN[:36]}": "npm token",
    f"hf_{TOKEN[:34]}": "Hugging Face token",
    f"eyJ{TOKEN}.eyJ{TOKEN}.{TOKEN}": "JSON Web Token",
    "-----BEGIN RSA PRIVATE KEY-----\nMIIE\n-----END RSA PRIVATE KEY-----": "private key",
    "4111 1111 1111 1111": "card number",
    "5500005555555559": "card number",
    "3782-822463-10005": "card number",
    "the password is s3cretpass99": "password",
    "API_KEY=abcd1234efgh": "password",
    "密码 password: 密码密码密码密码1": "password",
    "postgres://ana:pa55word@db/x": "password in an address",
}

HARMLESS = [
    "550e8400-e29b-41d4-a716-446655440000",
    "secret: 550e8400-e29b-41d4-a716-446655440000",
    "commit 752dcbce4dc090e74779e5516765dbbdf570d82b",
    "sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
    "+49 170 1234567, 0049 1520 1234567 8901, (555) 123-4567",
    "1713436800000 ms, 4111111111111112, 20260418103000123",
    "ISBN 9783161484100",
    "0000 0000 0000 0000",
    "password: see 1Password",
    "api_key = os.environ['API_KEY_1']",
    "token: <your-token-1>, api_key=${API_KEY_1}, password: ********1",
    "postgres://user:password@db, https://example.com:8080/a@b",
    "sk-learn-is-a-great-library-name",
    "AKIAIOSFODNN7EXAMPLE",
    "task-force-of-2024-and-its-many-members",
    "密码很重要，请不要忘记",
]


@pytest.mark.parametrize("text", SECRETS)
def test_secrets_are_found_with_their_kind(text: str) -> None:
    [(kind, line, start)] = _find_secrets(f"first line\nbefore {text} after")
    assert (kind, line) == (SECRETS[text], 2)
    assert len(start) <= 4


@pytest.mark.parametrize("text", HARMLESS)
def test_other_texts_are_none(text: str) -> None:
    assert _find_secrets(text) == []
    assert _without_secrets(text) == text


def test_a_secret_is_replaced_with_all_its_lines() -> None:
    text = "a\n-----BEGIN PRIVATE KEY-----\nx\n-----END PRIVATE KEY-----\nb 4111111111111111 c"
    assert _without_secrets(text) == "a\n[secret]\nb [secret] c"


@pytest.mark.parametrize(
    "part",
    [
        *("eyJ", "-eyJa", "password ", "password: ", "a://", "a://b:c", "4111 ", "sk-", "api_key"),
        *("-----BEGIN PRIVATE KEY-----", "-----BEGIN ", "-----END ", "AKIA", "xoxb-1"),
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
