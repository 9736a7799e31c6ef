"""``stager context``: what fits on the card, whatever the field says."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import click
from rich.table import Table

from stager.cli.command import command
from stager.cli.output import Output
from stager.cli.remote_file import remote_file, remote_size
from stager.context import numbers
from stager.context.ceiling import Card, Claims
from stager.context.chart import chart
from stager.context.fit import GIB, MIB, Stored
from stager.context.formats import FORMATS, find_format
from stager.context.report import NOT_COUNTED, Report, document, report
from stager.context.sources import Described, describe_local, describe_remote
from stager.errors import HostKeyRefused, InvalidFile, LoginRefused, Unreachable, UsageError
from stager.models.quantities import parse_size

#: Shown to people unless formats are named; the JSON document has them all.
COMMON = ("fp16", "q8_0", "q4_0")
_REMOTE = re.compile(r"(?P<address>(?:[^@/:\s]+@)?(?:\[[0-9A-Fa-f:.]+\]|[^/:\s]+)):(?P<path>/.+)")


class SizeType(click.ParamType[int]):
    """A size with its unit."""

    name = "size"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:  # noqa: ANN401
        """Return bytes."""
        try:
            return value if isinstance(value, int) else parse_size(str(value))
        except ValueError as error:
            self.fail(str(error), param, ctx)


@command(InvalidFile, Unreachable, HostKeyRefused, LoginRefused)
@click.argument("model", required=False)
@click.option("--layers", type=click.IntRange(1), help="Plain numbers instead of MODEL: how many layers.")
@click.option("--full-attention-every", type=click.IntRange(1), default=1, help="Every n-th layer attends fully.")
@click.option("--kv-heads", type=click.IntRange(1), help="Key/value heads of an attending layer.")
@click.option("--head-dim", type=click.IntRange(1), help="Values of one head.")
@click.option("--window", type=click.IntRange(1), help="The native context, in tokens.")
@click.option("--sliding-window", type=click.IntRange(1), help="The layers between slide over so many tokens.")
@click.option("--linear-key-heads", type=click.IntRange(1), help="The layers between are linear: their key heads,")
@click.option("--linear-value-heads", type=click.IntRange(1), help="their value heads,")
@click.option("--linear-head-dim", type=click.IntRange(1), help="values of one of these heads,")
@click.option("--linear-conv", type=click.IntRange(1), default=4, help="and the length of their convolution.")
@click.option("--kv-lora-rank", type=click.IntRange(1), help="Latent attention: the rank,")
@click.option("--rope-dim", type=click.IntRange(0), default=0, help="and the rotated values beside it.")
@click.option("--format", "formats", multiple=True, help="A cache format, or KEYS/VALUES; may be given again.")
@click.option("--card", type=SizeType(), help="Device memory, such as 24GiB.")
@click.option("--weights", type=SizeType(), help="What the weights take of it; a GGUF file's own size if not given.")
@click.option("--slots", type=click.IntRange(1), default=4, show_default=True, help="Requests at once.")
@click.option(
    "--context", "depth", type=click.IntRange(1), help="Tokens of each request; the native window if not given."
)
@click.option("--unified", is_flag=True, help="The slots share one cache of --pool tokens.")
@click.option("--pool", type=click.IntRange(1), help="Tokens of the shared cache; the native window if not given.")
@click.option("--ascii", "ascii_only", is_flag=True, help="Draw the chart without block characters.")
def context(output: Output, model: str | None, **options: Any) -> None:  # noqa: ANN401
    """What the card can hold: KV-cache arithmetic, and what cannot hold together.

    MODEL is a GGUF file, a config.json or the folder that holds one, or ADDRESS:PATH of such a file on a host,
    of which only the header is read.
    """
    described = _describe(model, options)
    architecture = described.architecture
    card = Card(options["card"], options["weights"] if options["weights"] is not None else described.weights)
    named = [_stored(name) for name in options["formats"]]
    pool = (options["pool"] or architecture.window) if options["unified"] or options["pool"] else None
    claims = Claims(options["slots"], options["depth"])
    output.emit(document(report(architecture, named or _all(), claims, card, pool_tokens=pool)))
    common = [_stored(name) for name in COMMON]
    shown = report(architecture, named or common, claims, card, counts=(1, 2, 4), pool_tokens=pool)
    _show(output, shown, ascii_only=options["ascii_only"])


def _describe(model: str | None, options: dict[str, Any]) -> Described:
    if model is None:
        return Described(numbers.architecture(_numbers(options)), None)
    if options["layers"] is not None:
        raise UsageError("Give MODEL or --layers, not both.", next="stager context --help")
    remote = _REMOTE.fullmatch(model)
    if remote is None or Path(model).exists():
        return describe_local(Path(model))
    from stager.host.connect import connect  # slow to load, and needed only here
    from stager.models.playbook import HostSpec

    user, _, address = remote["address"].rpartition("@")
    host = connect(HostSpec(address=address, user=user or None))
    try:
        with remote_file(host, remote["path"]) as file:
            return describe_remote(remote["path"], file.read_range, size=remote_size(host, remote["path"]))
    finally:
        host.close()


def _numbers(options: dict[str, Any]) -> numbers.Numbers:
    if options["layers"] is None or options["window"] is None:
        raise UsageError("Give MODEL, or --layers and --window.", next="stager context --help")
    linear = None
    if options["linear_value_heads"]:
        linear = numbers.Linear(
            options["linear_key_heads"] or options["linear_value_heads"],
            options["linear_value_heads"],
            options["linear_head_dim"] or options["head_dim"] or 0,
            options["linear_conv"],
        )
    return numbers.Numbers(
        layers=options["layers"],
        kv_heads=options["kv_heads"] or 0,
        head_dim=options["head_dim"] or 0,
        window=options["window"],
        full_every=options["full_attention_every"],
        span=options["sliding_window"] or 0,
        linear=linear,
        latent_rank=options["kv_lora_rank"] or 0,
        rope_dim=options["rope_dim"],
    )


def _stored(name: str) -> Stored:
    key, _, value = name.partition("/")
    return Stored(find_format(key), find_format(value or key))


def _all() -> list[Stored]:
    return [Stored.both(form) for form in FORMATS]


def _show(output: Output, answer: Report, *, ascii_only: bool) -> None:
    architecture = answer.architecture
    census = ", ".join(f"{count} {kind}" for kind, count in architecture.census().items())
    output.say(
        f"{architecture.name}: {len(architecture.layers)} layers ({census}); {architecture.kv_layers} keep tokens."
    )
    state = f"; recurrent state {answer.state_bytes / MIB:.3f} MiB per sequence" if answer.state_bytes else ""
    output.say(f"Native window {architecture.window:,} tokens{state}.")
    for reason in dict.fromkeys(reason for reasons in answer.reasons.values() for reason in reasons):
        output.say(f"Cannot hold together: {reason}")
    output.say()
    output.show(_table(answer))
    output.say()
    output.say(chart(answer, counts=sorted({1, answer.rows[0].ceiling.slots}), ascii_only=ascii_only))
    output.say()
    top = answer.rows[0].ceiling
    output.say(
        f"A pool of {top.pool_tokens:,} tokens shared by {top.slots} promises {top.pool_each:,} tokens each; "
        f"of requests of {top.context:,} tokens it holds {top.pool_requests} at once. "
        "A capacity field cannot tell such a pool from private windows."
    )
    for note in architecture.notes:
        output.say(f"Note: {note}")
    output.say(f"Not counted: {'; '.join(NOT_COUNTED)}.")


def _table(answer: Report) -> Table:
    each = "" if answer.depth == answer.architecture.window else f", for {answer.depth:,} tokens a window"
    table = Table(box=None, pad_edge=False, title=f"GiB of keys and values{each}", title_justify="left", title_style="")
    for name in ("cache", "B/token", *("1 window" if n == 1 else f"{n} windows" for n in answer.rows[0].private)):
        table.add_column(name, justify="left" if name == "cache" else "right")
    if answer.card.free is not None:
        table.add_column("fit", justify="right")
        table.add_column("largest pool", justify="right")
    for row in answer.rows:
        cells = [row.stored.name, f"{row.bytes_per_token:,}", *(f"{size / GIB:.2f}" for size in row.private.values())]
        if answer.card.free is not None:
            cells += [str(row.ceiling.windows_fit), f"{row.ceiling.pool_tokens_fit:,}"]
        table.add_row(*cells)
    return table
