"""Which ids an entry may have, and where its Markdown lives."""

from __future__ import annotations

import re
from hashlib import sha256

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from decapod_py.domain.naming import check_entry_id, is_safe_path, markdown_path, path_as_named
from decapod_py.foundation.errors import DecapodError, Refused
from decapod_py.foundation.ids import ulid

ULID = ulid(1_700_000_000_000, bytes(10))
ids = st.from_regex(r"[A-Za-z0-9._-]{1,30}(/[A-Za-z0-9._-]{1,30}){0,5}", fullmatch=True)
texts = st.text(st.characters(exclude_categories=["Cs"]))


def free(path: str) -> bool:
    return False


def digest_of(entry_id: str, length: int = 6) -> str:
    return sha256(entry_id.encode()).hexdigest()[:length]


def test_an_id_that_someone_gave_keeps_its_folders():
    assert (
        markdown_path("procedural/retry-policy", "Ignored", free)
        == f"procedural/retry-policy-{digest_of('procedural/retry-policy')}.md"
    )


@pytest.mark.parametrize(
    ("title", "name"),
    [
        ("Retries stop at 3!", "retries-stop-at-3"),
        ("  --Dots... and_underscores--  ", "dots-and-underscores"),
        ("Äpfel", "äpfel"),
        ("A\u0308pfel", "äpfel"),
        ("日本語のタイトル", "日本語のタイトル"),
        ("สวัสดี ชาวโลก", "สวัสดี-ชาวโลก"),
        ("Привет, Мир", "привет-мир"),
        ("हिन्दी", "हिन्दी"),
        ("\u2764\ufe0f", "entry"),
        ("../../etc/passwd", "etc-passwd"),
        ("", "entry"),
        ("con", "con"),
    ],
)
def test_a_ulid_takes_its_name_from_the_title(title: str, name: str):
    assert markdown_path(ULID, title, free) == f"{name}-{digest_of(ULID)}.md"


def test_a_long_title_is_cut_between_characters():
    assert markdown_path(ULID, "語" * 100, free) == f"{'語' * 26}-{digest_of(ULID)}.md"


@pytest.mark.parametrize(
    ("entry_id", "path"),
    [
        ("a/CON/b", "a/con_/b"),
        ("aux.d/x", "aux_.d/x"),
        ("com1/lpt9/x", "com1_/lpt9_/x"),
        ("com10/x", "com10/x"),
        ("nul.notes", "nul_.notes"),
        (".git/config", "git/config"),
        ("trailing./x..", "trailing/x"),
        (".../x", "entry/x"),
        ("looks-like-a-file.md/x", "looks-like-a-file.md_/x"),
        ("Mixed/Case_v1.2", "mixed/case_v1.2"),
    ],
)
def test_names_that_some_system_treats_specially_are_changed(entry_id: str, path: str):
    assert markdown_path(entry_id, "", free) == f"{path}-{digest_of(entry_id)}.md"


def test_the_digest_grows_while_the_path_is_taken():
    taken = {f"x-{digest_of('x', 6)}.md", f"x-{digest_of('x', 8)}.md"}

    assert markdown_path("x", "", taken.__contains__) == f"x-{digest_of('x', 12)}.md"


def test_a_path_that_stays_taken_is_refused():
    with pytest.raises(Refused) as refusal:
        markdown_path("x", "", lambda path: True)

    assert refusal.value.code == "path-taken"


@given(st.lists(ids | st.just(ULID), unique=True, max_size=20))
@example(["A/b", "a/B", "a/b"])
def test_distinct_ids_have_distinct_paths_whatever_the_case(entry_ids: list[str]):
    paths: set[str] = set()
    for entry_id in entry_ids:
        paths.add(markdown_path(entry_id, "One title", lambda path: path.casefold() in paths).casefold())

    assert len(paths) == len(entry_ids)


DEVICE = re.compile(r"(con|prn|aux|nul|com[0-9¹²³]|lpt[0-9¹²³])(\..*)?", re.IGNORECASE)


@given(ids | texts | st.just(ULID), texts)
@example("com¹/x", "")
@example("a/" * 99 + "b", "")
def test_every_path_is_safe_on_every_file_system(entry_id: str, title: str):
    path = markdown_path(entry_id, title, free)

    assert path == markdown_path(entry_id, title, free)
    assert path.endswith(f"-{digest_of(entry_id)}.md")
    assert len(path.encode()) <= 200
    for component in path.split("/"):
        assert component
        assert component[0] not in ".-"
        assert component[-1] not in ". "
        assert not DEVICE.fullmatch(component)
        assert not re.search(r'[\x00-\x20\x7f"*:<>?\\|A-Z]', component)


@pytest.mark.parametrize("entry_id", ["a", "A.b_c-d/e", ULID, "x" * 200, "procedural", "a/.b"])
def test_a_good_id_is_stored_as_it_was_given(entry_id: str):
    assert check_entry_id(entry_id) == entry_id


@pytest.mark.parametrize("given_id", ["procedural/Retry", "Procedural/Retry", "PROCEDURAL/Retry"])
def test_procedural_is_recognised_in_any_case_and_stored_in_lower_case(given_id: str):
    assert check_entry_id(given_id) == "procedural/Retry"


@pytest.mark.parametrize(
    "entry_id",
    [
        "",
        "/a",
        "a/",
        "a//b",
        ".",
        "..",
        "a/../b",
        "./a",
        "a b",
        "a\n",
        "ä",
        "a\\b",
        "a\0",
        "x" * 201,
        "procedural/",
        "１",
    ],
)
def test_a_bad_id_is_refused(entry_id: str):
    with pytest.raises(DecapodError) as refusal:
        check_entry_id(entry_id)

    assert refusal.value.code == "bad-id"
    assert refusal.value.hint


@pytest.mark.parametrize(
    ("wanted", "path"),
    [
        ("Größe/Retry policy.md", "Größe/Retry policy.md"),
        ("ops/What?.md", "ops/what-{}.md"),
        ("con/a.md", "con_/a-{}.md"),
        (".hidden/a.md", "hidden/a-{}.md"),
        ("procedural/a.md", "_procedural/a.md"),
        ("x.md/a.md", "x.md_/a-{}.md"),
    ],
)
def test_a_file_that_has_a_name_keeps_it_if_it_will_do_everywhere(wanted: str, path: str) -> None:
    assert path_as_named(wanted, ULID, free) == path.format(digest_of(ULID))


def test_a_name_that_is_taken_gets_the_digest_of_the_id() -> None:
    assert path_as_named("Ops/Note.md", ULID, lambda path: path == "Ops/Note.md") == f"Ops/note-{digest_of(ULID)}.md"


@given(st.text(st.characters(), min_size=1))
def test_whatever_a_file_is_called_its_entry_gets_a_safe_path(name: str) -> None:
    assert is_safe_path(path_as_named(f"{name}.md", ULID, free))
