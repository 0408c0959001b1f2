"""Lines with texts that look like secrets. None is one: a seed makes them, from the formats that issuers document.

They are made when a test runs, because a literal would be reported by the scanners of the places that keep this repository.
"""

from __future__ import annotations

import base64
import json
import random
import string
import zlib
from pathlib import Path
from typing import NamedTuple

_LETTERS = string.ascii_letters
_DIGITS = string.digits
_BASE_62 = _DIGITS + string.ascii_uppercase + string.ascii_lowercase
_URL_64 = _LETTERS + _DIGITS + "-_"
_BASE_64 = _LETTERS + _DIGITS + "+/"
_HEX = "0123456789abcdef"
_BASE_32 = string.ascii_uppercase + "234567"
_BECH_32 = "QPZRY9X8GF2TVDW0S3JN54KHCE6MUA7L"
_UPPER = string.ascii_uppercase + _DIGITS

HARMLESS = Path(__file__).parents[1] / "data" / "secrets" / "harmless.txt"
"""Two hundred lines without a secret: prose, configuration, code, addresses, digests, placeholders."""

WORDS = frozenset({"correct-horse-battery-staple", "swordfish", "TrustNo1", "letmein1"})
"""Passwords of words, with a digit at most, which have the form of names in code."""


class SecretLine(NamedTuple):
    """A line, the secret in it, and its kind."""

    text: str
    secret: str
    kind: str


