"""Masking: secrets go, everything else stays, again changes nothing, and no text takes it long."""

import base64
import hashlib
import json
import random
import re
import string
import time
import uuid
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from resumed.daemon.masking import Masker
from resumed.daemon.token_shapes import SHAPES
from resumed.restore.events.session import EntryAdded, Goal, PermissionsSet
from tests.support.secret_samples import ORDINARY, SECRETS

MASKER = Masker(b"k" * 32)
MASK = re.compile(r"\[masked [a-z ]+ [0-9a-f]{8}\]")
MEGABYTE = 1 << 20
PIECES = st.sampled_from(
    [
        *(secret for _, secret in SECRETS), *(needle for shape in SHAPES for needle in shape.needles),
        *(secret[: len(secret) // 2] for _, secret in SECRETS), *ORDINARY,
        "=", ": ", '"', "\\n", "\n", " ", "/", "@",
        "[masked github token 3f2a91c0]", "[", "]", "\udcff", "é", "password", "Authorization: Bearer ",
    ]
)  # fmt: skip
TEXTS = st.lists(PIECES | st.text(max_size=8), max_size=8).map("".join)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | TEXTS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3),
    max_leaves=8,
)


@pytest.mark.parametrize(("kind", "secret"), SECRETS)
def test_a_known_shape_is_masked_wherever_it_stands(kind: str, secret: str) -> None:
    masked = MASKER.text(secret)
    assert MASK.fullmatch(masked)
    assert masked.startswith(f"[masked {kind} ")
    for around in (
        "{}",
        "export X={}\n",
        '{{"a": "{}"}}',
        "see {}, then",
        "({})",
        "curl -H 'X: {}' https://x",
    ):
        assert MASKER.text(around.format(secret)) == around.format(masked)


@pytest.mark.parametrize("text", ORDINARY)
def test_what_only_looks_like_a_secret_stays(text: str) -> None:
    assert MASKER.text(text) == text
    assert MASKER.value({"text": text}) == {"text": text}


def test_only_the_secret_of_a_header_an_address_or_an_assignment_goes() -> None:
    cases = {
        "curl -H 'Authorization: Bearer abc123def456' x": "curl -H 'Authorization: Bearer {}' x",
        '"authorization": "Basic dXNlcjpwYXNzd29yZA=="': '"authorization": "Basic {}"',
        "git clone https://kim:hunter2@example.com/x.git": "git clone https://kim:{}@example.com/x.git",
        "DATABASE_URL=postgres://shop:s3cr:et@db:5432/shop": "DATABASE_URL=postgres://shop:{}@db:5432/shop",
        "API_TOKEN=aG7xQ2mP9vL4kR8tW3zY export": "API_TOKEN={} export",
        'api_key: "aG7xQ2mP9vL4kR8tW3zY"': 'api_key: "{}"',
        '{\\"clientSecret\\": \\"aG7xQ2mP9vL4kR8tW3zY\\"}': '{\\"clientSecret\\": \\"{}\\"}',
        "AWS_SECRET_ACCESS_KEY=wJalrXUtnFEMI/K7MDENG/bPxRfiCYzz09KEYabc": "AWS_SECRET_ACCESS_KEY={}",
        "//registry.example.com/:_authToken=0a1b2c3d4e5f60718293a4b5c6d7e8f9": (
            "//registry.example.com/:_authToken={}"
        ),
    }
    for text, expected in cases.items():
        before, after = expected.split("{}")
        masked = MASKER.text(text)
        assert masked.startswith(before)
        assert masked.endswith(after)
        assert MASK.fullmatch(masked.removeprefix(before).removesuffix(after)), masked


def test_a_private_key_goes_whole_in_every_way_that_tools_print_it() -> None:
    body = base64.b64encode(random.Random(1).randbytes(600)).decode()
    lines = [body[at : at + 64] for at in range(0, len(body), 64)]
    key = "\n".join(["-----BEGIN RSA PRIVATE KEY-----", *lines, "-----END RSA PRIVATE KEY-----"])
    numbered = "\n".join(f"{number:6}\t{line}" for number, line in enumerate(key.split("\n"), 1))
    encrypted = key.replace("-----\n", "-----\nProc-Type: 4,ENCRYPTED\nDEK-Info: AES-128-CBC,00\n\n", 1)
    indented = key.replace("\n", "\n    ")
    for text in (key, numbered, encrypted, indented, json.dumps(key), key.replace("\n", "\r\n")):
        masked = MASKER.text(f"before {text} after")
        assert not any(line in masked for line in lines)
        assert masked.startswith("before ")
        assert masked.endswith(" after")
    cut_off = MASKER.text(key[:400] + "\n(12 more lines)")
    assert not any(line in cut_off for line in lines[:4])
    assert cut_off.endswith("(12 more lines)")


def test_equal_secrets_stay_equal_and_others_differ_by_key_and_value() -> None:
    first, second = (f"ghp_{'a' * 35}{end}" for end in "12")
    assert MASKER.text(first) == MASKER.text(f"{first}")
    assert MASKER.text(first) != MASKER.text(second)
    assert Masker(b"o" * 32).text(first) != MASKER.text(first)


def test_values_and_keys_are_masked_at_any_depth_and_in_their_order() -> None:
    token = f"ghp_{'a1' * 18}"
    masked = MASKER.text(token)
    value = {"z": [token, {"env": {token: None, "n": 1.5}}], "a": (True, f"x {token}")}
    done = MASKER.value(value)
    assert done == {"z": [masked, {"env": {masked: None, "n": 1.5}}], "a": [True, f"x {masked}"]}
    assert list(done) == ["z", "a"]
    deep: Any = token
    for _ in range(5000):
        deep = [deep]
    found = MASKER.value(deep)
    while isinstance(found, list):
        (found,) = found
    assert found == masked


