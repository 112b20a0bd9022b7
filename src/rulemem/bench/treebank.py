"""Words of lower-cased English, split as the Penn Treebank splits them.

Mem0's BLEU counts these words. What decides a score here is that punctuation is a word of its own,
that "can't" is "ca" and "n't", and that quotes are written `` and ''. The order of the steps
matters. Text must be lower-cased before.

Source: the Treebank tokenisation as NLTK 3.9.1 performs it; later versions of NLTK split a leading
apostrophe otherwise, see `tests/test_bench_metrics.py`.
"""

from __future__ import annotations

import re

from rulemem.bench.sentences import split_sentences

_Steps = tuple[tuple[re.Pattern[str], str], ...]


def _steps(*pairs: tuple[str, str]) -> _Steps:
    return tuple((re.compile(pattern), replacement) for pattern, replacement in pairs)


_APART = r" \g<0> "

_BEFORE_PADDING = _steps(
    # quotes that open
    ("[«“‘„]|`+", _APART),
    ('^"', "``"),
    ("``", _APART),
    (r"([ (\[{<])(?:\"|'')", r"\1 `` "),
    (r"'(?!re|ve|ll|[mtsdn])(?=\w\b)", "' "),
    # stops, colons and commas; a comma or colon inside a number stays
    (r"([^.])\.([\])}>\"'»”’ ]*)\s*$", r"\1 . \2 "),
    (r"([:,])(\D)", r" \1 \2"),
    (r"[:,]$", _APART),
    (r"\.{2,}", _APART),
    (r"[;@#$%&]", _APART),
    (r"([^.])\.([\])}>\"']*)\s*$", r"\1 . \2 "),
    (r"[?!]", _APART),
    (r"(?<=[^'])' ", " ' "),
    (r"\*", _APART),
    (r"[\[\](){}<>]", _APART),
    ("--", _APART),
)
_AFTER_PADDING = _steps(
    # quotes that close, and what hangs on an apostrophe
    ("[»”’]", _APART),
    ("''|\"", " '' "),
    (r"\s+", " "),
    (r"(?<=[^' ])('[smd]|') ", r" \1 "),
    (r"(?<=[^' ])('ll|'re|'ve|n't) ", r" \1 "),
    # words that are two
    (
        r"\b(can(?=not)|d(?='ye)|gim(?=me)|gon(?=na)|got(?=ta)|lem(?=me)|more(?='n)|wan(?=na\s))"
        r"(not|'ye|me|na|ta|'n)\b",
        r" \1 \2 ",
    ),
    (r"( 't)(is|was)\b", r" \1 \2 "),
)


def split_words(text: str) -> list[str]:
    """Return the words of a lower-cased text, sentence by sentence.

    >>> split_words("she can't come, he said.")
    ['she', 'ca', "n't", 'come', ',', 'he', 'said', '.']
    >>> split_words('"it\\'s 1,000"')
    ['``', 'it', "'s", '1,000', "''"]
    """
    return [word for sentence in split_sentences(text) for word in _split(sentence)]


def _split(sentence: str) -> list[str]:
    for pattern, replacement in _BEFORE_PADDING:
        sentence = pattern.sub(replacement, sentence)
    sentence = f" {sentence} "
    for pattern, replacement in _AFTER_PADDING:
        sentence = pattern.sub(replacement, sentence)
    return sentence.split()
