"""Says in which layer a thread is not what its record says: what was said, what lists show of it, what each
part of the state was restored to, and what the model would see.

Expected is what comes of reading the whole record from its start; actual is what is shown and restored from
the list and from what was folded before. Changes nothing.
"""

import asyncio
from collections.abc import Iterator

from resumed.daemon import records, thread_rows
from resumed.daemon.records import Built
from resumed.daemon.storage.rows import ThreadRow
from resumed.daemon.threads import Store, Threads
from resumed.protocol.keeping import (
    DiagnosedDifference,
    DiagnosedLayer,
    ThreadDiagnoseResult,
)
from resumed.restore.subsystems import SUBSYSTEMS
from resumed.restore.subsystems.conversation import CONVERSATION

_SHOWN = 200


async def diagnose(threads: Threads, store: Store, thread: str) -> ThreadDiagnoseResult:
    """Compare every layer of one thread. Raises `ResumedError` `threadNotFound`."""
    thread_id = (await threads.find(thread)).thread_id
    source = await threads.source(thread_id)
    saved = await store.index.checkpoint(thread_id)
    expected = await asyncio.to_thread(records.build, store.streams, source, None)
    actual = await asyncio.to_thread(records.build, store.streams, source, saved)
    row = await store.index.row(thread_id)
    history = tuple(_history(expected))
    others = {
        "metadata": _metadata(thread_rows.row_of_record(expected, source, row), row),
        "subsystems": _subsystems(expected, actual),
        "context": _context(expected, actual),
    }
    layers = [DiagnosedLayer(name="history", differences=history)]
    for name, found in others.items():
        # What was folded before the record was damaged may hold more than the record does now.
        differences = () if history else tuple(found)
        layers.append(DiagnosedLayer(name=name, judged=not history, differences=differences))
    return ThreadDiagnoseResult(thread_id=thread_id, name=expected.record.name, layers=tuple(layers))


def _history(expected: Built) -> Iterator[DiagnosedDifference]:
    for sentence in expected.record.damage:
        yield DiagnosedDifference(what="record", expected="whole", actual=sentence)


def _metadata(expected: ThreadRow, actual: ThreadRow | None) -> Iterator[DiagnosedDifference]:
    if actual is None:
        yield DiagnosedDifference(what="row", expected="listed", actual="not listed")
        return
    for field in ThreadRow.__struct_fields__:
        yield from _compared(field, getattr(expected, field), getattr(actual, field))


def _subsystems(expected: Built, actual: Built) -> Iterator[DiagnosedDifference]:
    for subsystem in SUBSYSTEMS:
        if subsystem.name != CONVERSATION.name:
            states = (built.record.states[subsystem.name] for built in (expected, actual))
            yield from _compared(subsystem.name, *states)
    for field in ("open_turn", "last_turn", "given_name", "archived"):
        yield from _compared(field, getattr(expected.lifecycle, field), getattr(actual.lifecycle, field))


def _context(expected: Built, actual: Built) -> Iterator[DiagnosedDifference]:
    views = [CONVERSATION.view(built.record.states[CONVERSATION.name]) for built in (expected, actual)]
    for field in type(views[0]).__struct_fields__:
        yield from _compared(field, getattr(views[0], field), getattr(views[1], field))


def _compared(what: str, expected: object, actual: object) -> Iterator[DiagnosedDifference]:
    if expected != actual:
        yield DiagnosedDifference(what=what, expected=_text(expected), actual=_text(actual))


def _text(value: object) -> str:
    text = repr(value)
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…"
