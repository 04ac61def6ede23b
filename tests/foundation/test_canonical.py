"""Canonical JSON: one byte string for one value."""

from __future__ import annotations

from typing import Any

import pytest

from decapod_py.foundation.canonical import canonical, digest


def test_keys_are_sorted_blanks_are_gone_and_text_is_utf_8() -> None:
    assert canonical({"b": [1, True, None], "a": "ö"}) == '{"a":"ö","b":[1,true,null]}'.encode()


@pytest.mark.parametrize("value", [float("nan"), float("inf"), -float("inf"), "\ud800", {"\udfff": 1}])
def test_what_has_no_canonical_form_is_refused(value: Any) -> None:
    with pytest.raises(ValueError):
        canonical(value)


def test_a_digest_is_the_sha_256_of_the_canonical_form() -> None:
    assert digest({}) == "44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a"
