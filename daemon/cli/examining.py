"""`resumed doctor`: what was found, class by class, what mends it, and what was mended.

`resumed diagnose`: in which layer one conversation is not what its record says."""

import itertools
from collections.abc import Iterable

import msgspec

from resumed.daemon.cli.paper import CARE, DONE, QUIET, Line
from resumed.daemon.cli.words import Reader
from resumed.daemon.keeping.doctor import Examination
from resumed.daemon.keeping.findings import Finding
from resumed.protocol.keeping import ThreadDiagnoseResult

LAYERS = {
    "history": "what was said and done",
    "metadata": "what lists show",
    "subsystems": "each part of the state",
    "context": "what the model would see",
}
_SHOWN = 5


def examination_lines(found: Examination, reader: Reader) -> Iterable[Line]:
    """Everything that was found, for a person."""
    if not found.findings:
        yield Line(f"{DONE} ", f"Everything in {reader.path(found.state_folder)} is whole.")
        return
    ordered = sorted(found.findings, key=lambda finding: (finding.harmless, finding.kind, finding.repaired))
    for _, group in itertools.groupby(ordered, key=lambda finding: (finding.kind, finding.repaired)):
        yield from _group(list(group), reader)
    yield _summary(found, reader)


def examination_text(found: Examination) -> str:
    """Everything that was found, as JSON."""
    findings = [
        {**msgspec.to_builtins(finding), "repair": finding.repair, "harmless": finding.harmless}
        for finding in found.findings
    ]
    told = {"stateFolder": found.state_folder, "isSound": found.is_sound, "findings": findings}
    return msgspec.json.format(msgspec.json.encode(told), indent=2).decode()


def diagnosis_lines(result: ThreadDiagnoseResult) -> Iterable[Line]:
    """Every layer with what differs in it."""
    yield Line("", f"“{result.name}”", "bold")
    for layer in result.layers:
        said = LAYERS.get(layer.name, layer.name)
        if layer.differences:
            yield Line(f"  {CARE} ", f"{said} is not as recorded:")
        elif layer.judged:
            yield Line(f"  {DONE} ", f"{said} is as recorded")
        else:
            yield Line(f"  {QUIET} ", f"{said} can't be judged by a damaged record")
        for each in layer.differences:
            yield Line("      ", f"{each.what}: recorded {each.expected}, now {each.actual}")


def _group(findings: list[Finding], reader: Reader) -> Iterable[Line]:
    first = findings[0]
    mark = DONE if first.repaired else QUIET if first.harmless else CARE
    for finding in findings[:_SHOWN]:
        yield Line(f"{mark} ", f"{reader.path(finding.path)}: {finding.sentence}")
    if len(findings) > _SHOWN:
        yield Line("  ", f"and {len(findings) - _SHOWN} more like these.")
    yield Line(
        "  ", f"Repaired. [{first.kind}]" if first.repaired else f"{first.repair} [{first.kind}]", "dim"
    )


def _summary(found: Examination, reader: Reader) -> Line:
    grave = sum(not (finding.harmless or finding.repaired) for finding in found.findings)
    repaired = sum(finding.repaired for finding in found.findings)
    rest = len(found.findings) - grave - repaired
    parts = [f"{grave} need you" if grave else "", f"{repaired} repaired" if repaired else ""]
    parts.append(f"{rest} harmless" if rest else "")
    mark = CARE if grave else DONE
    counted = ", ".join(part for part in parts if part)
    return Line(f"{mark} ", f"{reader.path(found.state_folder)}: {counted}.", "bold")
