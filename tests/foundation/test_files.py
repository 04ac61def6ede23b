"""Files that are whole or not there."""

from __future__ import annotations

from pathlib import Path

import pytest

from decapod_py.foundation.files import read_bytes, stamp, write_whole


def test_a_file_is_replaced_in_one_step_and_leaves_no_temp_file(tmp_path: Path) -> None:
    target = tmp_path / "deep" / "er" / "a.md"

    write_whole(str(target), b"one", scratch=str(tmp_path))
    write_whole(str(target), b"two", scratch=str(tmp_path), durable=False)

    assert target.read_bytes() == b"two"
    assert [path.name for path in tmp_path.iterdir()] == ["deep"]


def test_a_write_that_fails_leaves_no_temp_file_and_the_old_file(tmp_path: Path) -> None:
    (tmp_path / "taken").mkdir()
    (tmp_path / "taken" / "inside").touch()

    with pytest.raises(OSError):
        write_whole(str(tmp_path / "taken"), b"one", scratch=str(tmp_path))

    assert sorted(path.name for path in tmp_path.rglob("*")) == ["inside", "taken"]


def test_a_file_that_is_not_there_has_no_bytes_and_no_stamp(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    for path in (tmp_path / "nothing", tmp_path / "file" / "below"):
        assert (read_bytes(str(path)), stamp(str(path))) == (None, None)


def test_a_stamp_changes_with_the_file(tmp_path: Path) -> None:
    path = tmp_path / "a"
    path.write_bytes(b"one")
    before = stamp(str(path))
    write_whole(str(path), b"one", scratch=str(tmp_path))

    assert before != stamp(str(path))
