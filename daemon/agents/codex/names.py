"""What a rollout's file name says: `rollout-<local time>-<id>.jsonl`, compressed with `.zst`."""

import datetime
import re

_NAME = re.compile(
    r"rollout-(\d{4}-\d\d-\d\dT\d\d-\d\d-\d\d)"
    r"-([0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12})"
)


def plain_name(name: str) -> str:
    """The name without compression suffix: what references to the file are made of."""
    return name.removesuffix(".zst")


def native_id_in(name: str) -> str | None:
    """The session's id in the file's name."""
    found = _NAME.match(name)
    return found[2] if found else None


def start_time_in(name: str) -> datetime.datetime | None:
    """The start in the file's name, which the agent writes in the machine's local time."""
    found = _NAME.match(name)
    if found is None:
        return None
    try:
        return datetime.datetime.strptime(found[1], "%Y-%m-%dT%H-%M-%S").astimezone()
    except ValueError:
        return None
