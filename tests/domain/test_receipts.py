"""Which receipt of a proof counts, and what of a command's output is kept."""

from __future__ import annotations

from typing import Any

import pytest

from decapod_py.domain.policy import Proof
from decapod_py.domain.receipts import LONGEST_TAIL, command_digest, masked, receipt_of, tail_of, verdict

TESTS = Proof("tests", "make test", required=True, timeout=60_000, paths=("src/**",))
TOKEN = "ghp_" + "Q7fK2mW9xT4bN8vR1cJ6hL3sD5gY0pZaEuXi"


def event(number: int = 1, **changes: Any) -> dict[str, Any]:
    return {
        "event_id": f"01{number:024}",
        "ts": "2026-03-01T12:00:00.000Z",
        "actor": "Ada",
        "ledger": "proofs",
        "type": "proof.run",
        "proof": "tests",
        "command_sha256": command_digest("make test"),
        "paths_sha256": "now",
        "paths_changed": False,
        "exit_code": 0,
        "timed_out": False,
        "duration_ms": 1_234,
        "output_sha256": "o",
        "output_bytes": 3,
        "head": None,
        "dirty": False,
        "text": {"command": "make test", "tail": "ok"},
        **changes,
    }


def judge(*events: dict[str, Any], proof: Proof = TESTS, paths: str | None = "now") -> tuple[str, str]:
    found = verdict(proof, [receipt for event in events if (receipt := receipt_of(event))], paths)
    return found.state, found.reason


@pytest.mark.parametrize(
    ("events", "state"),
    [
        ([], "missing"),
        ([event()], "good"),
        ([event(proof="lint")], "missing"),
        ([event(exit_code=1)], "failed"),
        ([event(exit_code=None, timed_out=True)], "timed-out"),
        ([event(exit_code=0, timed_out=True)], "timed-out"),
        ([event(exit_code=None)], "failed"),
        ([event(paths_sha256="then")], "outdated"),
        ([event(command_sha256=command_digest("true"))], "outdated"),
        ([event(paths_changed=True)], "outdated"),
        ([event(1), event(2, exit_code=1)], "failed"),
        ([event(1, exit_code=1), event(2)], "good"),
        ([event(1), event(2, paths_sha256="elsewhere", exit_code=1)], "good"),
        ([event(1), event(2, paths_changed=True)], "good"),
    ],
)
def test_the_newest_run_of_this_command_on_these_files_decides(events: list[dict[str, Any]], state: str) -> None:
    assert judge(*events)[0] == state


def test_a_proof_without_files_never_holds() -> None:
    assert judge(event(), paths=None) == ("no-files", "no file matches its paths: src/**")


@pytest.mark.parametrize(
    ("newest", "reason"),
    [
        (event(paths_sha256="then"), "its files changed since it ran"),
        (event(command_sha256="other"), "its command changed since it ran"),
        (event(paths_changed=True), "its files changed while it ran"),
    ],
)
def test_an_outdated_proof_says_what_changed(newest: dict[str, Any], reason: str) -> None:
    assert reason in judge(newest)[1]


@pytest.mark.parametrize(
    "changes",
    [
        {"exit_code": False},
        {"exit_code": "0"},
        {"timed_out": 0},
        {"paths_changed": None},
        {"proof": ["tests"]},
        {"duration_ms": "1"},
        {"type": "proof.dreamt"},
        {"ledger": "knowledge.events"},
    ],
)
def test_an_event_with_a_wrong_field_is_no_receipt(changes: dict[str, Any]) -> None:
    assert receipt_of(event(**changes)) is None


def test_a_redacted_receipt_still_counts() -> None:
    redacted = {name: value for name, value in event().items() if name != "text"}

    assert judge(redacted)[0] == "good"


def test_a_tail_is_text_that_does_nothing() -> None:
    assert tail_of(b"\x1b[1;31mred\x1b[0m\r\n50%\r100%\n\xff\x00\x1b]0;title\x07") == (
        "red\n50%\n100%\n\ufffd\\x00\\x1b]0;title\\x07"
    )


def test_a_tail_is_the_end_and_bounded() -> None:
    assert tail_of("".join(f"{number}\n" for number in range(9_000)).encode())[-5:] == "8999\n"
    assert len(tail_of(b"\x00" * 60_000)) == LONGEST_TAIL


def test_a_secret_in_the_output_is_masked() -> None:
    assert tail_of(f"before\ncurl -H 'token: {TOKEN}' x\nafter\n".encode()) == (
        "before\ncurl -H 'token: [masked: GitHub token]\nafter\n"
    )


def test_a_secret_that_colours_run_through_is_masked() -> None:
    assert TOKEN not in tail_of(f"{TOKEN[:9]}\x1b[0m{TOKEN[9:]}".encode())


def test_a_private_key_is_masked_to_its_end() -> None:
    key = "\n".join(["-----BEGIN PRIVATE KEY-----", *["MIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSj"] * 5])

    assert masked(f"a\n{key}\n-----END PRIVATE KEY-----\nb") == "a\n[masked: private key]\nb"
    assert masked(f"a\n{key}") == "a\n[masked: private key]"
