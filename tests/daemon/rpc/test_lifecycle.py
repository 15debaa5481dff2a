import pytest

from resumed.daemon.rpc.lifecycle import Lifecycle, LspState, check_version, is_lsp
from resumed.protocol.daemon import ClientInfo, InitializeParams
from resumed.protocol.errors import ErrorCode, ResumedError
from resumed.protocol.methods import METHODS


def refused(lifecycle: Lifecycle, method: str) -> ErrorCode:
    """The code with which a request is refused."""
    with pytest.raises(ResumedError) as caught:
        lifecycle.admit(method)
    return caught.value.code


def test_ours_wait_for_our_handshake() -> None:
    lifecycle = Lifecycle()
    assert refused(lifecycle, "thread/list") is ErrorCode.NOT_INITIALIZED
    assert refused(lifecycle, "daemon/status") is ErrorCode.NOT_INITIALIZED
    lifecycle.admit("daemon/drain")
    lifecycle.admit("resumed/initialize")
    lifecycle.initialized = True
    lifecycle.admit("thread/list")
    assert refused(lifecycle, "resumed/initialize") is ErrorCode.INVALID_REQUEST


def test_lsp_has_its_own_handshake() -> None:
    lifecycle = Lifecycle()
    assert refused(lifecycle, "textDocument/hover") is ErrorCode.NOT_INITIALIZED
    assert refused(lifecycle, "shutdown") is ErrorCode.NOT_INITIALIZED
    lifecycle.admit("initialize")
    assert refused(lifecycle, "initialize") is ErrorCode.INVALID_REQUEST
    assert refused(lifecycle, "thread/list") is ErrorCode.NOT_INITIALIZED
    lifecycle.admit("textDocument/hover")
    lifecycle.admit("shutdown")
    assert lifecycle.lsp is LspState.SHUT_DOWN
    for method in ("initialize", "textDocument/hover", "shutdown", "resumed/initialize"):
        assert refused(lifecycle, method) is ErrorCode.INVALID_REQUEST


def test_a_failed_initialize_may_be_sent_again() -> None:
    lifecycle = Lifecycle()
    lifecycle.admit("initialize")
    lifecycle.refused("initialize")
    assert refused(lifecycle, "shutdown") is ErrorCode.NOT_INITIALIZED
    lifecycle.admit("initialize")
    lifecycle.refused("textDocument/hover")
    lifecycle.admit("shutdown")


@pytest.mark.parametrize("method", ["", "nonsense", "thread/", "restore/ask", "resync", "initialise"])
def test_an_unknown_method_is_unknown_in_every_state(method: str) -> None:
    lifecycle = Lifecycle()
    assert refused(lifecycle, method) is ErrorCode.METHOD_NOT_FOUND
    lifecycle.initialized = True
    assert refused(lifecycle, method) is ErrorCode.METHOD_NOT_FOUND


def test_none_of_our_methods_looks_like_lsp() -> None:
    assert [row.name for row in METHODS if is_lsp(row.name)] == []


@pytest.mark.parametrize(
    ("version", "ways"), [("2.0", ("daemon/drain",)), ("0.9", ()), ("", ()), ("x.1", ()), ("²", ())]
)
def test_another_major_version_is_a_mismatch(version: str, ways: tuple[str, ...]) -> None:
    with pytest.raises(ResumedError) as caught:
        check_version(InitializeParams(protocol_version=version, client=ClientInfo(name="t")))
    assert caught.value.code is ErrorCode.PROTOCOL_MISMATCH
    assert caught.value.data.ways == ways


@pytest.mark.parametrize("version", ["1.0", "1.7", "1"])
def test_the_same_major_version_is_fine(version: str) -> None:
    check_version(InitializeParams(protocol_version=version, client=ClientInfo(name="t")))
