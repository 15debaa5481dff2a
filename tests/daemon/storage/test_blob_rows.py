"""A content as a row: packed, given back, or said to be damaged."""

import hashlib

import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st

from resumed.daemon.storage.blob_rows import (
    RAW,
    ZSTD,
    BlobDamaged,
    BlobFound,
    Stored,
    digest_of,
    milliseconds,
    pack,
    unpack,
)


@given(data=st.binary(max_size=2000))
def test_what_is_packed_is_never_larger_and_comes_back(data: bytes) -> None:
    packed = pack(data)
    assert packed.digest == hashlib.sha256(data).digest()
    assert len(packed.data) <= len(data) == packed.size
    assert unpack(packed.digest, Stored(packed.size, packed.codec, 1), packed.data) == BlobFound(data)


@given(data=st.binary(min_size=1, max_size=500), at=st.integers(0, 499), bit=st.integers(0, 7))
def test_with_one_other_bit_nothing_is_given_back_that_was_not_put(data: bytes, at: int, bit: int) -> None:
    packed = pack(data * 3)
    changed = bytearray(packed.data)
    changed[at % len(changed)] ^= 1 << bit
    found = unpack(packed.digest, Stored(packed.size, packed.codec, 1), bytes(changed))
    assert found == BlobFound(data * 3) or isinstance(found, BlobDamaged)


def test_a_frame_that_claims_another_size_is_not_decompressed() -> None:
    bomb = zstandard.ZstdCompressor().compress(b"\0" * (1 << 28))
    found = unpack(b"\0" * 32, Stored(10, ZSTD, 1), bomb)
    assert found == BlobDamaged("The kept content 000000000000 can't be used: its bytes are of another size.")


def test_what_is_small_or_random_is_stored_raw() -> None:
    assert pack(b"abc").codec == RAW
    assert pack(b"abc" * 100).codec == ZSTD


@pytest.mark.parametrize("name", ["", "a" * 63, "a" * 65, "A" * 64, "g" * 64, "a" * 64 + "\n", "é" * 64])
def test_a_name_is_64_lower_case_digits(name: str) -> None:
    assert digest_of(name) is None
    assert digest_of("0f" * 32) == b"\x0f" * 32


def test_a_time_is_milliseconds_whatever_its_offset() -> None:
    assert milliseconds("1970-01-01T00:00:01.500Z") == 1500
    assert milliseconds("1970-01-01T01:00:00+01:00") == 0
