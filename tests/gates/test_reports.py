"""Findings as SARIF, workflow commands, Markdown and text: valid, bounded, and safe from what strangers wrote."""

from __future__ import annotations

import json
import re
from typing import Any
from urllib.parse import unquote

import pytest
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft7Validator
from markdown_it import MarkdownIt
from support import PROJECT

from decapod_py.gates.finding import Finding
from decapod_py.gates.reports import Aside, github, markdown, sarif, text

SCHEMA = Draft7Validator(json.loads((PROJECT / "tests" / "data" / "sarif-schema-2.1.0.json").read_text()))

DRIFT = Finding(
    "drift", "changed", "warn", "a citation changed", "decapod knowledge reaffirm x", "note/x", "src/a.py", 3
)
SECRET = Finding("secrets", "secret", "fail", "event 01J holds a secret", "make it void", None, ".decapod/l/a.jsonl", 7)
NOWHERE = Finding("database", "differs", "fail", "the database differs from the fold", "decapod rebuild")
OF_AN_ENTRY = Finding("diverged", "diverged", "warn", "two heads", "decapod knowledge settle note/y", "note/y")

HOSTILE = (
    "| a | b |\n\n# Heading\n`code` **bold** [link](javascript:alert(1)) <script>alert(1)</script> <!-- x --> "
    "\x1b[31mred\x1b[0m \u202e %0A::error::x ::set-output name=a::b ##[add-mask]a &amp; https://evil.example "
    "www.evil.example @team #1 $x$ ~~~ ``` \r\n::stop-commands::t"
)
TEXTS = (
    st.text(max_size=80)
    | st.just(HOSTILE)
    | st.text(st.sampled_from("a|`<>[]()!*_~\\\n\r\t&#;:%,@$\x1b\u202e\ud800 "), max_size=60)
)
FINDINGS = st.builds(
    Finding,
    gate=st.sampled_from(["drift", "secrets", "append-only"]),
    code=st.sampled_from(["changed", "gone", "bad-line"]),
    level=st.sampled_from(["fail", "warn"]),
    message=TEXTS,
    fix=TEXTS,
    entry=st.none() | TEXTS,
    file=st.none() | TEXTS,
    line=st.none() | st.integers(1, 99_999),
)


def results(*findings: Finding, **more: Any) -> list[dict[str, Any]]:
    log = json.loads(sarif(findings, "0.1.0", **more))
    SCHEMA.validate(log)
    found: list[dict[str, Any]] = log["runs"][0]["results"]
    return found


def test_sarif_says_what_where_and_what_helps() -> None:
    (result,) = results(DRIFT)

    assert result == {
        "ruleId": "drift/changed",
        "ruleIndex": 0,
        "level": "warning",
        "message": {"text": "a citation changed\nWhat helps: decapod knowledge reaffirm x"},
        "locations": [
            {
                "physicalLocation": {
                    "artifactLocation": {"uri": "src/a.py", "uriBaseId": "%SRCROOT%"},
                    "region": {"startLine": 3},
                },
                "logicalLocations": [{"fullyQualifiedName": "note/x", "kind": "resource"}],
            }
        ],
        "partialFingerprints": {"decapodFinding/v1": DRIFT.fingerprint()},
    }


def test_sarif_has_one_rule_for_each_code_with_help() -> None:
    log = json.loads(sarif([DRIFT, SECRET, DRIFT], "0.1.0", about={"drift": "Citations that no longer hold."}))
    SCHEMA.validate(log)
    driver = log["runs"][0]["tool"]["driver"]

    assert (driver["name"], driver["version"]) == ("decapod", "0.1.0")
    assert [rule["id"] for rule in driver["rules"]] == ["secrets/secret", "drift/changed"], "what fails comes first"
    assert [result["ruleIndex"] for result in log["runs"][0]["results"]] == [0, 1, 1]
    drift = driver["rules"][1]
    assert drift["shortDescription"]["text"] == "drift: changed"
    assert drift["fullDescription"]["text"] == "Citations that no longer hold."
    assert "decapod knowledge reaffirm x" in drift["help"]["text"]
    assert "decapod validate --explain drift" in drift["help"]["markdown"]


def test_a_finding_without_a_file_still_has_a_place_a_forge_accepts() -> None:
    (failed, warned) = results(NOWHERE, OF_AN_ENTRY)

    for result, name in ((failed, "database"), (warned, "note/y")):
        (location,) = result["locations"]
        assert location["physicalLocation"]["artifactLocation"]["uri"] == ".decapod/config.toml"
        assert location["physicalLocation"]["region"] == {"startLine": 1}
        assert location["logicalLocations"][0]["fullyQualifiedName"] == name


