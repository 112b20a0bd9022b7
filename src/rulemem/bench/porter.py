"""Porter's stemmer with the small extensions that LoCoMo's own metric uses.

The product stems with Snowball, which gives other stems; a published score can only be repeated
with the stemmer that made it. Words must be lower-cased.

Source: Porter, "An algorithm for suffix stripping" (1980), with the departures of NLTK's default
mode: irregular words, short words kept, "ies" and "ied" after one letter, y after a consonant,
"fulli" and "logi", and a double consonant of two letters.
"""

from __future__ import annotations

from itertools import pairwise

_IRREGULAR = {
    "skies": "sky", "dying": "die", "lying": "lie", "tying": "tie", "innings": "inning",
    "inning": "inning", "outings": "outing", "outing": "outing", "cannings": "canning",
    "canning": "canning",
}  # fmt: skip
_KEPT = frozenset({"sky", "news", "howe", "proceed", "exceed", "succeed"})  # lose no letter
_STEP_2 = (
    ("ational", "ate"), ("tional", "tion"), ("enci", "ence"), ("anci", "ance"), ("izer", "ize"),
    ("bli", "ble"), ("alli", "al"), ("entli", "ent"), ("eli", "e"), ("ousli", "ous"),
    ("ization", "ize"), ("ation", "ate"), ("ator", "ate"), ("alism", "al"), ("iveness", "ive"),
    ("fulness", "ful"), ("ousness", "ous"), ("aliti", "al"), ("iviti", "ive"), ("biliti", "ble"),
    ("fulli", "ful"),
)  # fmt: skip
_STEP_3 = (
    ("icate", "ic"), ("ative", ""), ("alize", "al"), ("iciti", "ic"), ("ical", "ic"), ("ful", ""),
    ("ness", ""),
)  # fmt: skip
_STEP_4 = (
    "al", "ance", "ence", "er", "ic", "able", "ible", "ant", "ement", "ment", "ent", "ion", "ou",
    "ism", "ate", "iti", "ous", "ive", "ize",
)  # fmt: skip


def porter_stem(word: str) -> str:
    """Return the stem of a lower-cased word.

    >>> [porter_stem(word) for word in ("important", "selfcare", "dying", "relational", "is")]
    ['import', 'selfcar', 'die', 'relat', 'is']
    """
    if word in _IRREGULAR:
        return _IRREGULAR[word]
    if len(word) <= 2 or word in _KEPT:
        return word
    for step in (_plural, _past, _final_y, _double_suffix, _suffix, _long_suffix, _tidy):
        word = step(word)
    return word


def _plural(word: str) -> str:
    """Step 1a."""
    if word.endswith("ies"):
        return word[:-1] if len(word) == 4 else word[:-2]
    if word.endswith("sses"):
        return word[:-2]
    return word[:-1] if word.endswith("s") and not word.endswith("ss") else word


def _past(word: str) -> str:
    """Step 1b."""
    if word.endswith("ied"):
        return word[:-1] if len(word) == 4 else word[:-2]
    if word.endswith("eed"):
        return word[:-1] if _measure(word[:-3]) > 0 else word
    stem = next((word[: -len(end)] for end in ("ed", "ing") if word.endswith(end)), "")
    if not _has_vowel(stem):
        return word
    if stem.endswith(("at", "bl", "iz")):
        return f"{stem}e"
    if _ends_double(stem):
        return stem if stem[-1] in "lsz" else stem[:-1]
    return f"{stem}e" if _measure(stem) == 1 and _ends_cvc(stem) else stem


def _final_y(word: str) -> str:
    """Step 1c: "happy" but not "enjoy" or "by"."""
    if word.endswith("y") and len(word) > 2 and _is_consonant(word, len(word) - 2):
        return f"{word[:-1]}i"
    return word


def _double_suffix(word: str) -> str:
    """Step 2."""
    if word.endswith("alli") and _measure(word[:-4]) > 0:
        return _double_suffix(f"{word[:-4]}al")
    if word.endswith("logi"):
        return word[:-1] if _measure(word[:-3]) > 0 else word
    return _replace(word, _STEP_2)


def _suffix(word: str) -> str:
    """Step 3."""
    return _replace(word, _STEP_3)


def _long_suffix(word: str) -> str:
    """Step 4."""
    for end in sorted(_STEP_4, key=len, reverse=True):
        if word.endswith(end):
            stem = word[: -len(end)]
            fits = _measure(stem) > 1 and (end != "ion" or stem.endswith(("s", "t")))
            return stem if fits else word
    return word


def _tidy(word: str) -> str:
    """Step 5: a final e, and a double l."""
    if word.endswith("e"):
        stem = word[:-1]
        if _measure(stem) > 1 or (_measure(stem) == 1 and not _ends_cvc(stem)):
            word = stem
    return word[:-1] if word.endswith("ll") and _measure(word[:-1]) > 1 else word


def _replace(word: str, rules: tuple[tuple[str, str], ...]) -> str:
    """Apply the rule of the longest ending that fits; its condition decides alone."""
    for end, new in sorted(rules, key=lambda rule: -len(rule[0])):
        if word.endswith(end):
            stem = word[: -len(end)]
            return stem + new if _measure(stem) > 0 else word
    return word


def _is_consonant(word: str, index: int) -> bool:
    """Whether a letter is a consonant; y is one at the start and after a vowel."""
    if word[index] == "y":
        return index == 0 or not _is_consonant(word, index - 1)
    return word[index] not in "aeiou"


def _measure(stem: str) -> int:
    """Number of changes from vowel to consonant."""
    kinds = [_is_consonant(stem, index) for index in range(len(stem))]
    return sum(not before and after for before, after in pairwise(kinds))


def _has_vowel(stem: str) -> bool:
    return any(not _is_consonant(stem, index) for index in range(len(stem)))


def _ends_double(stem: str) -> bool:
    return len(stem) >= 2 and stem[-1] == stem[-2] and _is_consonant(stem, len(stem) - 1)


def _ends_cvc(stem: str) -> bool:
    """Consonant, vowel, consonant other than w, x, y; or vowel and consonant alone."""
    last = len(stem) - 1
    if last == 1:
        return not _is_consonant(stem, 0) and _is_consonant(stem, 1)
    return (
        last > 1
        and _is_consonant(stem, last)
        and not _is_consonant(stem, last - 1)
        and _is_consonant(stem, last - 2)
        and stem[-1] not in "wxy"
    )
