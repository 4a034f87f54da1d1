"""Briefs: read strictly, with every planted line where the brief says, and errors that name file and key."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from answering import BRIEFS

from orchestrator.errors import ConfigurationError
from orchestrator.evaluate.brief import Planted, load_brief, load_briefs
from orchestrator.evaluate.planted import check_folder, require_sound

ID = "001-parcel-scan-events"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A copy of a brief, to be spoiled."""
    shutil.copytree(BRIEFS / ID, tmp_path / ID)
    return tmp_path / ID


def spoil(folder: Path, old: str, new: str, file: str = "brief.yaml") -> None:
    text = (folder / file).read_text()
    assert old in text
    (folder / file).write_text(text.replace(old, new, 1))


@pytest.mark.parametrize("brief", sorted(path.name for path in BRIEFS.iterdir()))
def test_each_brief_that_comes_along_is_sound(brief: str) -> None:
    assert check_folder(BRIEFS / brief) == ()


def test_twenty_of_them_come_along_and_one_can_be_named_by_its_number() -> None:
    assert len(load_briefs(BRIEFS)) == 20
    assert [brief.id for brief in load_briefs(BRIEFS, ["003", ID])] == [ID, "003-notification-lag"]
    with pytest.raises(ConfigurationError, match="There is no brief '021'"):
        load_briefs(BRIEFS, ["021"])


def test_its_documents_are_numbered_by_name_and_decision_records_are_known_as_such(folder: Path) -> None:
    assert [(piece.id, piece.path, piece.kind) for piece in load_brief(folder).documents] == [
        ("E1", "docs/adr-0007-stateful-clusters.md", "adr"),
        ("E2", "docs/capacity-review-autumn.md", "file"),
        ("E3", "docs/customs-contract-extract.md", "file"),
        ("E4", "docs/mail-thread-scan-events.md", "file"),
    ]


def test_a_planted_place_leads_to_its_lines(folder: Path) -> None:
    documents = load_brief(folder).documents
    place = Planted.at("docs/capacity-review-autumn.md:19-21", documents)
    assert (place.document, place.first, place.last) == ("E2", 19, 21)
    assert place.lines(documents) == documents[1].lines[18:21]


@pytest.mark.parametrize(
    ("old", "new", "key", "says"),
    [
        ("difficulty: 1", "difficulty: 4", "difficulty", "must be at most 3"),
        ("difficulty: 1", "difficulty: 1\nanswer: B", "answer", "unknown key"),
        ("hidden: false", "hidden: no", "constraints[0].hidden", "must be true or false"),
        ("verdict: sound_with", "verdict: fine", "options[1].verdict", "must be 'sound', 'sound_with' or 'violates'"),
        ("verdict: sound_with, because: [C4]", "verdict: sound_with", "options[1].verdict", "needs a because"),
        ("verdict: sound_with, because", "verdict: sound, because", "options[1].verdict", "needs no because"),
        ("because: [C4]", "because: [C9]", "options[1].because[0]", "there is no constraint C9"),
        ("id: B,", "id: A,", "options[1].id", "A stands here twice"),
        ("id: B,", "id: Other,", "options[1].id", "stands for none of the options"),
        ("contradicted_by: C", "contradicted_by: E", "conflicts[0].contradicted_by", "there is no option E"),
        (f"id: {ID}", "id: 002-parcel", "id", f"the folder's name is {ID}"),
        ("verdict: sound_with", "verdict: violates", "options", "none of them is sound"),
        ('mentioned_by: ["72 hours"', 'mentioned_by: [] # ["72 hours"', "constraints[3].mentioned_by", "at least 1"),
    ],
)
def test_what_the_file_says_wrongly_is_named_with_its_key(
    old: str, new: str, key: str, says: str, folder: Path
) -> None:
    spoil(folder, old, new)
    with pytest.raises(ConfigurationError) as caught:
        load_brief(folder)
    assert (caught.value.source, caught.value.key) == (str(folder / "brief.yaml"), key)
    assert says in caught.value.message


@pytest.mark.parametrize(
    ("old", "new", "key", "says"),
    [
        ("extract.md:24", "extract.md:240", "constraints[0].where", "is outside the document"),
        ("extract.md:24", "extract.md", "constraints[0].where", "is no place"),
        ("extract.md:24", "extracts.md:24", "constraints[0].where", "there is no docs/customs-contract-extracts.md"),
        ("autumn.md:25", "autumn.md:2", "constraints[3].where", "is blank"),
        ("autumn.md:25", "autumn.md:25 # decisive together with docs/capacity-review-autumn.md:400",
         "constraints[3].where, its second place", "is outside the document"),
        ("autumn.md:19-21", "autumn.md:31", "false_claims[0].refuted_by", "shares no word with"),
        ("clusters.md, line: 17", "clusters.md, line: 1700", "conflicts[0].line", "is outside the document"),
        ("because: [C4]", "because: [C3]", "constraints[3]", "C4 stands in no because"),
    ],
)  # fmt: skip
def test_what_does_not_stand_where_the_brief_says_is_named_with_its_key(
    old: str, new: str, key: str, says: str, folder: Path
) -> None:
    spoil(folder, old, new)
    if key == "constraints[3]":  # its words would do
        text = (folder / "brief.yaml").read_text()
        (folder / "brief.yaml").write_text(f"{text.partition('key: >-')[0]}key: The contract asks for it.\n")
    (finding, *_) = check_folder(folder)
    assert finding.is_error
    assert finding.text.startswith(f"{folder / 'brief.yaml'}: {key}: ")
    assert says in finding.text
    with pytest.raises(ConfigurationError, match="debate-hall eval check"):
        require_sound(load_brief(folder), folder)


@pytest.mark.parametrize("brief", sorted(path.name for path in BRIEFS.iterdir()))
def test_no_brief_passes_whose_documents_moved_by_a_line(brief: str, tmp_path: Path) -> None:
    shutil.copytree(BRIEFS / brief, tmp_path / brief)
    for document in (tmp_path / brief / "docs").iterdir():
        document.write_text(f"\n{document.read_text()}")
    assert any(finding.is_error for finding in check_folder(tmp_path / brief))


def test_a_record_that_was_not_accepted_conflicts_with_nothing(folder: Path) -> None:
    record = "docs/adr-0007-stateful-clusters.md"
    spoil(folder, "ccepted", "eclined", record)
    assert [finding.text.partition(": ")[2] for finding in check_folder(folder)] == [
        f"conflicts[0].adr: {record} is no accepted decision: it has no line `Status: accepted`."
    ]


def test_a_phrase_of_the_question_is_only_worth_a_look(folder: Path) -> None:
    spoil(folder, '["72 hours"', '["scan events", "72 hours"')
    (finding,) = check_folder(folder)
    assert not finding.is_error
    assert "constraints[3].mentioned_by[0]: 'scan events' stands in the question" in finding.text


def test_documents_that_are_missing_or_cannot_be_read_are_told(folder: Path) -> None:
    (folder / "docs" / "mail-thread-scan-events.md").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(ConfigurationError, match="mail-thread-scan-events"):
        load_brief(folder)
    shutil.rmtree(folder / "docs")
    with pytest.raises(ConfigurationError, match="There is no docs folder"):
        load_brief(folder)
