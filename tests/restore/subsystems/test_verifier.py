import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from resumed.protocol.restore import Status
from resumed.protocol.threads import CheckView
from resumed.restore.events.envelope import Event
from resumed.restore.events.session import CheckRecorded, StateInvalidated
from resumed.restore.probes import AnyObservation, AnyProbe, FileProbe, FileSeen, Seen, TreeFileProbe, Unseen
from resumed.restore.steps import RecordState
from resumed.restore.subsystem import Restoration, Target
from resumed.restore.subsystems.verifier import CHECKS_KEPT, VERIFIER
from tests.support.events import HERE, TARGET, assert_stores_anywhere, event, folded

ROOT = "/home/kim/shop"
CODE, TESTS = FileProbe(f"{ROOT}/rounding.py"), FileProbe(f"{ROOT}/tests/test_rounding.py")
INPUTS = {"rounding.py": "aa", "tests/test_rounding.py": "bb"}


def file(sha256: str | None) -> FileSeen:
    return FileSeen(kind="absent") if sha256 is None else FileSeen(kind="regular", sha256=sha256)


SAME: Seen = {CODE: file("aa"), TESTS: file("bb")}
BOTH_DIFFER: Seen = {CODE: file("cc"), TESTS: file("dd")}


def checked(
    check_id: str = "tests", *, inputs: dict[str, str] | None = None, passed: int | None = 7
) -> Event:
    return event(
        CheckRecorded(
            check_id=check_id,
            command=f"pytest {check_id}",
            result="failed",
            passed=passed,
            total=None if passed is None else 9,
            findings=("half_even", "jpy"),
            inputs=INPUTS if inputs is None else inputs,
        )
    )


def invalidated(*keys: str, subsystem: str = "verifier") -> Event:
    return event(StateInvalidated(subsystem=subsystem, keys=keys, reason="files differ"))


def restored(seen: Seen, *events: Event, target: Target = TARGET) -> Restoration:
    return VERIFIER.steps(folded(VERIFIER, events), seen, {}, target)


def probes(*events: Event, target: Target = TARGET) -> tuple[AnyProbe, ...]:
    return VERIFIER.probes(folded(VERIFIER, events), target)


def test_the_last_result_of_a_check_wins() -> None:
    better = event(CheckRecorded(check_id="tests", command="pytest", result="passed", passed=9, total=9))
    assert VERIFIER.view(folded(VERIFIER, [checked(), checked("lint"), better])) == (
        CheckView(
            check_id="lint",
            command="pytest lint",
            result="failed",
            passed=7,
            total=9,
            findings=("half_even", "jpy"),
        ),
        CheckView(check_id="tests", command="pytest", result="passed", passed=9, total=9),
    )


def test_it_looks_at_each_input_file_once() -> None:
    assert probes(checked(), checked("lint", inputs={"rounding.py": "aa"})) == (CODE, TESTS)
    assert VERIFIER.drift(folded(VERIFIER, [checked()]), BOTH_DIFFER, TARGET) == ()


def test_it_looks_into_the_commit_while_the_folder_is_not_there_yet() -> None:
    target = Target(here=HERE, recorded_root=ROOT, root="/home/kim/new", repository=ROOT, commit="c0ffee")
    assert probes(checked(), target=target) == (
        TreeFileProbe(ROOT, "c0ffee", "rounding.py"),
        TreeFileProbe(ROOT, "c0ffee", "tests/test_rounding.py"),
    )


def test_it_follows_the_work_to_another_folder() -> None:
    target = Target(here=HERE, recorded_root=ROOT, root="/home/kim/new")
    inputs = {f"{ROOT}/a.py": "aa", "b.py": "bb"}
    assert probes(checked(inputs=inputs), target=target) == (
        FileProbe("/home/kim/new/a.py"),
        FileProbe("/home/kim/new/b.py"),
    )


def test_it_looks_nowhere_before_the_place_is_settled_or_outside_of_it() -> None:
    assert probes(checked(), target=Target(here=HERE, recorded_root=ROOT)) == ()
    unsettled = Target(here=HERE, recorded_root=ROOT, repository=ROOT, commit="c0ffee")
    assert probes(checked(), target=unsettled) == ()
    outside = checked(inputs={"../secret": "aa", "/etc/passwd": "bb", "a/../../x": "cc", "..": "dd"})
    assert probes(outside) == ()
    assert restored({FileProbe("/etc/passwd"): file("bb")}, outside).status is Status.INVALIDATED


def test_a_result_counts_while_all_its_files_are_the_same() -> None:
    restoration = restored(SAME, checked())
    assert restoration.status is Status.RESTORED
    assert restoration.reason == "same command, same files"
    assert restoration.summary == ("tests 7/9 still count: same command, same files. Failing: half_even, jpy")
    assert (restoration.steps, restoration.keys, restoration.rerun) == ((), (), ())


def test_a_result_without_numbers_counts_too() -> None:
    assert restored(SAME, checked(passed=None)).summary == (
        "tests failed, still counts: same command, same files. Failing: half_even, jpy"
    )


def test_changed_files_take_a_result_away() -> None:
    restoration = restored(BOTH_DIFFER, checked())
    assert restoration.status is Status.INVALIDATED
    assert restoration.reason == "rounding.py and tests/test_rounding.py differ"
    assert restoration.summary == "7/9 no longer counts, both files differ; rerun: pytest tests"
    assert restoration.keys == ("tests",)
    assert restoration.rerun == ("pytest tests",)
    (told,) = restoration.told
    assert told.startswith("The result of `pytest tests` (7/9) no longer counts: rounding.py and")


