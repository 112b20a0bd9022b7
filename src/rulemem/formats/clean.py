"""Text made safe to store, index and print, without changing what it says.

Removed or replaced, and nothing else:

- line ends (CR LF, CR, VT, FF, NEL) become a newline; other control characters except tab go;
- a split surrogate pair is joined, a lone surrogate becomes U+FFFD;
- controls that override or isolate writing direction go (U+202A-202E, U+2066-2069): unpaired, they
  would reorder whatever is printed after them; right-to-left letters need none of them;
- canonical composition (NFC), so that one word has one spelling;
- white space at both ends.

Joiners, direction marks, emoji and every letter stay. It does not know where the text came from.
"""

from __future__ import annotations

import re
import unicodedata

UNNAMED = "unknown"  # the speaker when a name is empty

_LINE_END = re.compile("\r\n|[\r\v\f\x85]")
_PAIR = re.compile("[\ud800-\udbff][\udc00-\udfff]")
_LONE = re.compile("[\ud800-\udfff]")
_REMOVED = re.compile("[\x00-\x08\x0e-\x1f\x7f-\x84\x86-\x9f\u202a-\u202e\u2066-\u2069]")
_INVISIBLE = {"Cc", "Cf", "Zl", "Zp", "Zs"}


def clean_text(text: str) -> str:
    r"""Return `text` as it is stored. Cleaning twice changes nothing.

    >>> clean_text(" caf\u0065\u0301\x00 \ud83d ")
    'café \ufffd'
    """
    text = _LINE_END.sub("\n", text)
    text = _REMOVED.sub("", text)
    if not text.isascii():
        text = _LONE.sub("\ufffd", _PAIR.sub(_join, text))
        text = unicodedata.normalize("NFC", text)
    return text.strip()


def clean_name(name: str) -> str:
    """Return a speaker's name on one line, or "unknown" if nothing of it is visible.

    >>> clean_name("  Ann   Lee ")
    'Ann Lee'
    """
    name = " ".join(clean_text(name).split())
    return UNNAMED if is_blank(name) else name


def is_blank(text: str) -> bool:
    r"""Whether nothing of `text` is visible: empty, white space, or zero-width characters.

    >>> is_blank(" \u200b\n")
    True
    """
    return all(unicodedata.category(character) in _INVISIBLE for character in text)


def _join(pair: re.Match[str]) -> str:
    """Return the character that a surrogate pair stands for."""
    return pair.group().encode("utf-16", "surrogatepass").decode("utf-16")
