"""Decides from two sets of evidence whether they are of the same repository.

A piece that is missing on either side is unknown, never different: a git that could not answer must
not give a repository a new identity.
"""

from collections.abc import Mapping
from typing import Literal

Verdict = Literal["same", "different", "unknown"]


def match(known: Mapping[str, str], seen: Mapping[str, str]) -> Verdict:
    """Compare `common_dir` (device and inode), `roots` (commits) and `remotes` (the first counts).

    An inode can be given out again, so it yields when the other two say different. Without the same
    inode both a common root and the same remote are needed: a fork has the roots, a new project at an
    old address has the remote."""
    place = _equal(known.get("common_dir", ""), seen.get("common_dir", ""))
    roots = _common(known.get("roots", ""), seen.get("roots", ""))
    remotes = _equal(_first(known.get("remotes", "")), _first(seen.get("remotes", "")))
    if place == "same":
        return _at_same_place(roots, remotes)
    if "different" in (roots, remotes):
        return "different"
    return "same" if (roots, remotes) == ("same", "same") else "unknown"


def _at_same_place(roots: Verdict, remotes: Verdict) -> Verdict:
    if roots == "same" or remotes == "same":
        return "same"
    if roots == "different":
        return "different"
    return "unknown" if remotes == "different" else "same"


def _equal(known: str, seen: str) -> Verdict:
    if not known or not seen:
        return "unknown"
    return "same" if known == seen else "different"


def _common(known: str, seen: str) -> Verdict:
    if not known or not seen:
        return "unknown"
    return "different" if set(known.split(",")).isdisjoint(seen.split(",")) else "same"


def _first(remotes: str) -> str:
    return remotes.split(",")[0]
