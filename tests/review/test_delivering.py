"""Results on their way: files, a command, and a webhook whose receiver on loopback fails in every way."""

from __future__ import annotations

import errno
import json
import os
import stat
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import anyio
import pytest
from hypothesis import given
from hypothesis import strategies as st
from offices import MONDAY, Speaker, office_of, repository, reviews_of
from receiver import DROPS, HANGS, SECRET, Receiver, receiving
from test_running import PowerCut, Unplugged, held

from building import hall_at
from hall.halls import HastyStore
from orchestrator.errors import UsageError
from orchestrator.exits import Exit
from orchestrator.hall.folder import prepare
from orchestrator.hall.hall import Hall
from orchestrator.models import cli_process
from orchestrator.review import receiving_command, webhook
from orchestrator.review.deliveries import KeptDeliveries, State
from orchestrator.review.delivering import Pace, deliver
from orchestrator.review.office import Ended, Office
from orchestrator.review.result import exit_code_of
from orchestrator.review.results import Results, Webhook
from orchestrator.review.reviews_file import load_reviews
from orchestrator.review.running import hold_review
from orchestrator.review.times import Taken, take_by_hand

pytestmark = pytest.mark.anyio

TOPIC = "topic: Is billing still right?"
AT_ONCE = Pace(attempts=4, first_s=0.001, longest_s=0.002)
DEADLINE_S = 30


