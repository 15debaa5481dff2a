"""From declared `after` to one order of restoring."""

import graphlib
from collections.abc import Iterable
from typing import Any

from resumed.restore.subsystem import Subsystem


class DependencyCycle(ValueError):
    """Subsystems wait for each other; `args[0]` is the path, for example `a -> b -> a`."""


class UnknownDependency(ValueError):
    """A subsystem wants to come after one that is not registered."""


def in_restore_order(subsystems: Iterable[Subsystem[Any]]) -> tuple[Subsystem[Any], ...]:
    """Sort by `after`; among equals by name, so that the order never depends on the registry."""
    by_name = {subsystem.name: subsystem for subsystem in subsystems}
    for subsystem in by_name.values():
        for dependency in subsystem.after:
            if dependency not in by_name:
                raise UnknownDependency(f"{subsystem.name} is after {dependency}, which is not registered")
    sorter = graphlib.TopologicalSorter({name: subsystem.after for name, subsystem in by_name.items()})
    try:
        sorter.prepare()
    except graphlib.CycleError as error:
        raise DependencyCycle(" -> ".join(reversed(error.args[1]))) from error
    order: list[str] = []
    while sorter.is_active():
        ready = sorted(sorter.get_ready())
        order.extend(ready)
        sorter.done(*ready)
    return tuple(by_name[name] for name in order)
