"""Words as they are indexed, asked for and compared.

`terms` is used on both sides of the full-text index, so that what is stored and what is asked
for always meet; the other stages use `content_terms` to see whether two texts share words, and
`canonical` to see whether two names are one. Knows nothing of scopes, stores or ranking.

- Compatibility forms and case are folded (NFKC, casefold), and so are accents and the vowel
  points of Hebrew and Arabic, which people write or leave out as they please.
- Words in Latin letters are stemmed with the English Snowball stemmer: wrong for other
  languages, but equally wrong on both sides.
- Scripts written without spaces give single characters and pairs, so that a word of two
  characters is found inside a sentence.

Source: models.md, "BM25 over turns with captions (stemmed)". Assumption: the paper names no
lexical index.
"""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache

_LONGEST_TERM = 64  # characters; longer ones (a data URI, a hash) are cut, on both sides

# "may", "will" and "us" are absent: a month, a name and a country hide behind them.
_STOP_TEXT = """
a an the this that these those
i me my mine myself we our ours ourselves you your yours yourself yourselves
he him his himself she her hers herself it its itself they them their theirs themselves
am is are was were be been being do does did doing done have has had having
can could would should shall might must
and or but nor so if then than because as while until though although
of at by for with about between into through during before after above below
to from up down in out on off over under again
what which who whom whose when where why how
all any both each few more most other some such no not only own same too very just
here there also
i'm i've i'd i'll you're you've you'd you'll he's he'd he'll she's she'd she'll
it's it'd it'll we're we've we'd we'll they're they've they'd they'll that's there's
what's who's when's where's how's why's let's
isn't aren't wasn't weren't don't doesn't didn't haven't hasn't hadn't
can't couldn't won't wouldn't shouldn't mustn't
"""
_STOP_WORDS = frozenset(_STOP_TEXT.split())

# Accents, the points of Hebrew and Arabic, the Arabic stretching stroke, and invisible joiners.
_FOLDED_AWAY = re.compile(
    "[\u0300-\u036f\u0591-\u05bd\u05bf\u05c1\u05c2\u05c4\u05c5\u05c7"
    "\u0610-\u061a\u0640\u064b-\u065f\u0670\u06d6-\u06ed\u00ad\u200c\u200d\u2060\ufeff]"
)

# Thai, Lao, Myanmar, Hangul, Khmer, kana and bopomofo, Han (in that order).
_UNSPACED = (
    "\u0e00-\u0eff\u1000-\u109f\u1100-\u11ff\u1780-\u17ff\u3005-\u3007\u3040-\u312f"
    "\u31a0-\u31bf\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff"
    "\U00020000-\U0003ffff"
)
# Scripts whose vowel signs `\w` leaves out (Devanagari to Sinhala, Tibetan), without the danda.
_WITH_SIGNS = "\u0900-\u0963\u0966-\u0dff\u0f00-\u0fff"

_TOKEN = re.compile(
    rf"(?P<unspaced>[{_UNSPACED}]+)|(?P<word>(?:[^\W_{_UNSPACED}]|[{_WITH_SIGNS}]|')+)"
)
_STEMMED = re.compile(r"[a-z']+")
_APOSTROPHES = str.maketrans("\u2018\u2019\u02bc\uff07", "''''")


def terms(text: str) -> list[str]:
    """Return the terms of a text in order, repeats included.

    Stop words are left out unless nothing else is left, so that a question made of nothing but
    stop words ("The Who?") can still be asked.

    >>> terms("Where did Ann's dogs run?")
    ['ann', 'dog', 'run']
    >>> terms("豆豆来了")
    ['豆', '豆', '来', '了', '豆豆', '豆来', '来了']
    >>> terms("Who is it?")
    ['who', 'is', 'it']
    """
    found, stopped = _split(text)
    return found or stopped


def content_terms(text: str) -> frozenset[str]:
    """Return the distinct terms that carry meaning; empty for nothing but stop words.

    >>> sorted(content_terms("She was at the pottery class"))
    ['class', 'potteri']
    >>> content_terms("Who is it?")
    frozenset()
    """
    return frozenset(_split(text)[0])


def canonical(name: str) -> str:
    """Return the form under which a name is the same name: NFKC, casefold, single spaces.

    Accents stay: "Jose" and "José" may be two people, and merging is not undone.

    >>> canonical("  ＡＮＮ   Lee ")
    'ann lee'
    """
    return " ".join(unicodedata.normalize("NFKC", name).casefold().split())


def _split(text: str) -> tuple[list[str], list[str]]:
    """Return the terms without stop words, and the stop words."""
    found: list[str] = []
    stopped: list[str] = []
    for match in _TOKEN.finditer(_fold(text)):
        token = match.group()
        if match.lastgroup == "unspaced":
            found.extend(token)
            found.extend(token[i : i + 2] for i in range(len(token) - 1))
            continue
        word = token.strip("'")
        if word in _STOP_WORDS:
            stopped.append(word)
        elif word:
            found.append(_stem(word) if _STEMMED.fullmatch(word) else word[:_LONGEST_TERM])
    return found, stopped


def _fold(text: str) -> str:
    text = text.translate(_APOSTROPHES)
    if text.isascii():
        return text.casefold()
    bare = _FOLDED_AWAY.sub("", unicodedata.normalize("NFKD", text).casefold())
    return unicodedata.normalize("NFKC", bare)


@lru_cache(maxsize=16384)  # a pure function; stemming is most of the cost of indexing
def _stem(word: str) -> str:
    # Imported here: the package loads every language it knows. Made here: a stemmer keeps the
    # word it works on, so that one shared between threads mixes them up.
    import snowballstemmer

    stem: str = snowballstemmer.stemmer("english").stemWord(word[:_LONGEST_TERM])
    return stem
