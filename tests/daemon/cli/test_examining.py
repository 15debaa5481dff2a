"""What a person reads of what was found: the file, the class, what mends it, and what is left to do."""

import json
from datetime import UTC, datetime

from resumed.daemon.cli.examining import diagnosis_lines, examination_lines, examination_text
from resumed.daemon.cli.words import Reader
from resumed.daemon.keeping.doctor import Examination
from resumed.daemon.keeping.findings import Finding
from resumed.protocol.keeping import DiagnosedDifference, DiagnosedLayer, ThreadDiagnoseResult
from tests.support.reports import printed

READER = Reader(now=datetime(2026, 1, 2, tzinfo=UTC), home="/home/kim")


def found(*findings: Finding) -> Examination:
    return Examination(state_folder="/home/kim/state", findings=findings)


def test_a_whole_folder_is_one_line() -> None:
    assert printed(examination_lines(found(), READER), 80) == "✓ Everything in ~/state is whole.\n"
    assert found().is_sound


def test_what_needs_somebody_stands_first_and_what_was_mended_says_so() -> None:
    harmless = Finding(kind="index.absent", path="/home/kim/state/i.db", sentence="It is not there.")
    grave = Finding(kind="record.badLine", path="/home/kim/state/r.jsonl", sentence="A line can't be read.")
    mended = Finding(kind="mode.file", path="/home/kim/state/r", sentence="Others may use it.", repaired=True)
    examination = found(harmless, mended, grave)
    assert not examination.is_sound
    assert printed(examination_lines(examination, READER), 120) == (
        "✓ ~/state/r: Others may use it.\n"
        "  Repaired. [mode.file]\n"
        "! ~/state/r.jsonl: A line can't be read.\n"
        "  What the line held is lost; all others count. The bytes stay where they are. [record.badLine]\n"
        "- ~/state/i.db: It is not there.\n"
        "  The next start makes it anew. [index.absent]\n"
        "! ~/state: 1 need you, 1 repaired, 1 harmless.\n"
    )


def test_many_of_one_class_are_counted() -> None:
    many = [Finding(kind="mode.file", path=f"/{number}", sentence="Open.") for number in range(9)]
    text = printed(examination_lines(found(*many), READER), 80)
    assert "and 4 more like these." in text
    assert text.count("Open.") == 5


def test_programs_get_the_class_and_the_repair() -> None:
    finding = Finding(kind="index.absent", path="/i.db", sentence="It is not there.")
    told = json.loads(examination_text(found(finding)))
    assert told == {
        "stateFolder": "/home/kim/state",
        "isSound": True,
        "findings": [
            {
                "kind": "index.absent",
                "path": "/i.db",
                "sentence": "It is not there.",
                "stream": "",
                "repaired": False,
                "repair": "The next start makes it anew.",
                "harmless": True,
            }
        ],
    }


def test_each_layer_says_whether_it_is_as_recorded() -> None:
    differs = DiagnosedDifference(what="branch", expected="'main'", actual="'elsewhere'")
    layers = (
        DiagnosedLayer(name="history"),
        DiagnosedLayer(name="metadata", differences=(differs,)),
        DiagnosedLayer(name="context", judged=False),
    )
    result = ThreadDiagnoseResult(thread_id="t", name="Round", layers=layers)
    assert printed(diagnosis_lines(result), 80) == (
        "“Round”\n"
        "  ✓ what was said and done is as recorded\n"
        "  ! what lists show is not as recorded:\n"
        "      branch: recorded 'main', now 'elsewhere'\n"
        "  - what the model would see can't be judged by a damaged record\n"
    )
