"""The page of an answer says whose question it answers, and checks that too."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import anyio
import pytest

from browser.pages import Written, written
from browser.reader import apart, reading
from building import NO_WAITS, THREAD, evidence_of, hall_at, hold, plan_of, voices
from orchestrator.decision.record import record_of
from orchestrator.drafting import Drafting
from orchestrator.hall.debate import Debate
from orchestrator.inquiry import AnswerWanted, answer, prepare
from orchestrator.models.scripted import Scripted

if TYPE_CHECKING:
    from playwright.sync_api import Browser

pytestmark = pytest.mark.slow


def answered(folder: Path) -> Debate:
    model = Scripted(['Door decided so in [T3], as the notes say "second line" [E1:2].'])

    async def ask() -> Debate:
        with anyio.fail_after(20), hall_at(folder) as hall:
            await hold(hall, plan_of(evidence=[evidence_of()]), voices())
            inquiry = prepare(hall, hall.debate(THREAD), AnswerWanted("Why not Postgres?"), {})
            run = await answer(hall, inquiry, Drafting(lambda route: model, lambda event: None, NO_WAITS))
            return run.debate

    return anyio.run(ask)


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Written:
    folder = tmp_path_factory.mktemp("answer")
    debate = apart(answered, folder / "state")
    return written(folder, debate, record_of(debate))


def test_the_page_of_an_answer_is_verified_and_calls_it_one(browser: Browser, page: Written) -> None:
    link = page.debate.answers
    assert link is not None
    with reading(browser, page.file) as read:
        assert read.checked() == "verified"
        assert read.noise == []
        (kind,) = read.words(".kind")
        assert kind == f"Answer {page.debate.state.thread_id}, about {THREAD} at {link.head}"
        assert read.words(".mark strong")[0] == "ANSWER"
        assert read.words("#decision-title") == ["Answer"]


def test_a_page_that_names_another_debate_is_broken(browser: Browser, page: Written, tmp_path: Path) -> None:
    shown = page.file.read_text()
    forged = tmp_path / "forged.html"
    forged.write_text(shown.replace(f'link.thread_id">{THREAD}<', 'link.thread_id">2026-01-06-another<'))
    assert forged.read_text() != shown
    with reading(browser, forged) as read:
        assert read.checked() == "broken"
