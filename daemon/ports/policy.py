"""What an agent may do at most: a managed policy and our own settings, whichever is narrower.

A file that cannot be understood is not known; it is never "no limit". What is wrong with it is said to
people, with the file's path and the line where the parser tells it.
"""

import asyncio
import os
import re
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass

from resumed.daemon.ports.regular import open_regular
from resumed.restore.probes import CeilingSeen, Unseen

CODEX_REQUIREMENTS = "/etc/codex/requirements.toml"
APPROVALS = ("untrusted", "on-request", "on-failure", "never")
SANDBOXES = ("read-only", "workspace-write", "danger-full-access")
_PARSER_SAID = re.compile(
    r"(?P<what>.*) \(at (?:line (?P<line>\d+), column \d+|end of document)\)", re.DOTALL
)


class _Malformed(Exception):
    """A policy file that cannot be understood; `args[0]` is what is wrong."""


@dataclass(frozen=True)
class _Limit:
    approval: str | None
    sandbox: str | None
    source: str


class Policy:
    """Reads both files anew at each question: a policy may change while the daemon runs.

    `settings` is the path of our own settings file, `requirements` that of Codex's managed one."""

    def __init__(self, settings: str, requirements: str = CODEX_REQUIREMENTS) -> None:
        self._settings = settings
        self._requirements = requirements

    async def ceiling(self, agent: str) -> CeilingSeen | Unseen:
        """The widest approval and sandbox allowed for the agent."""
        return await asyncio.to_thread(self._ceiling, agent)

    def _ceiling(self, agent: str) -> CeilingSeen | Unseen:
        try:
            limits = [_own(self._settings)]
            if agent == "codex":
                limits.append(_codex(self._requirements))
        except _Malformed as problem:
            return Unseen(f"failed: {problem}")
        approval = _narrowest(APPROVALS, [limit.approval for limit in limits])
        sandbox = _narrowest(SANDBOXES, [limit.sandbox for limit in limits])
        deciding = [
            limit.source
            for limit in limits
            if (approval is not None and limit.approval == approval)
            or (sandbox is not None and limit.sandbox == sandbox)
        ]
        return CeilingSeen(approval=approval, sandbox=sandbox, source=", ".join(deciding))


def _own(path: str) -> _Limit:
    table = _table(path)
    # A misspelt limit must not be no limit.
    strangers = sorted(table.keys() - {"permissions"})
    if strangers:
        raise _Malformed(f"{path} cannot be understood: there is no setting {strangers[0]!r}")
    permissions = table.get("permissions", {})
    if not isinstance(permissions, dict):
        raise _Malformed(f"{path} cannot be understood: permissions is not a table")
    unknown = sorted(permissions.keys() - {"approval", "sandbox"})
    if unknown:
        raise _Malformed(f"{path} cannot be understood: permissions has no setting {unknown[0]!r}")
    return _Limit(
        approval=_own_value(path, permissions, "approval", APPROVALS),
        sandbox=_own_value(path, permissions, "sandbox", SANDBOXES),
        source=path,
    )


def _own_value(path: str, permissions: dict[str, object], key: str, order: Sequence[str]) -> str | None:
    value = permissions.get(key)
    if value is None or (isinstance(value, str) and value in order):
        return value
    raise _Malformed(f"{path} cannot be understood: permissions.{key} is not one of {', '.join(order)}")


def _codex(path: str) -> _Limit:
    table = _table(path)
    return _Limit(
        approval=_widest(path, table, "allowed_approval_policies", APPROVALS),
        sandbox=_widest(path, table, "allowed_sandbox_modes", SANDBOXES),
        source=path,
    )


def _widest(path: str, table: dict[str, object], key: str, order: Sequence[str]) -> str | None:
    if key not in table:
        return None
    allowed = table[key]
    if not isinstance(allowed, list) or not all(isinstance(value, str) for value in allowed):
        raise _Malformed(f"{path} cannot be understood: {key} is not a list of strings")
    # A value newer than this list is left out, which can only narrow what is allowed.
    known = [value for value in order if value in allowed]
    return known[-1] if known else order[0]


def _narrowest(order: Sequence[str], limits: Sequence[str | None]) -> str | None:
    given = [limit for limit in limits if limit is not None]
    return min(given, key=order.index) if given else None


def _table(path: str) -> dict[str, object]:
    try:
        with open_regular(path) as file:
            return tomllib.load(file)
    except FileNotFoundError:
        if os.path.islink(path):
            raise _Malformed(f"{path} cannot be read: it is a link to nothing") from None
        return {}
    except OSError as error:
        raise _Malformed(f"{path} cannot be read: {error.strerror}") from error
    except RecursionError as error:
        raise _Malformed(f"{path} cannot be read: it is nested too deeply") from error
    except UnicodeDecodeError as error:
        line = error.object.count(b"\n", 0, error.start) + 1
        raise _Malformed(f"{path} cannot be read: line {line} is not UTF-8 text") from error
    except ValueError as error:
        # Not only TOMLDecodeError: a number with too many digits is another one.
        raise _Malformed(f"{path} cannot be read: {_invalid(str(error))}") from error


def _invalid(parser_said: str) -> str:
    found = _PARSER_SAID.fullmatch(parser_said)
    if found is None:
        return "it is not valid TOML"
    where = f"line {found['line']}" if found["line"] else "its end"
    return f"{where} is not valid TOML: {found['what'][:1].lower()}{found['what'][1:]}"
