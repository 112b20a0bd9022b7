"""Prompts as files: one `<id>.md` per model call, versioned, rendered strictly.

A file holds a header (id, version, the paper's section, what goes in, what must come back) and
two parts, `# System` and `# User`. The fixed instructions stand in the system part, so that a
model's prefix cache pays for them once. `$name` marks a variable; a missing or unused variable
raises. `prompts.lock` holds a hash of each file: changing a text without raising its version
fails a test.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from importlib.resources import files
from string import Template

from rulemem.errors import ConfigError


@dataclass(frozen=True, slots=True, kw_only=True)
class Prompt:
    """A prompt file, split into its parts."""

    id: str
    version: int
    system: str  # fixed text, no variables
    user: str  # text with $variables

    @property
    def tag(self) -> str:
        """The name stored beside everything made with this prompt: "induce_rule@2"."""
        return f"{self.id}@{self.version}"

    def render(self, **values: str) -> str:
        """Fill the user part.

        Raises:
            ConfigError: a variable is missing or not used by the prompt.
        """
        template = Template(self.user)
        wanted = set(template.get_identifiers())
        if wanted != set(values):
            raise ConfigError(
                f"Prompt {self.tag!r} takes {sorted(wanted)}, was given {sorted(values)}."
            )
        return template.substitute(values)


def load_prompt(id: str) -> Prompt:
    """Read a prompt that ships with the package.

    Raises:
        ConfigError: no such prompt, or its file is not in the form above.
    """
    path = files(__name__) / f"{id}.md"
    if not path.is_file():
        raise ConfigError(f"No prompt {id!r}.", hint=f"There are {list_prompts()}.")
    return _parse(id, path.read_text(encoding="utf-8"))


def list_prompts() -> list[str]:
    """Ids of all prompts that ship with the package."""
    return sorted(p.name[:-3] for p in files(__name__).iterdir() if p.name.endswith(".md"))


def prompt_hashes() -> dict[str, str]:
    """id@version -> sha256 of the prompt's file; what `prompts.lock` must say."""
    hashes = {}
    for id in list_prompts():
        data = (files(__name__) / f"{id}.md").read_bytes()
        hashes[load_prompt(id).tag] = hashlib.sha256(data).hexdigest()
    return hashes


def _parse(id: str, text: str) -> Prompt:
    try:
        _, header, body = text.split("---\n", 2)
        fields = dict(line.split(": ", 1) for line in header.strip().splitlines())
        system, user = body.split("# User\n", 1)
        return Prompt(
            id=fields["id"],
            version=int(fields["version"]),
            system=system.split("# System\n", 1)[1].strip(),
            user=user.strip(),
        )
    except (ValueError, KeyError, IndexError) as error:
        raise ConfigError(f"Prompt file {id!r} is not in the documented form.") from error
