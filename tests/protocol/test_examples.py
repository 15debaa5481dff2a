"""The worked exchange is one that a real client and daemon could have."""

from resumed.protocol.converter import to_type
from resumed.protocol.examples import exchange, later
from resumed.protocol.methods import BY_NAME


def test_every_message_fits_its_type() -> None:
    for _, message in [*exchange(), ("→", later())]:
        assert message["jsonrpc"] == "2.0"
        if "method" in message:
            to_type(message["params"], BY_NAME[message["method"]].params)


def test_every_request_is_answered_by_the_other_side() -> None:
    asked = {message["id"]: who for who, message in exchange() if "method" in message and "id" in message}
    answered = {message["id"]: who for who, message in exchange() if "result" in message}
    assert asked.keys() == answered.keys()
    assert all(asked[number] != answered[number] for number in asked)


def test_answers_are_choices_that_can_be_taken() -> None:
    question = next(m["params"] for _, m in exchange() if m.get("method") == "restore/ask")
    given = next(m["result"]["answers"] for _, m in exchange() if "answers" in m.get("result", {}))
    for drift in question["drifts"]:
        possible = {choice["id"] for choice in drift["choices"] if "notPossible" not in choice}
        assert given[drift["id"]]["choice"] in possible
    assert later()["params"]["token"] == question["token"]


def test_the_daemon_says_all_its_methods() -> None:
    said = next(m["result"]["methods"] for _, m in exchange() if "methods" in m.get("result", {}))
    assert set(said) <= set(BY_NAME)
    assert "thread/resume" in said
