"""The encoding, the byte order mark and the line ends of a text file, which stay when a file is extended."""

from __future__ import annotations

import codecs
from dataclasses import dataclass

_MARKS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)


@dataclass(frozen=True, slots=True)
class TextFormat:
    """How a text is stored: its encoding, its byte order mark, and the line end of its lines.

    `newline` is the more frequent of CRLF and LF. Decoding and encoding keep every line end as it is.
    """

    encoding: str = "utf-8"
    mark: bytes = b""
    newline: str = "\n"
    errors: str = "strict"

    @property
    def is_utf16(self) -> bool:
        """Whether the file is UTF-16, which some programs cannot read."""
        return self.encoding.startswith("utf-16")

    def encode(self, text: str) -> bytes:
        """Return the bytes of a file with a text."""
        return self.mark + text.encode(self.encoding, self.errors)

    def lines(self, text: str) -> str:
        """Return a text to insert, whose newlines become the line end of the file."""
        return text.replace("\n", self.newline)


def decode_text(data: bytes, *, strict: bool = True) -> tuple[str, TextFormat]:
    """Return the text of a file without its byte order mark, and the format to write it in.

    Without a mark the encoding is UTF-8. Raises UnicodeDecodeError for other bytes; unless `strict`, bytes
    that are not UTF-8 become lone surrogates, which `TextFormat.encode` writes as the same bytes.
    """
    mark, encoding = next((one for one in _MARKS if data.startswith(one[0])), (b"", "utf-8"))
    errors = "strict" if strict or encoding != "utf-8" else "surrogateescape"
    text = data[len(mark) :].decode(encoding, errors)
    newline = "\r\n" if text.count("\r\n") * 2 > text.count("\n") else "\n"
    return text, TextFormat(encoding, mark, newline, errors)
