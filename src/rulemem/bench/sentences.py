"""Where sentences end in lower-cased English, as Punkt's English model decides it.

Mem0's BLEU splits an answer into sentences before it splits words, so that a full stop inside an
answer becomes a word of its own or not. In lower-cased text little of Punkt is left to decide: no
word begins with a capital, so that a stop after an abbreviation, a number or an initial never
ends a sentence before a word, and every other stop does. The abbreviations are those of our own
list that the model knows; single letters are told apart because a number may follow them.

Source: Kiss and Strunk, "Unsupervised Multilingual Sentence Boundary Detection" (2006); what the
trained model does was observed, see `tests/test_bench_metrics.py`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

_ABBREVIATION_TEXT = """
mr mrs ms dr prof st sr jr gen col maj lt adm sen rep reps messrs ph.d m.b.a
inc ltd co cos corp bros cie s.p.a
vs yr ft mg ave ct ok
jan feb aug sep sept oct nov dec tues wed fri
a.m p.m a.d u.s u.k u.n u.s.a u.s.s.r
ala ariz calif colo conn fla ga ill kan ky mich minn nev okla ore pa tenn va vt wash wis w.va
d.c l.a n.c n.d n.h n.j n.m n.y r.i s.c
c d e f g h k l m n p r s t v w
a.a a.c a.g a.h a.s a.t b.f b.v c.v d.h d.w e.f e.h e.l e.m f.g f.j g.d g.f g.k h.c h.f h.m
j.b j.c j.j j.k j.p j.r l.f l.p m.j n.v r.a r.h r.j r.k r.t s.a s.g s.s t.j w.c w.r w.w
"""
_ABBREVIATIONS = frozenset(_ABBREVIATION_TEXT.split())

_STOPS = ".?!"
_BESIDE = r"[)\";}\]*:@'({\[!?]"  # characters that end a word without white space
_RUN = r"-{2,}|\.{2,}|(?:\.\s){2,}\."  # dashes, ellipses
_CANDIDATE = re.compile(rf"[{_STOPS}](?=(?P<after>{_BESIDE}|\s+(?P<next>\S+)))")
_TOKEN = re.compile(
    rf"{_RUN}|(?=[^(\"`{{\[:;&#*@)}}\]\-,])\S+?(?=\s|$|{_BESIDE}|{_RUN}|,(?=$|\s|{_BESIDE}|{_RUN}))|\S"
)
_NUMBER = re.compile(r"-?[.,]?\d[\d,.-]*")
_INITIAL = re.compile(r"[^\W\d]\.")
_CLOSING = re.compile(r"[\"')\]}]+?(?:\s+|(?=--)|$)", re.MULTILINE)
_SPACE = re.compile(r"[ \t\n\r\f\v]")


def split_sentences(text: str) -> list[str]:
    """Return the sentences of a lower-cased text, without the white space between them.

    >>> split_sentences("met dr. lee at 5 p.m. on monday. it rained.")
    ['met dr. lee at 5 p.m. on monday.', 'it rained.']
    """
    sentences: list[str] = []
    taken = 0  # characters of the next span that went to the sentence before
    spans = list(_spans(text))
    for (start, end), following in zip(spans, [*spans[1:], None], strict=True):
        begin = start + taken
        taken = 0
        if following is not None:
            closing = _CLOSING.match(text[following[0] : following[1]])
            if closing:
                end = following[0] + len(closing.group().rstrip())
                taken = closing.end()
        if text[begin:end]:
            sentences.append(text[begin:end])
    return sentences


def _spans(text: str) -> Iterator[tuple[int, int]]:
    """Yield start and end of each sentence, before closing quotes are moved to their sentence."""
    start = 0
    for match, context in _candidates(text):
        if _ends_sentence(context):
            yield start, match.end()
            start = match.start("next") if match["next"] else match.end()
    yield start, len(text.rstrip())


def _candidates(text: str) -> Iterator[tuple[re.Match[str], str]]:
    """Yield the last stop of each word with that word and what follows it."""
    pending: tuple[re.Match[str], str] | None = None
    start = stop = 0  # of the word before the pending stop
    for match in _CANDIDATE.finditer(text):
        spaces = [space.start() for space in _SPACE.finditer(text, stop, match.start())]
        begin = spaces[-1] + 1 if spaces and spaces[-1] > stop else start
        if pending is not None and stop <= begin:
            yield pending
        start, stop = begin, match.start()
        pending = match, text[start:stop] + match.group() + match["after"]
    if pending is not None:
        yield pending


def _ends_sentence(context: str) -> bool:
    """Whether a sentence ends before the last token of a context."""
    tokens = [token for line in context.split("\n") for token in _TOKEN.findall(line)]
    return any(_breaks(token, tokens[n]) for n, token in enumerate(tokens[:-1], start=1))


def _breaks(token: str, following: str) -> bool:
    """Whether a sentence ends between two tokens."""
    if token in ("?", "!"):
        return True
    if not token.endswith(".") or token.endswith(".."):
        return False
    word = token[:-1]
    if word and (word in _ABBREVIATIONS or word.split("-")[-1] in _ABBREVIATIONS):
        return False
    uncertain = _INITIAL.fullmatch(token) or _NUMBER.fullmatch(word)
    return not (uncertain and (following[0].islower() or following in ";:,.!?"))
