"""The content of a chat message, in the shapes that chat APIs give it, as text and a caption.

Text parts are joined in order. An image becomes the caption that comes with it; without one its
place is marked "[image]" in the text. It does not know messages, speakers or dates.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from rulemem.errors import InputError
from rulemem.formats.records import as_list, as_mapping, described, shown

IMAGE_MARK = "[image]"

_TEXT_KEYS = ("text", "refusal", "transcript")
_CAPTION_KEYS = ("alt", "alt_text", "caption", "blip_caption", "description", "detail")
_RESOLUTIONS = {"auto", "low", "high", "original"}  # what `detail` says when it describes nothing
_SHOWS_PARTS = 'Content is text, null, or a list of parts such as {"type": "text", "text": "..."}.'


@dataclass(frozen=True, slots=True, kw_only=True)
class Content:
    """What is to be read in a message."""

    text: str
    caption: str = ""
    left_out: tuple[str, ...] = ()  # types of parts in which there is nothing to read


def read_content(content: object, *, where: str) -> Content:
    """Read the content of a message.

    Args:
        content: Text, a list of parts, or None.
        where: The message, for errors.

    Raises:
        InputError: The content, or a part of it, has an unknown shape.
    """
    if content is None:
        return Content(text="")
    if isinstance(content, str):
        return Content(text=content)
    parts = as_list(content)
    if parts is None:
        raise InputError(f"the content of {where} is {described(content)}.", hint=_SHOWS_PARTS)
    texts: list[str] = []
    captions: list[str] = []
    left_out: list[str] = []
    for number, part in enumerate(parts):
        _read_part(part, f"{where}.content[{number}]", (texts, captions, left_out))
    return Content(
        text="\n".join(text for text in texts if text),
        caption="; ".join(captions),
        left_out=tuple(left_out),
    )


def _read_part(part: object, where: str, into: tuple[list[str], list[str], list[str]]) -> None:
    """Sort one part into texts, captions and what holds nothing to read."""
    texts, captions, left_out = into
    if isinstance(part, str):
        texts.append(part)
        return
    fields = as_mapping(part)
    if fields is None:
        raise InputError(f"{where} is {described(part)}.", hint=_SHOWS_PARTS)
    kind = fields.get("type", fields.get("content_type"))
    if isinstance(kind, str) and "image" in kind:
        caption = _find_caption(fields)
        if caption:
            captions.append(caption)
        else:
            texts.append(IMAGE_MARK)
        return
    text = _find_text(fields)
    if text is not None:
        texts.append(text)
    elif kind in ("text", "input_text", "output_text", None):
        value = fields.get("text", part)
        raise InputError(f"the text of {where} is {described(value)}.", hint=_SHOWS_PARTS)
    else:
        left_out.append(kind if isinstance(kind, str) else shown(kind))


def _find_text(fields: Mapping[object, object]) -> str | None:
    """Return the words of a part, which some APIs put one level deeper, or None."""
    for key in _TEXT_KEYS:
        value = fields.get(key)
        if isinstance(value, Mapping):
            value = value.get("value")
        if isinstance(value, str):
            return value
    audio = fields.get("audio", fields.get("input_audio"))
    if isinstance(audio, Mapping) and isinstance(audio.get("transcript"), str):
        return str(audio["transcript"])
    return None


def _find_caption(fields: Mapping[object, object]) -> str:
    """Return what an image part says of its image, in the part itself or one level deeper."""
    inner: Sequence[object] = [v for v in fields.values() if isinstance(v, Mapping)]
    for holder in (fields, *inner):
        for key in _CAPTION_KEYS:
            value = holder.get(key) if isinstance(holder, Mapping) else None
            if isinstance(value, str) and value.strip() and value.lower() not in _RESOLUTIONS:
                return value.strip()
    return ""