class _Maker:
    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)  # noqa: S311 - no secret

    def run(self, alphabet: str, length: int) -> str:
        return "".join(self._random.choices(alphabet, k=length))

    def one_of(self, *texts: str) -> str:
        return self._random.choice(texts)

    def with_checksum(self) -> str:
        """Return 30 characters and their CRC-32 in base 62, as GitHub and npm write it."""
        text = self.run(_BASE_62, 30)
        number, digits = zlib.crc32(text.encode()), ""
        for _ in range(6):
            number, digit = divmod(number, 62)
            digits = _BASE_62[digit] + digits
        return text + digits

    def json_web_token(self) -> str:
        parts = {"alg": "HS256", "typ": "JWT"}, {"sub": self.run(_DIGITS, 10), "iat": 1_516_239_022}
        encoded = [base64.urlsafe_b64encode(json.dumps(part).encode()) for part in parts]
        return ".".join([*(part.decode().rstrip("=") for part in encoded), self.run(_URL_64, 43)])

    def discord(self) -> str:
        user = base64.b64encode(self.run("123456789", 18).encode()).decode()
        return f"{user}.{self.run(_URL_64, 6)}.{self.run(_URL_64, 38)}"

    def card(self, begin: str, length: int) -> str:
        digits = begin + self.run(_DIGITS, length - len(begin) - 1)
        values = [int(digit) * (2 - at % 2) for at, digit in enumerate(reversed(digits))]
        total = sum(value - 9 * (value > 9) for value in values)
        return digits + str(-total % 10)

    def tokens(self) -> list[tuple[str, str]]:
        """Return a token of each format, with its kind."""
        run = self.run
        return [
            ("AWS access key", f"AKIA{run(_BASE_32, 16)}"),
            ("AWS access key", f"ASIA{run(_BASE_32, 16)}"),
            *(("GitHub token", f"gh{kind}_{self.with_checksum()}") for kind in "pous"),
            ("GitHub token", f"ghr_{run(_BASE_62, 76)}"),
            ("GitHub token", f"github_pat_{run(_BASE_62, 22)}_{run(_BASE_62, 59)}"),
            ("GitLab token", f"glpat-{run(_URL_64, 20)}"),
            ("GitLab token", f"gldt-{run(_URL_64, 20)}"),
            ("GitLab token", f"glptt-{run(_HEX, 40)}"),
            ("Slack token", f"xoxb-{run(_DIGITS, 12)}-{run(_DIGITS, 13)}-{run(_BASE_62, 24)}"),
            ("Slack token", f"xoxp-{run(_DIGITS, 12)}-{run(_DIGITS, 12)}-{run(_DIGITS, 12)}-{run(_HEX, 32)}"),
            ("Slack token", f"xapp-1-A{run(_UPPER, 10)}-{run(_DIGITS, 13)}-{run(_HEX, 64)}"),
            ("Slack webhook", f"hooks.slack.com/services/T{run(_UPPER, 8)}/B{run(_UPPER, 10)}/{run(_BASE_62, 24)}"),
            ("Anthropic key", f"sk-ant-api03-{run(_URL_64, 93)}AA"),
            ("OpenAI key", f"sk-proj-{run(_URL_64, 74)}T3BlbkFJ{run(_URL_64, 74)}"),
            ("API key", f"sk-{run(_BASE_62, 20)}T3BlbkFJ{run(_BASE_62, 20)}"),
            ("OpenRouter key", f"sk-or-v1-{run(_HEX, 64)}"),
            ("API key", f"sk-{run(_HEX, 32)}"),
            ("Google API key", f"AIza{run(_URL_64, 35)}"),
            ("Google client secret", f"GOCSPX-{run(_URL_64, 28)}"),
            ("Google access token", f"ya29.{run(_URL_64, 120)}"),
            ("Stripe key", f"sk_live_{run(_BASE_62, 24)}"),
            ("Stripe key", f"rk_test_{run(_BASE_62, 99)}"),
            ("webhook secret", f"whsec_{run(_BASE_62, 32)}"),
            ("npm token", f"npm_{self.with_checksum()}"),
            ("PyPI token", f"pypi-AgEIcHlwaS5vcmc{run(_URL_64, 150)}"),
            ("RubyGems token", f"rubygems_{run(_HEX, 48)}"),
            ("Docker token", f"dckr_pat_{run(_URL_64, 27)}"),
            ("Hugging Face token", f"hf_{run(_LETTERS, 34)}"),
            ("Replicate token", f"r8_{run(_BASE_62, 37)}"),
            ("Groq key", f"gsk_{run(_BASE_62, 52)}"),
            ("xAI key", f"xai-{run(_BASE_62, 80)}"),
            ("Perplexity key", f"pplx-{run(_BASE_62, 48)}"),
            ("SendGrid key", f"SG.{run(_URL_64, 22)}.{run(_URL_64, 43)}"),
            ("Twilio key", f"SK{run(_HEX, 32)}"),
            ("Mailgun key", f"key-{run(_HEX, 32)}"),
            ("Mailchimp key", f"{run(_HEX, 32)}-us12"),
            ("Brevo key", f"xkeysib-{run(_HEX, 64)}-{run(_BASE_62, 16)}"),
            ("Telegram token", f"{self.one_of('1', '5', '7')}{run(_DIGITS, 9)}:AA{run(_URL_64, 33)}"),
            ("Discord token", self.discord()),
            ("Discord webhook", f"discord.com/api/webhooks/{run('123456789', 18)}/{run(_URL_64, 68)}"),
            ("Shopify token", f"shpat_{run(_HEX, 32)}"),
            ("Square token", f"sq0atp-{run(_URL_64, 22)}"),
            ("DigitalOcean token", f"dop_v1_{run(_HEX, 64)}"),
            ("Azure client secret", f"{run(_BASE_62, 3)}8Q~{run(_BASE_62 + '-_~', 33)}a"),
            ("Azure storage key", f"AccountKey={run(_BASE_64, 86)}=="),
            ("Databricks token", f"dapi{run(_HEX, 32)}"),
            ("Vault token", f"hvs.{run(_URL_64, 95)}"),
            ("Terraform token", f"{run(_BASE_62, 14)}.atlasv1.{run(_BASE_62, 67)}"),
            ("Pulumi token", f"pul-{run(_HEX, 40)}"),
            ("Tailscale key", f"tskey-auth-{run(_BASE_62, 17)}-{run(_BASE_62, 32)}"),
            ("Supabase token", f"sbp_{run(_HEX, 40)}"),
            ("PlanetScale token", f"pscale_tkn_{run(_URL_64, 43)}"),
            ("Grafana token", f"glsa_{run(_BASE_62, 32)}_{run(_HEX, 8)}"),
            ("Sentry token", f"sntryu_{run(_HEX, 64)}"),
            ("New Relic key", f"NRAK-{run(_UPPER, 27)}"),
            ("Dynatrace token", f"dt0c01.{run(_UPPER, 24)}.{run(_UPPER, 64)}"),
            ("Postman key", f"PMAK-{run(_HEX, 24)}-{run(_HEX, 34)}"),
            ("Linear key", f"lin_api_{run(_BASE_62, 40)}"),
            ("Notion token", f"ntn_{run(_DIGITS, 11)}{run(_BASE_62, 35)}"),
            ("Airtable token", f"pat{run(_BASE_62, 14)}.{run(_HEX, 64)}"),
            ("Figma token", f"figd_{run(_URL_64, 40)}"),
            ("JSON Web Token", self.json_web_token()),
            ("age key", f"AGE-SECRET-KEY-1{run(_BECH_32, 58)}"),
            ("private key", f"-----BEGIN {self.one_of('', 'RSA ', 'EC ', 'OPENSSH ', 'ENCRYPTED ')}PRIVATE KEY-----"),
            ("private key", "-----BEGIN PGP PRIVATE KEY BLOCK-----"),
            ("card number", self.card("4", 16)),
            ("card number", self.card("51", 16)),
            ("card number", self.card("37", 15)),
        ]  # fmt: skip

    def passwords(self) -> list[str]:
        """Return passwords as machines and people make them."""
        run, one_of = self.run, self.one_of
        word = lambda: one_of("garden", "Sommer", "hunter", "winter", "Ulrike", "dragon", "Berlin")  # noqa: E731
        signs = "!#$%&*+=?^~(){}"
        return [
            *(run(_BASE_62, length) for length in (12, 16, 20, 24, 32, 40)),
            *(run(_LETTERS + _DIGITS + signs, length) for length in (10, 12, 14, 16, 20, 24)),
            *(run(_HEX, length) for length in (16, 32, 40, 64)),
            *(run(_BASE_64, length) + "=" for length in (27, 43)),
            *(run(_URL_64, length) for length in (22, 43)),
            *(word() + run(_DIGITS, length) for length in (2, 3, 4, 4)),
            *(word() + run("123456789", 4) + run("!?$%", 1) for _ in range(4)),
            *(run(_DIGITS, 4) + word() + run("!?$%", 1) for _ in range(2)),
            *(f"{word()}{sign}{word()}{run(_DIGITS, 2)}" for sign in "$%&("),
            *("Tr0ub4dor&3$", "s3cretpass99", "pa$$w0rd9", "P@ssw0rd1", "abcd1234efgh", "{c5!x(9q"),
            *sorted(WORDS),
        ]