@pytest.mark.parametrize("file", ["a b.py", "ä/ö.md", "100%.txt", "a#b?c.py", "a:b.py", "[x](y).md", "\udcff.bin"])
def test_a_path_is_a_relative_uri_that_reads_back(file: str) -> None:
    (result,) = results(DRIFT._replace(file=file, line=None))

    physical = result["locations"][0]["physicalLocation"]
    assert re.fullmatch(r"(?:[A-Za-z0-9._~/-]|%[0-9A-F]{2})+", physical["artifactLocation"]["uri"])
    assert unquote(physical["artifactLocation"]["uri"], errors="surrogatepass") == file
    assert "region" not in physical, "no line is known"


@given(st.lists(FINDINGS, max_size=5))
def test_any_findings_are_valid_sarif_in_plain_ascii(findings: list[Finding]) -> None:
    report = sarif(findings, "0.1.0", asides=[Aside("fail", HOSTILE)])

    assert report.isascii()
    log = json.loads(report)
    SCHEMA.validate(log)
    assert len(log["runs"][0]["results"]) == len(findings)
    assert all("](" not in result["message"]["text"] for result in log["runs"][0]["results"])


def test_the_schema_would_notice() -> None:
    log = json.loads(sarif([DRIFT], "0.1.0"))
    log["runs"][0]["results"][0]["level"] = "fail"

    assert not SCHEMA.is_valid(log)


def test_no_findings_are_valid_sarif_too() -> None:
    assert results() == []


def test_sarif_holds_what_code_scanning_takes_and_says_what_is_missing() -> None:
    findings = [DRIFT] * 24_990 + [SECRET] * 20

    log = json.loads(sarif(findings, "0.1.0"))

    run = log["runs"][0]
    assert len(run["results"]) == 25_000
    assert [result["level"] for result in run["results"][:21]] == ["error"] * 20 + ["warning"]
    (notification,) = run["invocations"][0]["toolExecutionNotifications"]
    assert notification["message"]["text"] == "10 more findings are not in this report"


def test_a_gate_that_broke_is_in_every_report() -> None:
    broke = [Aside("fail", "the gate drift broke: no git")]

    log = json.loads(sarif([], "0.1.0", asides=broke))
    SCHEMA.validate(log)
    assert log["runs"][0]["invocations"][0]["executionSuccessful"] is False
    assert github([], asides=broke) == "::error title=decapod::the gate drift broke: no git"
    assert "the gate drift broke&#58; no git" in markdown([], asides=broke)
    assert text([], asides=broke) == "error: the gate drift broke: no git\nno findings"


def test_a_fingerprint_outlives_lines_and_numbers_and_nothing_else() -> None:
    moved = DRIFT._replace(line=99, message="a citation changed")
    counted = DRIFT._replace(message="12 citations changed")

    assert moved.fingerprint() == DRIFT.fingerprint()
    assert counted.fingerprint() == counted._replace(message="345 citations changed").fingerprint()
    others = [DRIFT._replace(**{name: "other"}) for name in ("gate", "code", "entry", "message")]
    assert len({one.fingerprint() for one in [DRIFT, *others]}) == 5


def test_github_annotates_the_line() -> None:
    assert github([SECRET, DRIFT]).split("\n") == [
        "::error file=.decapod/l/a.jsonl,line=7,title=secrets/secret::event 01J holds a secret%0Afix: make it void",
        "::warning file=src/a.py,line=3,title=drift/changed::note/x: a citation changed%0Afix: "
        "decapod knowledge reaffirm x",
    ]
    assert (
        github([NOWHERE]) == "::error title=database/differs::the database differs from the fold%0Afix: decapod rebuild"
    )


def test_github_escapes_what_means_something_to_it() -> None:
    finding = DRIFT._replace(file="a,b:c%.py", entry=None, message="100%\r\nof, it: yes", fix="none")

    assert github([finding]) == (
        "::warning file=a%2Cb%3Ac%25.py,line=3,title=drift/changed::100%25%0Aof, it: yes%0Afix: none"
    )


