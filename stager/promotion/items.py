"""What a promotion puts where, as the host's ``switch`` takes it: pure but for reading the configuration file."""

from __future__ import annotations

import base64
from pathlib import Path
from typing import Any

from stager.errors import InvalidFile
from stager.models.promotion import Promotion
from stager.models.template import fill


def paths_of(promotion: Promotion) -> list[str]:
    """Return the paths that are switched: they name the production."""
    found = [promotion.link, promotion.drop_in and promotion.drop_in.path, promotion.config and promotion.config.path]
    return [path for path in found if path]


def items_of(promotion: Promotion, folder: Path, tree: str) -> list[dict[str, Any]]:
    """Return the items of a switch to a build.

    Args:
        promotion: the playbook's section.
        folder: the playbook's folder.
        tree: the build's folder on the host.

    Raises:
        InvalidFile: the configuration file cannot be read, or holds a placeholder that is not {tree}.
    """
    items: list[dict[str, Any]] = []
    if promotion.link:
        items.append({"path": promotion.link, "state": {"link": tree}})
    if promotion.drop_in:
        items.append({"path": promotion.drop_in.path, "state": content(promotion.drop_in.content, tree, "drop_in")})
    if promotion.config:
        file = folder / promotion.config.file
        try:
            text = file.read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            raise InvalidFile(f"promotion/config/file: {file} cannot be read ({error}).") from None
        items.append({"path": promotion.config.path, "state": content(text, tree, "config")})
    return items


def content(text: str, tree: str, key: str) -> dict[str, Any]:
    """A file's new content with the build's folder filled in; the host decides its mode and owner."""
    try:
        filled = fill(text, {"tree": tree})
    except KeyError as error:
        raise InvalidFile(f"promotion/{key}: {{{error.args[0]}}} means nothing here; only {{tree}} does.") from None
    return {"content": base64.b64encode(filled.encode()).decode()}
