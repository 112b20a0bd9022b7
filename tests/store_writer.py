"""A process of its own that writes to a store: `python -m tests.store_writer MODE PATH NAME`.

Prints a line after each commit that the tests hold the store to.
"""

from __future__ import annotations

import os
import sys
from itertools import count

from tests.store_records import (
    a_fact,
    a_key,
    a_rule,
    a_turn,
    add_turns,
    commit_facts,
    commit_rules,
    index_all,
    open_store,
)

from rulemem.stores.sqlite import SqliteStore


def write_until_killed(store: SqliteStore, name: str) -> None:
    """Add, index, extract, learn, edit and forget, over and over."""
    for i in count():
        batch = [
            a_turn(f"{name} {i} {j} lute", key=f"{name} {i} {j}", position=j) for j in range(3)
        ]
        ids = add_turns(store, "s", *batch)
        print(f"{name} {i}", flush=True)
        index_all(store, "s")
        facts = commit_facts(
            store, "s", *(a_fact("Nora", f"did {name} {i}", f"thing {j}", ids[j]) for j in range(3))
        )
        key = a_key(f"Nora may do {i}", facts[:2], ids[:2])
        commit_rules(store, "s", a_rule(f"h {name} {i}", key), task="rules", learned_facts=facts)
        if i % 3 == 2:
            store.add_turns("s", [a_turn("edited lute", key=f"{name} {i} 0")])
            store.add_turns("doomed", batch)
            store.forget("doomed")


def add_some(store: SqliteStore, name: str, number: int) -> None:
    """Add turns one by one, each with a fact about the same person."""
    for i in range(number):
        [id] = add_turns(store, "s", a_turn(f"{name} {i}", conversation=name, position=i))
        commit_facts(store, "s", a_fact("Nora", "met", f"{name} {i}", id))


def add_on_both_sides_of_a_fork(store: SqliteStore, name: str) -> None:
    """Use a store that was opened before a fork in the parent, and after it is done in the child.

    The last one to close a file throws its log away: a child that went on with the connection of
    its parent would then write where nobody looks.
    """
    add_some(store, f"{name} before", 3)
    told, tell = os.pipe()
    child = os.fork()
    if child:
        add_some(store, f"{name} parent", 20)
        store.close()
        os.write(tell, b".")
        _, status = os.waitpid(child, 0)
        sys.exit(os.waitstatus_to_exitcode(status))
    os.read(told, 1)
    add_some(store, f"{name} child", 20)
    os._exit(0)  # without closing, as a killed one does


if __name__ == "__main__":
    mode, path, name = sys.argv[1:]
    opened = open_store(path)
    if mode == "until-killed":
        write_until_killed(opened, name)
    elif mode == "fork":
        add_on_both_sides_of_a_fork(opened, name)
    else:
        add_some(opened, name, int(mode))
    opened.close()
