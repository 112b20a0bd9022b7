"""The conversations.json of a ChatGPT export.

A conversation is a tree of messages, since a user can edit and regenerate. What was last on the
screen is the way from `current_node` up to the root; other branches are left out. Hidden messages,
instructions, tool traffic and a model's inner notes are skipped, with a reason.

Assumption: the shape of the exports seen since 2023; the vendor documents none.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from rulemem.errors import InputError
from rulemem.formats.content_parts import read_content
from rulemem.formats.records import (
    Draft,
    Format,
    Item,
    Skip,
    Utterance,
    as_list,
    as_mapping,
    described,
    shown,
)

_SPEAKING = ("user", "assistant")
_READABLE = ("text", "multimodal_text")  # other content types are not dialogue
_SHAPE = '[{"title": ..., "mapping": {...}, "current_node": ...}, ...]'

_Node = Mapping[object, object]


def _recognises(source: object) -> bool:
    items = as_list(source)
    return any(_mapping(item) is not None for item in ([source] if items is None else items))


def _mapping(conversation: object) -> _Node | None:
    """Return the tree of a conversation: node id -> node."""
    return as_mapping((as_mapping(conversation) or {}).get("mapping"))


def _read(source: object) -> list[Draft]:
    items = as_list(source)
    drafts = []
    for index, conversation in enumerate([source] if items is None else items):
        tree = _mapping(conversation)
        if tree is None:
            raise InputError(
                f"conversation {index} is {described(conversation)}.",
                hint=f"A ChatGPT export is {_SHAPE}.",
            )
        fields = as_mapping(conversation) or {}
        title = _text(fields.get("title"))
        name = _text(fields.get("conversation_id")) or _text(fields.get("id")) or title
        items_ = _read_branch(tree, fields.get("current_node"))
        drafts.append(Draft(id=name or None, items=items_, title=title))
    return drafts


def _read_branch(tree: _Node, current: object) -> Iterator[Item]:
    """Yield the turns from the root to the current node."""
    leaf = _text(current)
    if leaf not in tree:
        leaf = _newest_leaf(tree)
        if tree:
            reason = f"current node {shown(current)} does not exist; read up to the newest message"
            yield Skip(where="current_node", reason=reason, kept=True)
    branch: dict[str, _Node] = {}
    while leaf in tree and leaf not in branch:  # a tree that bites its tail ends there
        node = as_mapping(tree[leaf])
        if node is None:
            raise InputError(
                f"node {leaf!r} is {described(tree[leaf])}.", hint="A node is an object."
            )
        branch[leaf] = node
        leaf = _text(node.get("parent"))
    for name, node in reversed(branch.items()):
        message = as_mapping(node.get("message"))
        if message is not None:
            yield from _read_message(message, f"message {name}", name)


def _newest_leaf(tree: _Node) -> str:
    """Return the id of the node without children whose message is newest, "" if there is none."""
    leaves = [
        (_seconds(node), key)
        for key, value in tree.items()
        if isinstance(key, str) and not (node := as_mapping(value) or {}).get("children")
    ]
    return max(leaves)[1] if leaves else ""


def _seconds(node: _Node) -> float:
    created = (as_mapping(node.get("message")) or {}).get("create_time")
    if not isinstance(created, int | float) or created != created:  # NaN is not newer
        return 0.0
    return float(min(max(created, 0), 1e12))


def _read_message(message: _Node, where: str, node: str) -> Iterator[Item]:
    """Yield the turn of a message, or why there is none."""
    author = as_mapping(message.get("author")) or {}
    content = as_mapping(message.get("content")) or {}
    role = _text(author.get("role"))
    reason = _not_dialogue(message, role, _text(content.get("content_type")) or "text")
    if reason:
        yield Skip(where=where, reason=reason)
        return
    parts = content.get("parts")
    read = read_content(content.get("text") if parts is None else parts, where=where)
    for kind in read.left_out:
        yield Skip(where=where, reason=f"part of type {kind!r}: nothing to read in it", kept=True)
    yield Utterance(
        where=where,
        speaker=_text(author.get("name")) or role,
        text=read.text,
        caption=read.caption,
        said_at=message.get("create_time"),
        key=_text(message.get("id")) or node,
    )


def _not_dialogue(message: _Node, role: str, kind: str) -> str:
    """Say why a message is not part of the dialogue, or return ""."""
    if role not in _SPEAKING:
        return f"role {role!r} is not dialogue"
    if (as_mapping(message.get("metadata")) or {}).get("is_visually_hidden_from_conversation"):
        return "hidden from the conversation"
    if kind not in _READABLE:
        return f"content of type {kind!r} is not dialogue"
    recipient = _text(message.get("recipient")) or "all"
    return "" if recipient == "all" else f"addressed to the tool {recipient!r}"


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""


CHATGPT_EXPORT = Format(name="ChatGPT export", shape=_SHAPE, recognises=_recognises, read=_read)
