"""Rule packs: clauses that travel between memories, checked before anything is written.

Knows nothing of files or stores.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rulemem.clauses import check_clause
from rulemem.errors import InputError
from rulemem.types import Rule

PACK = "pack:"  # how the inducer of a pack's rule begins


def parse_pack(pack: Mapping[str, Any]) -> list[Rule]:
    """The rules of a pack: admitted, and named after it.

    Raises:
        InputError: not a pack, or a clause in it is malformed.
    """
    name, entries = pack.get("name"), pack.get("rules")
    if not isinstance(name, str) or not isinstance(entries, list):
        raise InputError("Not a rule pack: it needs a 'name' and a list 'rules'.")
    rules = []
    for number, entry in enumerate(entries):
        if not isinstance(entry, dict) or not isinstance(entry.get("head"), str):
            raise InputError(f"rules[{number}] of pack {name!r} has no 'head': {entry!r}.")
        body = tuple(str(atom) for atom in entry.get("body", ()))
        check_clause(body, entry["head"])
        rules.append(
            Rule(body=body, head=entry["head"], status="admitted", inducer=f"{PACK}{name}")
        )
    return rules


def is_by_hand(rule: Rule) -> bool:
    """Whether a rule came from a pack: people admitted it, and no verdict takes that back."""
    return rule.inducer.startswith(PACK)