@pytest.fixture(autouse=True)
def _a_secret(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOOK_SECRET", SECRET)


class Place:
    """A review that was debated, whose result is yet to be delivered."""

    def __init__(self, hall: Hall, office: Office, taken: Taken, ended: Ended) -> None:
        self.hall, self.office, self.taken, self.ended = hall, office, taken, ended
        self.folder = office.file.folder

    async def deliver(self, **results: Any) -> Ended:
        review = self.office.file.reviews[0].model_copy(update={"results": Results(**results)})
        with anyio.fail_after(DEADLINE_S):
            return await deliver(self.office, review, self.taken, self.ended, AT_ONCE)

    def state(self, target: str) -> State | None:
        return KeptDeliveries(self.office.desk).state(self.taken.result, target)


@pytest.fixture
async def place(tmp_path: Path) -> AsyncIterator[Place]:
    repo = repository(tmp_path / "repo")
    with hall_at(tmp_path / "state") as hall:
        office = office_of(hall, reviews_of(repo, TOPIC), Speaker())
        taken = take_by_hand(office.desk, office.file.reviews[0], office.file.path, office.now())
        assert isinstance(taken, Taken)
        ended = await hold_review(office, office.file.reviews[0], taken)
        yield Place(hall, office, taken, ended)


def hook(receiver: Receiver) -> Webhook:
    return Webhook(url=receiver.url, secret_env="HOOK_SECRET")


# ------------------------------------------------------------------------------------------------------------ webhook


async def test_a_receiver_gets_the_result_signed_and_only_once(place: Place) -> None:
    with receiving() as receiver:
        ended = await place.deliver(webhook=hook(receiver))
        assert ended == await place.deliver(webhook=hook(receiver)) == place.ended
        assert place.state("webhook") is State.SENT
    ((headers, body),) = receiver.got
    assert receiver.all_are_signed()
    assert not receiver.all_are_signed("another secret")
    assert headers["content-type"] == "application/json"
    assert headers["x-debate-hall-timestamp"] == str(int(MONDAY.timestamp()))
    told = json.loads(body)
    assert (told["schema"], told["review"], told["number"]) == ("run-debate/review/v1", "weekly", 1)
    assert told["result"]["decision"] == place.ended.debated.run.debate.closing.words  # type: ignore[union-attr]


async def test_what_was_changed_on_the_way_does_not_verify(place: Place) -> None:
    with receiving() as receiver:
        await place.deliver(webhook=hook(receiver))
    ((headers, body),) = receiver.got
    for changed in ((headers, body + b" "), ({**headers, "x-debate-hall-timestamp": "1"}, body)):
        receiver.got = [changed]
        assert not receiver.all_are_signed()


@pytest.mark.parametrize("failure", [500, 503, 429, 408])
async def test_a_receiver_that_fails_is_tried_again_with_the_same_key(place: Place, failure: int) -> None:
    with receiving(failure, failure, 200) as receiver:
        ended = await place.deliver(webhook=hook(receiver))
    assert ended.problems == ()
    assert place.state("webhook") is State.SENT
    assert len(receiver.got) == 3
    assert len(receiver.keys) == 1
    assert len({body for _, body in receiver.got}) == 1
    assert receiver.all_are_signed()


async def test_a_receiver_that_fails_to_the_end_is_told_of_and_may_be_tried_by_whoever_goes_on(place: Place) -> None:
    with receiving(503) as receiver:
        ended = await place.deliver(webhook=hook(receiver))
        host = receiver.url.split("/")[2]
        assert ended.problems == (
            f"The result was not delivered to the webhook: {host} answered 503, after 4 attempts.",
        )
        assert exit_code_of(ended) is Exit.FAILED
        assert place.state("webhook") is State.FAILED
        receiver.answers = [200]
        assert (await place.deliver(webhook=hook(receiver))).problems == ()
    assert len(receiver.got) == 5
    assert len(receiver.keys) == 1


@pytest.mark.parametrize("refusal", [400, 401, 404, 301, 307])
async def test_a_refusal_is_final_and_no_redirect_is_followed(place: Place, refusal: int) -> None:
    with receiving(refusal) as receiver:
        (problem,) = (await place.deliver(webhook=hook(receiver))).problems
    assert problem.endswith(f"answered {refusal}.")
    assert "token" not in problem
    assert len(receiver.got) == 1


async def test_a_receiver_that_is_not_there_is_tried_again(place: Place) -> None:
    with receiving() as receiver:
        pass
    (problem,) = (await place.deliver(webhook=hook(receiver))).problems
    assert "cannot be reached" in problem
    assert problem.endswith(", after 4 attempts.")
    assert place.state("webhook") is State.FAILED


@pytest.mark.parametrize("answer", [DROPS, HANGS])
async def test_where_it_is_not_known_whether_it_arrived_it_is_not_sent_again(
    place: Place, monkeypatch: pytest.MonkeyPatch, answer: int
) -> None:
    monkeypatch.setattr(webhook, "ANSWER_S", 0.2)
    with receiving(answer, 200) as receiver:
        (problem,) = (await place.deliver(webhook=hook(receiver))).problems
        assert problem.startswith("It is not known whether the result reached the webhook: ")
        (again,) = (await place.deliver(webhook=hook(receiver))).problems
        assert again.endswith("It is not sent again.")
    assert len(receiver.got) == 1
    assert place.state("webhook") is State.UNCERTAIN


async def test_a_webhook_whose_secret_is_missing_is_refused_before_the_debate(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("HOOK_SECRET")
    repo, speaker = repository(tmp_path / "repo"), Speaker()
    hooked = "results: {webhook: {url: 'http://127.0.0.1:9/', secret_env: HOOK_SECRET}}"
    with hall_at(tmp_path / "state") as hall:
        with pytest.raises(UsageError, match="HOOK_SECRET is not set"):
            await held(office_of(hall, reviews_of(repo, TOPIC, hooked), speaker))
        assert [row.notes.outcome for row in hall.reviews.rows()] == ["failed"]
        assert speaker.asked == []


@pytest.mark.parametrize(
    ("name", "value", "why"),
    [
        ("ALL_PROXY", "socks5://127.0.0.1:9", "SOCKS proxy"),
        ("HTTP_PROXY", "gopher://127.0.0.1:9", "Unknown scheme for proxy URL"),
        ("SSL_CERT_FILE", "/nowhere/to/be/found.pem", os.strerror(errno.ENOENT)),
    ],
)
async def test_what_the_environment_does_not_let_be_sent_is_not_delivered_and_may_be_tried_later(
    place: Place, monkeypatch: pytest.MonkeyPatch, name: str, value: str, why: str
) -> None:
    with receiving() as receiver:
        with monkeypatch.context() as environment:
            environment.setenv(name, value)
            (problem,) = (await place.deliver(webhook=hook(receiver))).problems
        assert problem.startswith("The result was not delivered to the webhook: nothing can be posted to 127.0.0.1:")
        assert why in problem
        assert place.state("webhook") is State.FAILED
        assert (await place.deliver(webhook=hook(receiver))).problems == ()
    assert len(receiver.got) == 1


async def test_an_error_of_whatever_kind_while_it_is_sent_leaves_it_uncertain(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:99999")  # a port that fails only where it is connected to
    with receiving() as receiver:
        (problem,) = (await place.deliver(webhook=hook(receiver))).problems
    assert problem.startswith("It is not known whether the result reached the webhook: ")
    assert place.state("webhook") is State.UNCERTAIN


async def test_a_secret_that_is_no_text_is_refused_and_not_told(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOOK_SECRET", os.fsdecode(b"hush\xff"))
    with receiving() as receiver:
        with pytest.raises(UsageError, match=r"HOOK_SECRET, .* is not UTF-8 text"):
            Results(webhook=hook(receiver)).require_deliverable(os.environ)
        (problem,) = (await place.deliver(webhook=hook(receiver))).problems
    assert "is not UTF-8 text" in problem
    assert "hush" not in problem
    assert "\udcff" not in problem
    assert receiver.got == []


async def test_a_secret_that_is_gone_since_costs_no_decision(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("HOOK_SECRET")
    with receiving() as receiver:
        (problem,) = (await place.deliver(webhook=hook(receiver))).problems
    assert "HOOK_SECRET is not set" in problem
    assert receiver.got == []


@contextmanager
def the_power_going() -> Iterator[None]:
    """What goes with the power is raised alone or, where tasks ran, in a group."""
    with pytest.raises((PowerCut, BaseExceptionGroup)) as caught:
        yield
    assert isinstance(caught.value, PowerCut) or caught.value.subgroup(PowerCut)


@pytest.mark.parametrize(
    ("writes", "arrives", "got", "uncertain"),
    [(1, False, 1, False), (1, True, 0, True), (2, False, 1, True), (2, True, 1, False)],
)
async def test_whenever_the_power_goes_a_receiver_gets_a_result_once_at_most(
    place: Place, tmp_path: Path, writes: int, arrives: bool, got: int, uncertain: bool
) -> None:
    with receiving() as receiver:
        store = Unplugged(prepare(tmp_path / "state"), writes, arrives=arrives)
        store.writes = writes
        with Hall(store, clock=lambda: MONDAY) as hall, the_power_going():
            place.office = replace(place.office, hall=hall)
            await place.deliver(webhook=hook(receiver))
        with Hall(HastyStore(prepare(tmp_path / "state"))) as hall:
            place.office = replace(place.office, hall=hall)
            ended = await place.deliver(webhook=hook(receiver))
            assert await place.deliver(webhook=hook(receiver)) == ended
    assert len(receiver.got) == got
    assert [problem.endswith("It is not sent again.") for problem in ended.problems] == [True] * uncertain


async def test_who_is_stopped_while_a_receiver_is_waited_for_leaves_it_uncertain(place: Place) -> None:
    with receiving(HANGS) as receiver:
        with anyio.fail_after(DEADLINE_S):
            async with anyio.create_task_group() as group:
                group.start_soon(lambda: place.deliver(webhook=hook(receiver)))
                while not receiver.got:  # noqa: ASYNC110 - the receiver is a thread
                    await anyio.sleep(0.01)
                group.cancel_scope.cancel()
        assert place.state("webhook") is State.INTENDED
        receiver.answers = [200]
        (problem,) = (await place.deliver(webhook=hook(receiver))).problems
    assert "it was sent before, and nobody noted that it arrived" in problem
    assert len(receiver.got) == 1


STEPS = st.lists(st.one_of(st.none(), st.sampled_from([State.SENT, State.FAILED, State.UNCERTAIN])), max_size=12)


@given(STEPS)
def test_a_result_is_begun_again_only_after_it_is_known_not_to_have_arrived(steps: list[State | None]) -> None:
    """Processes begin (None), end what they began, or are gone before they do, in any order."""
    with TemporaryDirectory() as folder, Hall(HastyStore(prepare(Path(folder))), clock=lambda: MONDAY) as hall:
        deliveries, under_way, may_begin = KeptDeliveries(hall.reviews), False, True
        for step in steps:
            if step is None:
                begun = deliveries.begin("weekly/1", "webhook")
                assert begun == (may_begin and not under_way)
                may_begin = may_begin and not under_way  # whoever was at it is gone: nobody knows
                under_way = begun
            elif under_way:
                deliveries.end("weekly/1", "webhook", step)
                may_begin, under_way = step is State.FAILED, False


# --------------------------------------------------------------------------------------------------- files, a command


async def test_the_files_of_a_run_stand_in_a_folder_of_their_own(place: Place) -> None:
    ended = await place.deliver(folder="out/reviews")
    assert ended.debated is not None
    folder = place.folder / "out" / "reviews" / ended.debated.run.debate.state.thread_id
    names = {"decision.md", "debate.json", "report.html", "transcript.oct.md", "plan.yaml"}
    assert {file.name for file in folder.iterdir()} == names
    assert {file.name for file in ended.debated.files} == names
    assert (await place.deliver(folder="out/reviews")).problems == ()


async def test_a_folder_that_cannot_be_written_is_told_of(place: Place) -> None:
    (place.folder / "out").write_text("a file")
    ended = await place.deliver(folder="out")
    assert len(ended.problems) == 1
    assert exit_code_of(ended) is Exit.FAILED


def program(place: Place, *lines: str) -> str:
    path = place.folder / "tell.sh"
    path.write_text("\n".join(["#!/bin/sh", *lines]) + "\n")
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return "./tell.sh"


async def test_a_command_gets_the_result_and_the_folder_of_its_files_once(place: Place) -> None:
    tell = program(place, 'cat > result.json; ls "$DEBATE_HALL_FILES" > "$1"; echo once >> times')
    for _ in range(2):
        assert (await place.deliver(command=(tell, "a name; with marks"))).problems == ()
    assert json.loads((place.folder / "result.json").read_text())["result"]["decision"]
    assert "decision.md" in (place.folder / "a name; with marks").read_text()
    assert (place.folder / "times").read_text() == "once\n"
    assert place.state("command") is State.SENT


@pytest.mark.parametrize(
    ("line", "why"),
    [
        ("echo no mail today >&2; exit 3", "./tell.sh ended with exit code 3: no mail today."),
        ("kill -9 $$", "./tell.sh ended with exit code -9."),
        ("sleep 30", "./tell.sh took longer than 0.2 seconds, and was ended."),
        ("head -c 2000 /dev/zero", "./tell.sh printed too much, and was ended."),
    ],
)
async def test_a_command_that_fails_after_it_may_have_acted_is_told_of_and_not_run_again(
    place: Place, monkeypatch: pytest.MonkeyPatch, line: str, why: str
) -> None:
    if line.startswith("sleep"):
        monkeypatch.setattr(receiving_command, "SECONDS", 0.2)
    monkeypatch.setattr(cli_process, "MOST_OUTPUT", 1000)
    tell = program(place, "echo once >> times", line)
    ended = await place.deliver(command=(tell,))
    assert ended.problems == (f"It is not known whether the result reached the command: {why} It is not sent again.",)
    assert exit_code_of(ended) is Exit.FAILED
    (again,) = (await place.deliver(command=(tell,))).problems  # as where the process dies before the end is noted
    assert again.endswith("It is not sent again.")
    assert (place.folder / "times").read_text() == "once\n"
    assert place.state("command") is State.UNCERTAIN


async def test_a_command_that_could_not_be_started_may_be_tried_again(place: Place) -> None:
    (problem,) = (await place.deliver(command=("./tell.sh",))).problems
    assert "./tell.sh cannot be started" in problem
    assert place.state("command") is State.FAILED
    program(place, "echo once >> times")
    assert (await place.deliver(command=("./tell.sh",))).problems == ()
    assert (place.folder / "times").read_text() == "once\n"


async def test_a_program_that_is_not_there_keeps_no_other_receiver_from_its_result(place: Place) -> None:
    with receiving() as receiver:
        ended = await place.deliver(command=("./gone.sh",), webhook=hook(receiver))
    assert ended.problems == (
        f"The result was not delivered to the command: ./gone.sh cannot be started: {os.strerror(2)}.",
    )
    assert len(receiver.got) == 1


async def test_a_review_delivers_what_its_file_says_and_where_nothing_was_debated_nothing(tmp_path: Path) -> None:
    repo = repository(tmp_path / "repo")
    with receiving() as receiver, hall_at(tmp_path / "state") as hall:
        results = f"results: {{folder: out, webhook: {{url: '{receiver.url}', secret_env: HOOK_SECRET}}}}"
        file = reviews_of(repo, TOPIC, "context: docs", "when: changed", results)
        first = await held(office_of(hall, file, Speaker()))
        assert first.outcome == "decided"
        second = await held(office_of(hall, file, Speaker()))
        assert second.outcome == "unchanged"
    (told,) = receiver.results
    assert told["result"]["files"] == [str(file) for file in first.debated.files]  # type: ignore[union-attr]
    assert len(list((repo / "out").iterdir())) == 1


# ------------------------------------------------------------------------------------------------------------ the file


@pytest.mark.parametrize(
    ("results", "told"),
    [
        ("{webhook: {url: 'ftp://a/b', secret_env: S}}", "must be an http or https address"),
        ("{webhook: {url: 'https://a:b@c/', secret_env: S}}", "holds a name or password"),
        ("{webhook: {url: 'https://a:99999/', secret_env: S}}", "must be an http or https address"),
        ("{webhook: {url: 'https://a:0/', secret_env: S}}", "must be an http or https address"),
        ("{webhook: {url: 'https://xn--/', secret_env: S}}", "must be an http or https address"),
        ("{webhook: {url: 'https://ex_ämple/', secret_env: S}}", "must be an http or https address"),
        ("{webhook: {url: 'https://a/'}}", "secret_env"),
        ("{webhook: {url: 'https://a/', secret_env: 'two words'}}", "secret_env"),
        ("{folders: out}", "folders"),
        ("{command: tell.sh}", "command"),
    ],
)
def test_what_cannot_be_delivered_to_is_refused_with_line_and_key(tmp_path: Path, results: str, told: str) -> None:
    file = reviews_of(repository(tmp_path / "repo"), TOPIC, f"results: {results}")
    with pytest.raises(UsageError, match=r"reviews\.yaml") as caught:
        load_reviews(file)
    assert told in str(caught.value)
    assert ":8" in str(caught.value) or "line 8" in str(caught.value)