@given(st.lists(FINDINGS, min_size=1, max_size=4))
def test_no_text_becomes_a_command_of_its_own(findings: list[Finding]) -> None:
    lines = github(findings).split("\n")

    assert len(lines) == len(findings)
    for line in lines:
        command = re.fullmatch(r"::(?:error|warning) ((?:[a-z]+=[^,:]*,?)+)::(.*)", line, re.DOTALL)
        assert command, line
        assert "##[" not in line
        assert not re.search("[\x00-\x08\x0a-\x1f\x7f-\x9f\u2028-\u202e\ud800-\udfff]", line)
        assert not re.search("%(?!25|0A|0D|3A|2C)", line)


def test_github_shows_ten_of_each_level_and_says_how_many_more_there_are() -> None:
    lines = github([DRIFT] * 13 + [SECRET] * 11).split("\n")

    assert [line.partition(" ")[0] for line in lines] == ["::error"] * 10 + ["::notice"] + ["::warning"] * 10 + [
        "::notice"
    ]
    assert lines[10] == "::notice title=decapod::1 more error, not shown here: decapod validate tells them all"
    assert "3 more warnings" in lines[-1]


def test_github_says_that_there_is_nothing_to_say() -> None:
    assert github([]) == "decapod: no findings"


def rendered(report: str) -> str:
    return MarkdownIt("commonmark", {"html": True}).enable("table").enable("strikethrough").render(report)


def test_markdown_is_a_table_with_the_worst_first() -> None:
    page = rendered(markdown([DRIFT, SECRET]))

    assert "<h3>Decapod: 1 error, 1 warning</h3>" in page
    rows = re.findall(r"<tr>\n(.*?)</tr>", page, re.DOTALL)
    assert len(rows) == 3
    assert "error" in rows[1] and ".decapod/l/a.jsonl:7" in rows[1]
    assert "a citation changed<br>drift/changed" in rows[2]


@given(st.lists(FINDINGS, min_size=1, max_size=3), TEXTS)
def test_no_text_breaks_the_table_or_becomes_markup(findings: list[Finding], heading: str) -> None:
    page = rendered(markdown(findings, heading))

    assert page.count("<tr>") == 1 + len(findings)
    assert page.count("<td") == 4 * len(findings)
    assert set(re.findall(r"</?([a-z0-9]+)", page)) <= {"h3", "table", "thead", "tbody", "tr", "th", "td", "br"}
    assert not re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\ud800-\udfff]", page)


def test_markdown_shows_hostile_text_as_it_was_written() -> None:
    page = rendered(markdown([DRIFT._replace(message="<b>|`x`|</b> [a](b) https://x www.x @team")]))

    assert "&lt;b&gt;|`x`|&lt;/b&gt; [a](b) https://x www.x @team" in page
    source = markdown([DRIFT._replace(message="https://x www.x @team")])
    assert "https://" not in source and "www." not in source and "@team" not in source, (
        "a forge would make links of them"
    )


def test_markdown_stays_below_what_a_step_summary_holds() -> None:
    long = markdown([DRIFT._replace(message="|" * 50_000)] * 600)

    assert len(long.encode()) < 1_000_000
    assert "more findings: `decapod validate` tells them all." in long
    assert "100 more findings" in markdown([DRIFT] * 600)


def test_text_has_two_lines_for_each_finding_and_a_last_one_that_counts() -> None:
    assert text([DRIFT, NOWHERE, OF_AN_ENTRY]).split("\n") == [
        "error: database: the database differs from the fold [database]",
        "  fix: decapod rebuild",
        "warning: src/a.py:3: a citation changed [drift]",
        "  fix: decapod knowledge reaffirm x",
        "warning: note/y: two heads [diverged]",
        "  fix: decapod knowledge settle note/y",
        "1 error, 2 warnings",
    ]
    assert text([]) == "no findings"


@given(st.lists(FINDINGS, max_size=4))
def test_text_acts_on_no_terminal_and_keeps_to_its_lines(findings: list[Finding]) -> None:
    report = text(findings)

    assert len(report.split("\n")) == 2 * len(findings) + 1
    assert not re.search("[\x00-\x09\x0b-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069\ud800-\udfff]", report)


def test_the_schema_is_the_official_one() -> None:
    schema = json.loads((PROJECT / "tests" / "data" / "sarif-schema-2.1.0.json").read_text())

    assert schema["$id"].endswith("/oasis-tcs/sarif-spec/master/Schemata/sarif-schema-2.1.0.json")
    assert (PROJECT / "tests" / "data" / "README.md").read_text().count("OASIS") >= 2