@pytest.mark.parametrize(
    ("observation", "reason"),
    [
        (file("cc"), "rounding.py differs"),
        (file(None), "rounding.py is gone"),
        (FileSeen(kind="folder"), "rounding.py differs"),
        (Unseen("timeout"), "rounding.py could not be compared"),
        (FileSeen(kind="regular"), "rounding.py could not be compared"),
        (None, "rounding.py could not be compared"),
    ],
    ids=["differs", "gone", "a folder now", "unseen", "no hash", "not looked at"],
)
def test_one_file_is_enough(observation: AnyObservation | None, reason: str) -> None:
    seen: Seen = {TESTS: file("bb")}
    if observation is not None:
        seen[CODE] = observation
    restoration = restored(seen, checked())
    assert restoration.status is Status.INVALIDATED
    assert restoration.reason == reason
    assert restoration.summary == f"7/9 no longer counts, {reason}; rerun: pytest tests"


def test_each_fate_is_named() -> None:
    restoration = restored({CODE: file("cc"), TESTS: file(None)}, checked())
    assert restoration.reason == "rounding.py differs and tests/test_rounding.py is gone"
    three = checked(inputs={"a": "1", "b": "2", "c": "3"})
    assert restored({}, three).summary.startswith("7/9 no longer counts, all 3 files could not be compared")


def test_a_check_without_inputs_never_counts() -> None:
    restoration = restored({}, checked(inputs={}))
    assert restoration.status is Status.INVALIDATED
    assert restoration.reason == "no input files were recorded"


def test_what_no_longer_counts_is_recorded_and_stays_so() -> None:
    events = [checked(), checked("lint", inputs={"rounding.py": "aa"})]
    seen: Seen = {CODE: file("aa"), TESTS: file("dd")}
    restoration = restored(seen, *events)
    assert restoration.summary == "1 of 2 still counts; rerun: pytest tests"
    assert len(restoration.details) == 2
    (step,) = restoration.steps
    assert isinstance(step.do, RecordState)
    ((name, payload),) = step.do.events
    assert name == "state_invalidated"
    later = restored(seen, *events, event(msgspec.convert(payload, StateInvalidated)))
    assert later.status is Status.RESTORED
    assert later.summary.startswith("lint 7/9 still count")
    assert later.details == ("tests did not count any more already; rerun: pytest tests",)
    assert later.rerun == ("pytest tests",)


def test_several_checks_are_summed_up() -> None:
    events = [checked(), checked("lint")]
    assert restored(SAME, *events).summary == "all 2 still count: same commands, same files"
    assert restored(BOTH_DIFFER, *events).summary == (
        "none of 2 counts any more; rerun: pytest tests and pytest lint"
    )


def test_an_invalidation_removes_what_it_names() -> None:
    def left(*events: Event) -> list[str]:
        return [check.check_id for check in VERIFIER.view(folded(VERIFIER, events))]

    two = (checked(), checked("lint"))
    assert left(*two, invalidated("tests", "unheard of")) == ["lint"]
    assert left(*two, invalidated()) == []
    assert left(*two, invalidated("tests", subsystem="todos")) == ["tests", "lint"]
    assert left(*two, invalidated("tests"), checked()) == ["lint", "tests"]


def test_no_checks_and_none_that_counts_are_told_apart() -> None:
    nothing = restored({})
    assert nothing.status is Status.RESTORED
    assert (nothing.reason, nothing.summary) == ("no checks were recorded", "none recorded")
    lapsed = restored({}, checked(), invalidated("tests"))
    assert lapsed.status is Status.RESTORED
    assert lapsed.summary == "none counts; rerun: pytest tests"
    assert lapsed.rerun == ("pytest tests",)
    assert restored(SAME, checked(), invalidated("tests"), checked()).rerun == ()


def test_the_state_is_bounded() -> None:
    many = [checked(f"check-{n}") for n in range(2 * CHECKS_KEPT)]
    state = folded(VERIFIER, [*many, invalidated(), *many])
    assert len(state.checks) == CHECKS_KEPT
    assert f"check-{2 * CHECKS_KEPT - 1}" in state.checks
    assert len(folded(VERIFIER, [*many, invalidated(), *many[:600], invalidated()]).lapsed) == CHECKS_KEPT


POOL = [
    checked(),
    checked("lint"),
    checked(inputs={}),
    invalidated("tests"),
    invalidated("lint"),
    invalidated(),
]


@given(st.lists(st.sampled_from(POOL), max_size=12))
def test_the_fold_can_be_stored_anywhere(events: list[Event]) -> None:
    assert_stores_anywhere(VERIFIER, events)


FATES = st.sampled_from([file("aa"), file("bb"), file("cc"), file(None), Unseen("timeout"), None])


@given(FATES, FATES)
def test_a_result_is_never_kept_unless_every_file_was_seen_the_same(
    code: AnyObservation | None, tests: AnyObservation | None
) -> None:
    pairs: list[tuple[AnyProbe, AnyObservation | None]] = [(CODE, code), (TESTS, tests)]
    seen: Seen = {probe: observation for probe, observation in pairs if observation is not None}
    kept = restored(seen, checked()).status is Status.RESTORED
    assert kept == (seen == SAME)
