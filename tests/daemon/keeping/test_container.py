"""The portable file: plain for any program, strict for ours, bounded whatever it claims."""

import io
import tarfile
from collections.abc import Callable

import pytest
import zstandard

from resumed.daemon.keeping.container import ContainerDamaged, ContainerReader, ContainerWriter

MEMBERS = {"manifest.json": b"{}", "sessions/a.jsonl": b"x" * 1500, "contents/empty": b""}


def packed(members: dict[str, bytes]) -> bytes:
    file = io.BytesIO()
    writer = ContainerWriter(file)
    for name, data in members.items():
        writer.add(name, len(data), [data[:10], data[10:]])
    writer.close()
    return file.getvalue()


def unpacked(data: bytes) -> dict[str, bytes]:
    """Read the file as an importer does."""
    reader, found = ContainerReader(io.BytesIO(data)), {}
    for name, expected in MEMBERS.items():
        parts: list[bytes] = []
        reader.read(reader.enter(name, size=len(expected)), parts.append)
        found[name] = b"".join(parts)
    reader.end()
    return found


def raw(build: Callable[[tarfile.TarFile], None], format_: int = tarfile.USTAR_FORMAT) -> bytes:
    """A compressed archive that another program has made."""
    file = io.BytesIO()
    with tarfile.open(fileobj=file, mode="w", format=format_) as archive:
        build(archive)
    return zstandard.ZstdCompressor().compress(file.getvalue())


def plain(name: str, data: bytes = b"") -> tuple[tarfile.TarInfo, io.BytesIO]:
    info = tarfile.TarInfo(name)
    info.size = len(data)
    return info, io.BytesIO(data)


def test_it_comes_back_and_is_the_same_each_time() -> None:
    assert unpacked(packed(MEMBERS)) == MEMBERS
    assert packed(MEMBERS) == packed(MEMBERS)


def test_any_tar_reads_it() -> None:
    data = zstandard.ZstdDecompressor().decompressobj().decompress(packed(MEMBERS))
    with tarfile.open(fileobj=io.BytesIO(data)) as archive:
        found = {info.name: archive.extractfile(info) for info in archive}
        assert {name: file.read() for name, file in found.items() if file} == MEMBERS
        assert {(info.mode, info.uid, info.mtime) for info in archive} == {(0o600, 0, 0)}


def test_every_shorter_one_is_damaged() -> None:
    whole = packed(MEMBERS)
    for length in range(len(whole)):
        with pytest.raises(ContainerDamaged):
            unpacked(whole[:length])


def test_every_changed_byte_is_damaged_or_changes_nothing() -> None:
    whole = packed(MEMBERS)
    for place in range(len(whole)):
        changed = bytearray(whole)
        changed[place] ^= 0x55
        try:
            assert unpacked(bytes(changed)) == MEMBERS
        except ContainerDamaged:
            continue


@pytest.mark.parametrize("more", [b"x", b"\0" * 100_000, packed(MEMBERS)])
def test_something_behind_the_end_is_damaged(more: bytes) -> None:
    with pytest.raises(ContainerDamaged, match="behind its end"):
        unpacked(packed(MEMBERS) + more)


def test_more_members_than_expected_are_damaged() -> None:
    with pytest.raises(ContainerDamaged, match="more than it says"):
        unpacked(packed({**MEMBERS, "contents/more": b"x"}))


def test_something_behind_the_archive_is_damaged() -> None:
    data = zstandard.ZstdDecompressor().decompressobj().decompress(packed(MEMBERS))
    with pytest.raises(ContainerDamaged, match="behind its end"):
        unpacked(zstandard.ZstdCompressor().compress(data + b"x" * 10))


@pytest.mark.parametrize(
    ("kind", "link"),
    [
        (tarfile.SYMTYPE, "/etc/passwd"),
        (tarfile.LNKTYPE, "/etc/passwd"),
        (tarfile.DIRTYPE, ""),
        (tarfile.FIFOTYPE, ""),
        (tarfile.CHRTYPE, ""),
        (tarfile.AREGTYPE, ""),
        (tarfile.REGTYPE, "/etc/passwd"),
    ],
)
def test_only_plain_files_are_members(kind: bytes, link: str) -> None:
    info, data = plain("manifest.json")
    info.type, info.linkname = kind, link
    with pytest.raises(ContainerDamaged):
        ContainerReader(io.BytesIO(raw(lambda archive: archive.addfile(info, data)))).enter("manifest.json")


@pytest.mark.parametrize("name", ["../manifest.json", "/manifest.json", "./manifest.json", "manifest.json/x"])
def test_another_name_is_not_the_expected_one(name: str) -> None:
    data = raw(lambda archive: archive.addfile(*plain(name)))
    with pytest.raises(ContainerDamaged, match="in the place of"):
        ContainerReader(io.BytesIO(data)).enter("manifest.json")


@pytest.mark.parametrize("format_", [tarfile.PAX_FORMAT, tarfile.GNU_FORMAT])
def test_extended_headers_are_not_read(format_: int) -> None:
    data = raw(lambda archive: archive.addfile(*plain("n" * 200)), format_)
    with pytest.raises(ContainerDamaged):
        ContainerReader(io.BytesIO(data)).enter("n" * 200)


def test_a_size_is_checked_before_a_byte_is_read() -> None:
    info = tarfile.TarInfo("manifest.json")
    info.size = 7 << 30
    data = zstandard.ZstdCompressor().compress(info.tobuf(tarfile.USTAR_FORMAT))
    with pytest.raises(ContainerDamaged, match="too large"):
        ContainerReader(io.BytesIO(data)).enter("manifest.json", limit=1000)
    with pytest.raises(ContainerDamaged, match="instead of 5"):
        ContainerReader(io.BytesIO(data)).enter("manifest.json", size=5)


def test_a_window_that_needs_much_memory_is_refused() -> None:
    parameters = zstandard.ZstdCompressionParameters.from_level(3, window_log=30, write_content_size=False)
    writer = zstandard.ZstdCompressor(compression_params=parameters).compressobj()
    data = writer.compress(bytes(1 << 20)) + writer.flush()
    with pytest.raises(ContainerDamaged, match="can't be decompressed"):
        ContainerReader(io.BytesIO(data)).enter("manifest.json")


def test_what_has_another_size_than_was_said_is_not_written() -> None:
    with pytest.raises(ValueError, match="instead of 3"):
        ContainerWriter(io.BytesIO()).add("a", 3, [b"xx"])
