"""How good an answer is: Mem0's F1 and BLEU-1, LoCoMo's own score, and refusals. Pure.

The lexical metrics are the published ones to the last digit, oddities included, so that figures
can stand beside those of papers; better ones would be other metrics. Knows no file and no system.

Source: mem0's evaluation (F1, BLEU-1) and LoCoMo's `task_eval`, as described in their papers and
pinned by vectors that were made with the original functions.
"""

from __future__ import annotations

import math
import re
import string
from collections import Counter
from collections.abc import Sequence

from rulemem.bench.porter import porter_stem
from rulemem.bench.treebank import split_words

ADVERSARIAL = 5
_MULTI_HOP, _OPEN_DOMAIN = 1, 3
_MEM0_SPACES = str.maketrans(dict.fromkeys(".,!?", " "))
_NO_PUNCTUATION = str.maketrans("", "", string.punctuation)
_ARTICLES = re.compile(r"\b(?:a|an|the|and)\b")
_LOCOMO_REFUSALS = ("no information available", "not mentioned")
_REFUSAL = re.compile(
    r"\b(?:not (?:mentioned|specified|stated|known|available|provided|discussed|answerable)"
    r"|no (?:information|mention|answer|evidence)|unknown|n/a|unanswerable"
    r"|cannot (?:be )?(?:answer|determine)|(?:don't|do not) know"
    r"|(?:doesn't|does not|didn't|did not) mention)",
    re.IGNORECASE,
)


def mem0_f1(prediction: str, gold: str) -> float:
    """Overlap of the two sets of words, as Mem0 reports it, in [0, 1].

    >>> mem0_f1("yes yes yes", "Yes.")
    1.0
    >>> round(mem0_f1("7th of May, 2023", "7 May 2023"), 4)
    0.5714
    """
    found, wanted = _mem0_words(prediction), _mem0_words(gold)
    return _harmonic(len(found & wanted), len(found), len(wanted))


def mem0_bleu1(prediction: str, gold: str) -> float:
    """Share of the answer's words that stand in the gold, less for short answers, in [0, 1].

    >>> mem0_bleu1("May 7, 2023", "7 May 2023")
    0.75
    >>> mem0_bleu1("...", "...")
    1.0
    """
    if not prediction or not gold:
        return 0.0
    found, wanted = split_words(prediction.lower()), split_words(gold.lower())
    shared = (Counter(found) & Counter(wanted)).total()
    if not shared:
        return 0.0
    brevity = 1.0 if len(found) > len(wanted) else math.exp(1 - len(wanted) / len(found))
    return brevity * shared / len(found)


def locomo_f1(prediction: str, gold: str) -> float:
    """Overlap of the two multisets of Porter stems, as LoCoMo reports it, in [0, 1].

    >>> locomo_f1("the red bikes", "A red bike")
    1.0
    """
    found, wanted = Counter(_locomo_stems(prediction)), Counter(_locomo_stems(gold))
    return _harmonic((found & wanted).total(), found.total(), wanted.total())


def locomo_list_f1(prediction: str, gold: str) -> float:
    """For lists: the best F1 of each part of the gold over the parts of the answer, averaged.

    >>> locomo_list_f1("hiking and chess", "chess, tennis")
    0.3333333333333333
    """
    found, wanted = prediction.split(","), gold.split(",")
    best = [max(locomo_f1(part.strip(), one.strip()) for part in found) for one in wanted]
    return sum(best) / len(best)


def locomo_score(category: int, prediction: str, gold: str) -> float:
    """The score that LoCoMo gives an answer in a category, in [0, 1].

    Args:
        category: LoCoMo's number; 5 asks for a refusal and reads no gold.
        prediction: the answer as it was given.
        gold: the reference answer.
    """
    if category == ADVERSARIAL:
        return float(any(phrase in prediction.lower() for phrase in _LOCOMO_REFUSALS))
    if category == _MULTI_HOP:
        return locomo_list_f1(prediction, gold)
    if category == _OPEN_DOMAIN:
        gold = gold.split(";")[0].strip()
    return locomo_f1(prediction, gold)


def locomo_recall(evidence: Sequence[str], retrieved: Sequence[str]) -> float:
    """LoCoMo's own recall: ids compared as they are written, sessions where S-ids came back.

    Malformed ids never match, and no evidence counts as found. Our own recall repairs the ids
    and leaves such questions out; see `recall.py`.
    """
    if not evidence:
        return 1.0
    by_session = bool(retrieved) and retrieved[0].startswith("S")
    wanted = [f"S{id.split(':')[0][1:]}" if by_session else id for id in evidence]
    return sum(id in retrieved for id in wanted) / len(wanted)


def is_refusal(answer: str) -> bool:
    """Whether an answer says that there is none. Empty answers are refusals.

    >>> is_refusal("That is not mentioned in the conversation."), is_refusal("A red bike")
    (True, False)
    """
    return not answer.strip() or bool(_REFUSAL.search(answer))


def word_count(answer: str) -> int:
    """Length of an answer in words between white space."""
    return len(answer.split())


def _harmonic(shared: int, found: int, wanted: int) -> float:
    if not shared:
        return 0.0
    precision, recall = shared / found, shared / wanted
    return 2 * precision * recall / (precision + recall)


def _mem0_words(text: str) -> set[str]:
    return set(text.strip().lower().translate(_MEM0_SPACES).split())


def _locomo_stems(text: str) -> list[str]:
    bare = text.replace(",", "").lower().translate(_NO_PUNCTUATION)
    return [porter_stem(word) for word in _ARTICLES.sub(" ", bare).split()]
