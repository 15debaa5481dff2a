"""The damage log: what heals, what stays, and the sentence a person reads."""

from resumed.daemon.storage.damage import DamageLog, LooseBytes
from resumed.restore.events.journal import Note


def loose(offset: int, *, torn: bool = False, first_line: bool = False) -> LooseBytes:
    return LooseBytes(
        file="s.jsonl",
        offset=offset,
        length=7,
        sha256="ab",
        reason="its checksum does not hold",
        torn=torn,
        first_line=first_line,
    )


def torn_tail(**changed: object) -> Note:
    named = {"file": "s.jsonl", "offset": 100, "length": 7, "sha256": "ab", **changed}
    return Note(kind="torn_tail", details=named)


def test_a_bad_line_gets_the_events_around_it() -> None:
    log = DamageLog()
    log.loose(loose(100), 4)
    log.loose(loose(110), 4)
    log.event(4, 7, "s.jsonl", 120)
    log.loose(loose(200), 7)
    assert [(damage.seq_before, damage.seq_after) for damage in log.damage()] == [(4, 7), (4, 7), (7, None)]
    assert [damage.sentence for damage in log.damage()][1:] == [
        "A line between events 4 and 7 can't be read: its checksum does not hold.",
        "A line after event 7 can't be read: its checksum does not hold.",
    ]
    assert log.trailing == [loose(200)]


def test_a_first_line_is_its_own_kind() -> None:
    log = DamageLog()
    log.loose(loose(0, first_line=True), 0)
    log.event(0, 2, "s.jsonl", 8)
    (damage,) = log.damage()
    assert (damage.kind, damage.seq_after) == ("firstLine", 2)
    assert damage.sentence.startswith("The first line can't be read")


def test_a_note_heals_exactly_what_it_names() -> None:
    for note in (
        torn_tail(offset=101),
        torn_tail(length=8),
        torn_tail(sha256="cd"),
        torn_tail(file="s.1.jsonl"),
        torn_tail(offset="100"),
        Note(kind="torn_tail", details={}),
        Note(kind="damage", details=torn_tail().details),
    ):
        log = DamageLog()
        log.loose(loose(100), 4)
        log.note(note, "s.jsonl")
        assert [damage.offset for damage in log.damage()] == [100], note
    log = DamageLog()
    log.loose(loose(90), 4)
    log.loose(loose(100), 4)
    log.note(torn_tail(), "s.jsonl")
    log.event(4, 5, "s.jsonl", 110)
    assert [damage.offset for damage in log.damage()] == [90]


def test_a_note_heals_much_later_and_by_its_own_file_when_it_names_none() -> None:
    log = DamageLog()
    log.loose(loose(100), 4)
    log.event(4, 5, "s.jsonl", 110)
    without_file = {name: value for name, value in torn_tail().details.items() if name != "file"}
    log.note(Note(kind="torn_tail", details=without_file), "s.1.jsonl")
    assert len(log.damage()) == 1
    log.note(Note(kind="torn_tail", details=without_file), "s.jsonl")
    assert log.damage() == ()


def test_a_healed_line_does_not_hide_a_gap() -> None:
    log = DamageLog()
    log.loose(loose(100), 4)
    log.note(torn_tail(), "s.jsonl")
    log.event(4, 6, "s.jsonl", 110)
    (gap,) = log.damage()
    assert (gap.kind, gap.sentence) == ("gap", "Events 5 to 5 are missing.")


def test_a_torn_end_is_no_damage_but_is_there() -> None:
    log = DamageLog()
    log.loose(loose(100, torn=True), 4)
    assert log.damage() == ()
    assert log.trailing == [loose(100, torn=True)]


def test_repeats_and_broken_chains_are_said() -> None:
    log = DamageLog()
    log.duplicate(9, 4, "s.jsonl", 500)
    log.chain(9, 10, "s.1.jsonl", 0)
    assert [(damage.kind, damage.sentence) for damage in log.damage()] == [
        ("duplicate", "Event 4 is there again; the first one counts."),
        ("chain", "Event 9 is not the one that the file after it continues."),
    ]
