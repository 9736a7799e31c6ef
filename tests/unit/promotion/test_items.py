"""What a promotion puts where."""

from __future__ import annotations

import base64
from pathlib import Path

import pytest

from stager.errors import InvalidFile
from stager.models.promotion import ConfigFile, DropIn, Promotion
from stager.promotion.items import items_of, paths_of

TREE = "/var/lib/stager/trees/ab12"


def text(item: dict[str, dict[str, str]]) -> str:
    """The content of an item."""
    return base64.b64decode(item["state"]["content"]).decode()


def test_every_kind_of_item_names_the_builds_folder(tmp_path: Path) -> None:
    """The link leads to the tree; drop-in and configuration have it filled in, and nothing else in them is touched."""
    (tmp_path / "swap.yaml").write_text('cmd: {tree}/run --json {"a": 1} {{tree}}\n')
    promotion = Promotion(
        link="/srv/current",
        drop_in=DropIn(unit="llama.service", content="[Service]\nWorkingDirectory={tree}\n"),
        config=ConfigFile(path="/etc/swap.yaml", file="swap.yaml"),
    )

    link, drop_in, config = items_of(promotion, tmp_path, TREE)

    assert link == {"path": "/srv/current", "state": {"link": TREE}}
    assert drop_in["path"] == "/etc/systemd/system/llama.service.d/50-stager.conf"
    assert text(drop_in) == f"[Service]\nWorkingDirectory={TREE}\n"
    assert text(config) == f'cmd: {TREE}/run --json {{"a": 1}} {{tree}}\n'
    assert paths_of(promotion) == [link["path"], drop_in["path"], config["path"]]


@pytest.mark.parametrize(("content", "said"), [("{port}\n", "{port} means nothing here"), (None, "cannot be read")])
def test_a_configuration_that_cannot_be_used_is_named(tmp_path: Path, content: str | None, said: str) -> None:
    """Another placeholder, or no file: refused with the key, before anything is touched."""
    if content is not None:
        (tmp_path / "swap.yaml").write_text(content)
    promotion = Promotion(config=ConfigFile(path="/etc/swap.yaml", file="swap.yaml"))

    with pytest.raises(InvalidFile, match="promotion/config") as caught:
        items_of(promotion, tmp_path, TREE)

    assert said in caught.value.message
