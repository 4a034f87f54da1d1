from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchestrator.cli.plain import json_text, tell
from orchestrator.wording import visible


@given(st.text())
def test_json_is_as_harmless_and_says_the_same(text: str) -> None:
    written = json_text({"content": text})
    assert json.loads(written) == {"content": text}
    assert visible(written) == written
    assert written.endswith("}\n")


def test_what_people_are_told_holds_no_secret(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("SHED_PASSWORD", "the heron walks")
    tell("note: by dusk the heron walks\n\x1b[2J")
    assert capsys.readouterr() == ("", "note: by dusk [secret removed]\n␛[2J\n")