_PLACES = (
    "The new key is {}, keep it.",
    "export SERVICE_KEY={}",
    '  "value": "{}",',
    "| bot | {} |",
    "curl -H 'X-Key: {}' https://api.example.org",
    "- `{}`",
)
_FIELDS = (
    "password: {}",
    "PASSWORD={}",
    'db_password = "{}"',
    '"password": "{}",',
    "DB_PASSWORD={}",
    "- **Password**: `{}`",
    "  client_secret: {}",
    "access_token='{}'",
    'const apiKey = "{}";',
    "API key: {}",
    "the password is {}",
    "Passwort: {}",
    "mot de passe : {}",
    "contraseña: {}",
    "пароль: {}",
    "密码：{}",
    "<password>{}</password>",
    "--password {}",
    "wifi passphrase := {}",
    "secret => '{}',",
)
_ADDRESSES = (
    "postgres://app:{}@db.example.org/app",
    "DATABASE_URL=mysql://wiki:{}@10.0.0.5:3306/wiki",
    "git clone https://ana:{}@git.example.org/hedge.git",
    "amqps://service:{}@queue.example.org",
)


def secret_lines(seed: int, count: int = 200) -> list[SecretLine]:
    """Return lines with a secret each: about a third tokens, half values of fields, the rest in addresses."""
    maker = _Maker(seed)
    lines: list[SecretLine] = []
    while len(lines) < count:
        for at, (kind, token) in enumerate(maker.tokens()):
            lines.append(SecretLine(_PLACES[at % len(_PLACES)].format(token), token, kind))
        for at, password in enumerate(maker.passwords() * 2):
            place = _FIELDS[at % len(_FIELDS)]
            lines.append(SecretLine(place.replace("{}", password), password, "password"))
        for place in _ADDRESSES * 2:
            password = maker.run(_BASE_62 + "$%", 12)
            lines.append(
                SecretLine(place.replace("{}", password), password, "password in an address")
            )
    maker._random.shuffle(lines)
    return lines[:count]


def harmless_lines() -> list[str]:
    """Return the lines without a secret."""
    return HARMLESS.read_text(encoding="utf-8").splitlines()
