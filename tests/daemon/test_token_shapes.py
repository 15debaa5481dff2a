"""Shapes: each has a sample, begins with its needle, and what looks generated is told from names."""

import hashlib
import random
import string
import uuid

import pytest
from hypothesis import given
from hypothesis import strategies as st

from resumed.daemon.token_shapes import SHAPES, is_random, secret_under
from tests.support.secret_samples import SECRETS

RANDOM = random.Random(3)
NAMED_SHAPES = {"private key", "url password", "authorization", "slack webhook", "credential"}


def test_every_shape_has_a_sample() -> None:
    assert {kind for kind, _ in SECRETS} == {shape.kind for shape in SHAPES} - NAMED_SHAPES


@pytest.mark.parametrize(("kind", "secret"), SECRETS)
def test_a_sample_holds_a_needle_of_its_shape(kind: str, secret: str) -> None:
    shapes = [shape for shape in SHAPES if shape.kind == kind]
    assert any(needle in secret for shape in shapes for needle in shape.needles)


@pytest.mark.parametrize("length", [24, 32, 43, 64])
def test_nearly_everything_generated_looks_so(length: int) -> None:
    alphabet = string.ascii_letters + string.digits
    values = ["".join(RANDOM.choices(alphabet, k=length)) for _ in range(500)]
    assert sum(is_random(value) for value in values) >= 470


@given(
    words=st.lists(
        st.sampled_from(["get", "Access", "token", "Value", "v2", "from", "Cache"]), min_size=4, unique=True
    )
)
def test_names_and_paths_do_not(words: list[str]) -> None:
    for joint in ("_", "-", ".", "/", ""):
        assert not is_random(joint.join(words))


@pytest.mark.parametrize(
    "value",
    ["", "short1A", "1" * 40, "a" * 64, "5973b6c0-94b8-487b-a530-2aeb6098ae0e", "2026-01-02T03:04:05.000Z",
     str(uuid.UUID(int=1 << 90)), "us-east-1.compute.internal.example.com"],
)  # fmt: skip
def test_ordinary_values_do_not(value: str) -> None:
    assert not is_random(value)


def test_a_hash_looks_generated_and_counts_only_under_a_name() -> None:
    digest = hashlib.sha256(b"x").hexdigest()
    assert is_random(digest)
    assert secret_under("secret", digest) == ("credential", digest)
    assert secret_under("sha256", digest) is None
    assert secret_under("token", f"{digest} and more") is None
