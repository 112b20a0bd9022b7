"""What makes two requests the same: the canonical form and hash that cache and recorder share."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import Any

from rulemem.ports import TextRequest


def describe_request(request: TextRequest) -> dict[str, Any]:
    """Return all of a request that can change its reply; the stage only says who pays."""
    return {
        "prompt": request.prompt,
        "system": request.system,
        "user": request.user,
        "schema": request.schema,
        "max_tokens": request.max_tokens,
        "stop": list(request.stop),
    }


def fingerprint(content: Mapping[str, Any]) -> str:
    """Return the sha256 of a JSON-like mapping, whatever the order of its keys.

    >>> fingerprint({"a": 1, "b": [2]}) == fingerprint({"b": [2], "a": 1})
    True
    """
    canonical = json.dumps(content, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(canonical.encode("ascii")).hexdigest()