def test_a_name_says_that_a_value_is_a_secret() -> None:
    secret = "aG7xQ2mP9vL4kR8tW3zY"
    for name in ("api_key", "X-Api-Key", "clientSecret", "GITHUB_TOKEN", "DB_PASSWORD", "authToken"):
        assert MASK.fullmatch(MASKER.value({name: secret})[name]), name
    for name in ("next_page_token", "publicKey", "key", "tokenizer", "token_count", "commit"):
        assert MASKER.value({name: secret}) == {name: secret}
    headers = MASKER.value({"Authorization": "Bearer abc123def456", "Proxy-Authorization": "Basic dTpwYXNz"})
    assert [text.split(" ")[0] for text in headers.values()] == ["Bearer", "Basic"]
    assert "abc123" not in headers["Authorization"]
    kept = {"authorization": "required", "password": "correct horse battery staple", "token": "$TOKEN"}
    assert MASKER.value(kept) == kept


def test_a_payload_is_masked_in_its_free_text_alone() -> None:
    token = f"ghp_{'a1' * 18}"
    entry = EntryAdded(kind=token, role="user", text=f"use {token}")
    assert MASKER.payload(entry, ("text",)) == EntryAdded(
        kind=token, role="user", text=f"use {MASKER.text(token)}"
    )
    plain = PermissionsSet(cause="x", goal=Goal(objective="go", status="active"), directories=("/a",))
    assert MASKER.payload(plain, ("cause", "goal")) is plain
    goal = PermissionsSet(cause="x", goal=Goal(objective=token, status="active"), directories=("/a",))
    masked = MASKER.payload(goal, ("cause", "goal"))
    assert isinstance(masked, PermissionsSet)
    assert masked.goal == Goal(objective=MASKER.text(token), status="active")
    assert masked.directories == ("/a",)


@given(text=TEXTS)
def test_masking_again_changes_nothing(text: str) -> None:
    masked = MASKER.text(text)
    assert MASKER.text(masked) == masked


def test_two_secrets_that_touch_are_masked_again_to_the_same() -> None:
    for _, first in SECRETS:
        for _, second in SECRETS:
            for joint in ("", "-", "_", ".", "/"):
                masked = MASKER.text(first + joint + second)
                assert MASKER.text(masked) == masked


@given(value=JSON)
def test_masking_a_value_again_changes_nothing(value: Any) -> None:
    masked = MASKER.value(value)
    assert MASKER.value(masked) == masked


@given(secret=st.sampled_from(SECRETS), before=st.text(max_size=20), after=st.text(max_size=20))
def test_no_secret_is_left_whatever_stands_beside_it(
    secret: tuple[str, str], before: str, after: str
) -> None:
    assert secret[1] not in MASKER.text(f"{before} {secret[1]} {after}")


@given(text=st.text(alphabet=string.ascii_letters + string.digits + " .,:;!?()\n", max_size=300))
def test_prose_stays(text: str) -> None:
    assert MASKER.text(text) == text


@given(data=st.binary(min_size=20, max_size=400))
def test_hashes_ids_and_base64_stay(data: bytes) -> None:
    encoded = base64.b64encode(data).decode()
    for text in (
        hashlib.sha1(data).hexdigest(),
        hashlib.sha256(data).hexdigest(),
        f"commit {hashlib.sha1(data).hexdigest()}\nindex {hashlib.sha1(data).hexdigest()[:7]}..",
        f"sha512-{base64.b64encode(hashlib.sha512(data).digest()).decode()}",
        str(uuid.UUID(bytes=data[:16])),
        f"data:image/png;base64,{encoded}",
        json.dumps({"type": "image", "data": encoded, "mediaType": "image/png"}),
        base64.urlsafe_b64encode(data).decode().replace("-", "_"),
    ):
        assert MASKER.text(text) == text
        assert MASKER.value({"sha256": text, "data": text}) == {"sha256": text, "data": text}


HOSTILE = [
    *(needle for shape in SHAPES for needle in shape.needles),
    *(secret[:-1] for _, secret in SECRETS),
    "a", " ", "\\n", "eyJaaaaaaaa.", "://a:", "://a:b@", "password=", "token: ", "secret=\"",
    "Authorization: Bearer ",
    "-----BEGIN PRIVATE KEY-----", "-----BEGIN PRIVATE KEY-----\n",
    "-----BEGIN A A A PRIVATE KEY-----" + " " * 90,
    "-----BEGIN PRIVATE KEY-----\nComment: a\n",
    "-----BEGIN PRIVATE KEY-----\n" + "A" * 64 + "\n", "Comment: a\n",
    "[masked github token 3f2a91c0]", "aB1", "1\t", "'\"\\",
]  # fmt: skip


def _seconds(text: str) -> float:
    began = time.process_time()
    MASKER.text(text)
    return time.process_time() - began


@pytest.mark.parametrize("piece", HOSTILE)
def test_no_text_of_a_megabyte_takes_long(piece: str) -> None:
    # What goes back over its text takes minutes; what does not, a tenth of a second.
    text = (piece * (MEGABYTE // len(piece) + 1))[:MEGABYTE]
    assert _seconds(text) < 10
    assert _seconds(piece + "a" * MEGABYTE) < 10
