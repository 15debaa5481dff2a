"""What a manifest may say: nothing becomes a name that does not have the shape of one of ours."""

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from resumed.daemon.keeping.container import ContainerDamaged
from resumed.daemon.keeping.manifest import KIND, Manifest, Member, NewerFile, decode, encode, session_of
from tests.support.runs import SESSION
from tests.support.streams import THREAD_ID

HASH = "ab" * 32
RUN = f"rollout-2026-01-02T03-04-05-{SESSION}"
THREAD = Member(name=f"threads/{THREAD_ID}.jsonl", size=1, sha256=HASH)


def manifest(*members: Member) -> Manifest:
    return Manifest(
        kind=KIND, format=1, program="1", schema_version=1, thread_id=THREAD_ID, name="n",
        members=(THREAD, *members),
    )  # fmt: skip


def test_it_comes_back() -> None:
    names = (
        f"threads/{THREAD_ID}.12.jsonl", f"sessions/{RUN}.jsonl", f"sessions/{RUN}.3.jsonl",
        f"quarantine/{THREAD_ID}.jsonl.0.torn", f"quarantine/{RUN}.1.jsonl.4711.torn", f"contents/{HASH}",
    )  # fmt: skip
    whole = manifest(*(Member(name=name, size=7, sha256=HASH) for name in names))
    assert decode(encode(whole)) == whole
    assert session_of(whole.of("sessions")[0]) == SESSION
    assert whole.size == 1 + 7 * len(names)


def test_a_name_that_is_no_text_comes_back() -> None:
    odd = msgspec.structs.replace(manifest(), name="a\udc80b", depends_on="/home/k/\udcff")
    assert decode(encode(odd)) == odd


@pytest.mark.parametrize(
    "name",
    [
        "", "/", "threads", "threads/", "../threads/x", f"threads/../threads/{THREAD_ID}.jsonl",
        f"threads/{THREAD_ID}.jsonl/", f"threads/{THREAD_ID}.jsonl\n", f"threads/{THREAD_ID.upper()}X.jsonl",
        f"threads/{THREAD_ID}.0.jsonl", f"threads/{THREAD_ID}.01.jsonl",
        f"threads/{THREAD_ID}.{'9' * 9}.jsonl",
        f"threads/{SESSION}.jsonl", f"/threads/{THREAD_ID}.jsonl", f"sessions/{THREAD_ID}.jsonl",
        f"sessions/a/{RUN}.jsonl", f"sessions/.{RUN}.jsonl", "sessions/rollout-x.jsonl", "key", "layout.json",
        "quarantine/x.torn", f"quarantine/{RUN}.jsonl.torn", f"quarantine/{RUN}.jsonl.-1.torn",
        f"contents/{HASH}x", f"contents/{HASH.upper()}", "contents/../key", f"CONTENTS/{HASH}",
    ],
)  # fmt: skip
def test_another_name_is_refused(name: str) -> None:
    with pytest.raises(ContainerDamaged):
        decode(encode(manifest(Member(name=name, size=1, sha256=HASH))))


@given(name=st.text(max_size=80), folder=st.sampled_from(["", "threads/", "sessions/", "contents/"]))
def test_no_accepted_name_leads_out(name: str, folder: str) -> None:
    try:
        member = Member(name=folder + name, size=1, sha256=HASH)
        found = decode(encode(manifest(member))).members[1]
    except (ContainerDamaged, UnicodeEncodeError):
        return
    assert found.name.count("/") == 1
    assert ".." not in found.name


@pytest.mark.parametrize("data", [b"", b"null", b"[]", b"{}", b'{"kind":"x","format":1}', b"[" * 100_000])
def test_what_is_no_manifest_is_damaged(data: bytes) -> None:
    with pytest.raises(ContainerDamaged):
        decode(data)


def test_what_is_newer_is_told_whatever_else_it_holds() -> None:
    with pytest.raises(NewerFile, match="format 2"):
        decode(msgspec.json.encode({"kind": KIND, "format": 2, "program": "3", "members": "other"}))
