"""The one answer of every arm: asked about the same question and documents, sent back where it chooses nothing."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from answering import Voices, answer, brief, held, is_answer, prepared

from orchestrator.evaluate.answer import Answer
from orchestrator.evaluate.asked import TRANSCRIBE, fence_of, topic_of
from orchestrator.evaluate.brief import Brief
from orchestrator.models.base import Request

pytestmark = pytest.mark.anyio

DEBATE, ALL = ("recipe:speed",), ("single", "refine", "majority", "recipe:speed")


@pytest.fixture(scope="module")
def one() -> Brief:
    return brief()


def transcribes(request: Request) -> bool:
    return TRANSCRIBE in request.messages[-1].text


async def test_every_arm_is_asked_the_same_question_about_the_same_documents(tmp_path: Path, one: Brief) -> None:
    voices = Voices()
    await held(prepared(arms=ALL), tmp_path, voices)
    asked = [request for request in voices.requests if not transcribes(request)]
    (question,) = {request.messages[1] for request in asked}
    assert {request.task.topic for request in voices.requests} == {topic_of(one)}
    assert all(line in question.text for piece in one.documents for line in piece.lines)
    assert all(f"- {option.id}: {option.name}" in question.text for option in one.options)


async def test_nobody_is_shown_what_is_planted(tmp_path: Path, one: Brief) -> None:
    voices = Voices()
    await held(prepared(arms=ALL), tmp_path, voices)
    told = "\n".join(message.text for request in voices.requests for message in request.messages)
    planted = [one.key, one.trap, *(item.statement for item in one.constraints), *(f.claim for f in one.false_claims)]
    assert [words for words in planted if words in told] == []
    assert "sound_with" not in told


async def test_who_is_asked_often_lets_the_providers_cache_serve_question_and_documents(tmp_path: Path) -> None:
    """Else a cache would make the debate cheaper, and what others may take for the same money less than it is."""
    voices = Voices()
    await held(prepared(arms=("single:wall", "majority:door")), tmp_path, voices)
    assert {(request.task.role, request.shared) for request in voices.requests} == {("Wall", 0), ("Door", 2)}
    assert len({request.messages[:2] for request in voices.requests}) == 1


async def test_the_fence_is_in_no_document_and_the_same_each_time(tmp_path: Path, one: Brief) -> None:
    assert fence_of(one) == fence_of(brief())
    assert not any(fence_of(one) in piece.text for piece in one.documents)
    assert fence_of(one) != fence_of(brief("002-settlement-feed"))


async def test_an_answer_that_chooses_none_of_the_options_is_sent_back_once_then_set_aside(tmp_path: Path) -> None:
    voices = Voices(lambda request: answer("Kafka"))
    (result,) = (await held(prepared(arms=("single",)), tmp_path, voices)).results.results
    assert len(voices.requests) == 2
    assert "there is no 'Kafka'; write A, B, C, D or other" in voices.requests[1].messages[-1].text
    assert (result.outcome, result.answer and result.answer.option) == ("aside", "Kafka")


async def test_other_is_an_answer_and_for_a_person(tmp_path: Path) -> None:
    voices = Voices(lambda request: answer("other", statement="Ask the customs office first."))
    (result,) = (await held(prepared(arms=("single",)), tmp_path, voices)).results.results
    assert (len(voices.requests), result.outcome) == (1, "aside")
    assert result.texts[0].text.startswith("Ask the customs office first.")


async def test_what_cannot_be_read_is_asked_for_again(tmp_path: Path) -> None:
    voices = Voices(lambda request: "I would take B." if len(voices.requests) == 1 else answer("b"))
    (result,) = (await held(prepared(arms=("single",)), tmp_path, voices)).results.results
    assert (result.outcome, result.spent.calls) == ("answered", 2)


async def test_who_never_answers_has_failed_and_its_cost_counts(tmp_path: Path) -> None:
    voices = Voices(lambda request: "I would take B.")
    (result,) = (await held(prepared(arms=("single",)), tmp_path, voices)).results.results
    assert (result.outcome, result.answer, result.spent.calls) == ("failed", None, 2)
    assert "There is no JSON object in the answer" in str(result.failure)
    assert result.spent.cost_usd is not None
    assert result.spent.cost_usd > 0


async def test_a_debate_is_read_by_its_door_who_sees_what_it_decided_and_none_of_the_documents(
    tmp_path: Path, one: Brief
) -> None:
    voices = Voices(lambda request: answer("C") if is_answer(request) else None)
    (result,) = (await held(prepared(arms=DEBATE), tmp_path, voices)).results.results
    (request,) = filter(transcribes, voices.requests)
    told = "\n".join(message.text for message in request.messages)
    assert request.model == "openai/gpt-4.1"
    assert "decides. and 1 more and 2 more" in told
    assert not any(line in told for piece in one.documents for line in piece.lines if len(line) > 30)
    assert (result.outcome, result.answer and result.answer.option) == ("answered", "C")
    assert result.spent.calls == len(voices.requests) == 6
    assert [text.name for text in result.texts] == ["answer", "record"]
    assert "decides. and 1 more and 2 more" in result.texts[1].text


async def test_objections_that_stand_are_kept_beside_the_answer(tmp_path: Path) -> None:
    wall = "VERDICT: BLOCKED\n{}\n\n## CONSTRAINTS\n- [C1] CONSTRAINT: {}"
    demand = "No scan may be lost. Reality: it is law. Violation: a loss. Instead: a log. Remediation: say how."

    def blocks(request: Request) -> str | None:
        if request.task.role == "Wall" and request.task.step == "apply":
            return wall.format(f"It quotes this: {request.task.said[-1].text}", demand)
        return None

    (result,) = (await held(prepared(arms=DEBATE), tmp_path, Voices(blocks))).results.results
    assert [words.startswith("Wall wall-agent: No scan may be lost") for words in result.dissent] == [True]
    assert "No scan may be lost" in result.texts[1].text


def test_the_text_of_an_answer_holds_all_that_it_says() -> None:
    said = json.loads(answer("B", constraints=({"constraint": "Seven days.", "how": "The log keeps them."},)))
    assert Answer.model_validate(said).text.splitlines() == [
        "We take B.",
        "- The contract asks for it.",
        "- Seven days. The log keeps them.",
        "[E1:1]",
    ]
