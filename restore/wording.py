"""How values read to a person: short paths, short commits, counts, names of things.

Only pure string functions; the words themselves are those of the interface.
"""

import re
from collections.abc import Sequence

OBJECT_ID = re.compile(r"\b[0-9a-f]{40}(?:[0-9a-f]{24})?\b")
SANDBOX_WORDS = {
    "read-only": "reads only",
    "workspace-write": "writes only in this folder",
    "danger-full-access": "may change anything on this computer",
}
APPROVAL_WORDS = {
    "untrusted": "asks before most commands",
    "on-request": "asks on request",
    "on-failure": "asks when a command fails",
    "never": "never asks",
}
IN_PROGRESS_WORDS = {
    "merge": "merge",
    "rebase": "rebase",
    "cherryPick": "cherry-pick",
    "revert": "revert",
    "bisect": "bisect",
    "am": "patch series",
    "squash": "squash merge",
}
AGENT_WORDS = {"codex": "Codex", "claude_code": "Claude Code"}


def short_path(path: str, *homes: str) -> str:
    """Write the home folder as `~`; it may go by several paths."""
    for home in homes:
        if home not in ("", "/") and (path == home or path.startswith(home + "/")):
            return "~" + path[len(home) :]
    return path


def short_sha(sha: str | None) -> str:
    """The first seven digits, or `not known`."""
    return sha[:7] if sha else "not known"


def failure_words(reason: str, *homes: str) -> str:
    """Why a look failed, without raw ids and with the home folder as `~`; empty where that is not known."""
    if reason == "timeout":
        return "it took too long"
    kind, _, why = reason.partition(": ")
    if kind != "failed":
        return ""
    words = OBJECT_ID.sub(lambda found: short_sha(found.group()), why)
    return with_short_paths(words, *homes).rstrip(".")


def with_short_paths(text: str, *homes: str) -> str:
    """The text with the home folder as `~` wherever a path in it begins there."""
    for home in homes:
        if home not in ("", "/"):
            text = re.sub(rf"(?<![^\s“\"'(]){re.escape(home)}(?=/)", "~", text)
    return text


def count(number: int, noun: str, plural: str | None = None) -> str:
    """`1 file`, `2 files`."""
    return f"{number} {noun if number == 1 else plural or noun + 's'}"


def listed(names: Sequence[str], limit: int = 3) -> str:
    """`a, b and c`; beyond `limit`, `a, b, c and 2 more`."""
    shown = list(names[:limit])
    if len(names) > limit:
        return f"{', '.join(shown)} and {len(names) - limit} more"
    if len(shown) < 2:
        return "".join(shown)
    return f"{', '.join(shown[:-1])} and {shown[-1]}"


def agent_name(agent: str) -> str:
    """The agent's name as people write it."""
    return AGENT_WORDS.get(agent, agent)


def operation_name(in_progress: str | None) -> str:
    """The git operation that is half finished."""
    return IN_PROGRESS_WORDS.get(in_progress or "", "git operation")


def capital(text: str) -> str:
    """The text as a sentence begins."""
    return text[:1].upper() + text[1:]


def sentence(text: str) -> str:
    """The text with a capital letter, and a full stop where it has no end."""
    return capital(text if text.endswith((".", "!", "?")) else f"{text}.")


def visible(text: str) -> str:
    """The text with each character that breaks a line, steers or hides text written as an escape."""
    return "".join(each if each.isprintable() else each.encode("unicode_escape").decode() for each in text)


def one_line(text: str, limit: int = 60) -> str:
    """The text on one line, cut with an ellipsis."""
    line = " ".join(text.split())
    return line if len(line) <= limit else line[: limit - 1] + "…"
