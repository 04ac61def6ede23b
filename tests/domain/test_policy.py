"""What config.toml decides."""

from __future__ import annotations

import tomllib
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from decapod_py.domain.policy import CONFIG_TOML, SCHEMES, Policy, read_policy
from decapod_py.foundation.clock import DAY
from decapod_py.foundation.errors import DecapodError, Misused, Refused


def policy(text: str) -> Policy:
    return read_policy(tomllib.loads(text), "config.toml")


def test_nothing_said_is_the_default_and_so_is_the_file_that_init_writes() -> None:
    assert policy("") == policy(CONFIG_TOML) == Policy()


def test_the_defaults_in_the_file_are_those_that_hold() -> None:
    uncommented = "\n".join(
        line.removeprefix("# ") if " = " in line or line.startswith("# [") else line
        for line in CONFIG_TOML.splitlines()
    )

    told = policy(uncommented)

    assert told.schemes == {**SCHEMES, "jira": "[A-Z]+-[0-9]+"}
    assert (told.self_approval, told.lifetimes["default"]) == (False, Policy().lifetimes["default"])
    assert told.lifetimes["spring-cleaning"] == {"ephemeral": DAY, "decay": 30 * DAY}


def test_a_project_may_add_and_replace_schemes() -> None:
    told = policy("[provenance.schemes]\nJIRA = 'x'\nurl = 'https://.*'\n")

    assert told.schemes == {**SCHEMES, "jira": "x", "url": "https://.*"}


@pytest.mark.parametrize("name", ['"a-b"', '""', '"ä"', '"a b"'])
def test_a_scheme_has_a_name_of_letters_and_digits(name: str) -> None:
    with pytest.raises(Misused, match="must be a pattern in quotes under a name of letters"):
        policy(f"[provenance.schemes]\n{name} = 'x'\n")


def test_a_newer_format_is_refused_before_its_unknown_keys_are() -> None:
    with pytest.raises(Refused) as refused:
        policy("format = 2\nwhatever = 1\n")
    assert refused.value.code == "newer-data"


TABLES = st.recursive(
    st.booleans() | st.integers() | st.floats() | st.text(max_size=5) | st.lists(st.integers(), max_size=2),
    lambda inner: st.dictionaries(
        st.sampled_from(("format", "provenance", "schemes", "promotion", "self_approval", "decay", "default", "x")),
        inner,
        max_size=3,
    ),
    max_leaves=6,
)


@given(st.dictionaries(st.sampled_from(("format", "provenance", "promotion", "decay", "x")), TABLES, max_size=3))
def test_any_table_is_a_policy_or_an_expected_error(table: dict[str, Any]) -> None:
    try:
        read_policy(table, "config.toml")
    except DecapodError as problem:
        assert problem.code in ("bad-config", "bad-duration", "newer-data")
