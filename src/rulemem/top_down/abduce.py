"""Abduction: read a question backwards into facts that could explain its answer.

One model call in `ask`, when asked for; the lines become further search queries, nothing else.

Source: method.md, stage 3 step 3; Assumption ADR-0009.
"""

from __future__ import annotations

from rulemem.errors import ModelError
from rulemem.ports import TextModel, TextRequest
from rulemem.prompts import load_prompt

_MOST = 3


def propose_premises(question: str, model: TextModel) -> tuple[str, ...]:
    """Up to three possible premises; none where the model gives no usable reply."""
    prompt = load_prompt("abduce")
    request = TextRequest(
        stage="abduce",
        prompt=prompt.tag,
        system=prompt.system,
        user=prompt.render(question=question),
        max_tokens=60,
    )
    reply = model.complete([request])[0]
    if isinstance(reply, ModelError):
        return ()
    lines = [line.strip(" -*.\t") for line in reply.text.splitlines()]
    return tuple(line for line in lines if 2 <= len(line.split()) <= 20)[:_MOST]
