"""Replies that are no turn, and the near ones that are."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from building import BUNDLED
from orchestrator.agent import Agent, list_agents
from orchestrator.degenerate import ECHO_WORDS, LEAST_WORDS, LONG_WORDS, degenerate, word_count
from orchestrator.hall.terms import Role
from orchestrator.prompt import PROTOCOL

MARKER = "debate-5f0c2a"
TURN = (
    "What if the ledger itself were the queue? Option 1 keeps PostgreSQL and polls a table every two seconds, which "
    "costs one index and no new service. Option 2 moves only the billing events to Kafka and leaves reads where they "
    "are. Option 3 drops the nightly batch, since nobody has asked for its report since March. Which of the three "
    "breaks first at ten times the load, and who would be called at night when it does?"
)

REFUSALS = [
    "I'm sorry, but I can't help with that.",
    "I’m sorry, but I can’t assist with that request.",
    "I'm sorry. I can't help with that.",
    "I am very sorry, but I cannot fulfill this request.",
    "Sorry, I can't do that.",
    "I cannot help with this request.",
    "I can't assist with that.",
    "I can't help you with this topic.",
    "I won't be able to help with that.",
    "I'm unable to assist with this request.",
    "I am not able to participate in this debate.",
    "I won't participate in this role-play.",
    "I can't engage with this topic.",
    "I cannot provide content that could be used to harm others.",
    "I can't provide that information.",
    "I cannot create content of this kind, and I can't continue with this conversation.",
    "I must decline this request.",
    "I have to respectfully decline to participate in this exercise.",
    "I'm not comfortable discussing this topic.",
    "I don't feel comfortable taking on this role.",
    "Unfortunately, I can't help with this.",
    "I understand that this is an exercise, but I cannot take part in this debate.",
    "Thank you for your question, but I'm not able to answer that question.",
    "I appreciate the structure of this debate, but I can't take on this role.",
    "As an AI language model, I don't have personal opinions on technology choices.",
    "As an AI, I cannot take sides.",
    "As an AI language model I’m unable to hold a position.",
    "I can't comply with the request.",
    "I'm an AI assistant created by Example, and I can't argue for a position.",
    "I'm sorry, but as an AI language model I cannot do that.",
    "**Wall (ETHOS)**\n\nI'm sorry, but I can't help with that.",
    "# My turn\n\nI cannot assist with this request.",
    "Es tut mir leid, aber ich kann Ihnen dabei nicht helfen.",
    "Tut mir leid, dabei kann ich nicht weiterhelfen.",
    "Ich kann diese Anfrage leider nicht beantworten.",
    "Leider kann ich an dieser Debatte nicht teilnehmen.",
    "Ich bin nicht in der Lage, Ihnen bei dieser Aufgabe zu helfen.",
    "Als KI-Sprachmodell habe ich keine persönlichen Meinungen.",
    "Als Sprachmodell kann ich dazu nicht Stellung nehmen.",
    "Je suis désolé, mais je ne peux pas vous aider.",
    "Désolée, je ne peux pas répondre à cette demande.",
    "Je ne suis pas en mesure de participer à ce débat.",
    "Malheureusement, je ne peux malheureusement pas traiter votre demande.",
    "En tant qu’intelligence artificielle, je ne peux pas prendre position.",
    "En tant que modèle de langage, je n’ai pas d’opinion.",
    "Lo siento, pero no puedo ayudarte con eso.",
    "Lo siento, no puedo ayudar.",
    "No puedo participar en este debate.",
    "Lamentablemente, no puedo responder a esa pregunta.",
    "Como modelo de lenguaje, no tengo opiniones personales.",
    "抱歉，我无法协助您完成这个请求。",
    "很抱歉，我不能帮助您。",
    "我无法回答这个问题。",
    "对不起，但我不能参与这场辩论。",
    "作为一个人工智能语言模型，我没有个人观点。",
    "抱歉，我無法提供這方面的協助。",
    "申し訳ありませんが、お手伝いできません。",
    "申し訳ございませんが、そのご質問にはお答えできません。",
    "申し訳ありません。そのリクエストには対応できません。",
    "すみませんが、この議論には参加できません。",
    "AIとして、個人的な意見を述べることはできません。",
]

ARGUMENTS = [
    "I cannot recommend Kafka for a team of four.",
    "I can't agree with Wind: the ledger is no queue.",
    "I'm sorry to say it, but the second option fails on cost.",
    "I'm afraid the plan does not survive the first audit.",
    "I cannot help but notice that nobody owns the broker.",
    "I cannot help noticing that nobody owns the broker.",
    "I cannot see how Kafka would help with this.",
    "I cannot answer that question without the numbers of last quarter.",
    "I can't help with the sizing until the load is measured.",
    "I cannot support this proposal as it stands.",
    "I cannot approve the migration.",
    "I won't accept a plan that has no way back.",
    "I cannot provide an approval here: the evidence is thin.",
    "I must decline Option 2: it has two sources of truth.",
    "I refuse to call this reversible.",
    "I don't have the figures, so the cost is an assumption.",
    "I am not convinced that the queue is needed.",
    "I'm not comfortable with a single writer in one region.",
    "We cannot help every team at once.",
    "We cannot fulfill this request within the budget.",
    "We can't do this.",
    "The service cannot answer this request in 200 ms.",
    "Sorry is what the on-call engineer will say at three in the morning.",
    "Unfortunately, the vendor cannot help with this.",
    "Thank you, Wind, for three options that differ in kind.",
    "As an AI system grows, I expect its costs to follow.",
    "As an AI company, we cannot log prompts in plain text.",
    "As an AI assistant, the product must not keep prompts.",
    "I cannot provide the information that Wind asks for: nobody has measured it.",
    "I will not discuss the role of Kafka again: T3 settled it.",
    "I won't do this: it has no rollback.",
    "As an architect, I cannot sign a plan with no owner.",
    "> I'm sorry, but I can't help with that.\n\nThat is what our bot answers to one request in nine.",
    '"I can\'t help with that" is what our bot answers to one request in nine.',
    "BLOCKED. I cannot find a rollback in this plan.",
    "Ich kann Kafka für ein Team von vier nicht empfehlen.",
    "Ich kann nicht erkennen, wie Kafka hier helfen soll.",
    "Ich kann diesen Vorschlag nicht unterstützen.",
    "Leider kann ich den Zahlen nicht folgen.",
    "Wir können dabei nicht helfen, solange niemand die Zahlen kennt.",
    "Als KI-Anbieter können wir das nicht zusagen.",
    "Es tut mir leid um die zweite Option, doch sie ist zu teuer.",
    "Je ne peux pas recommander Kafka ici.",
    "Je ne peux pas approuver ce plan.",
    "Nous ne pouvons pas aider toutes les équipes.",
    "Je ne peux pas répondre à cette question sans chiffres.",
    "Je suis désolé pour l'option 2, mais elle coûte trop.",
    "No puedo recomendar Kafka para este equipo.",
    "No podemos ayudar a todos los equipos.",
    "Lo siento por la opción 2, pero cuesta demasiado.",
    "No puedo aprobar este plan.",
    "Como IA, el producto no puede guardar los datos.",
    "我无法推荐Kafka。",
    "我们无法满足这个要求。",
    "我不能同意Wind的说法。",
    "我无法看出Kafka能帮助谁。",
    "作为AI平台，我们不能保存用户的提示。",
    "Kafkaは推奨できません。",
    "この計画は承認できません。",
    "この規模では障害に対応できません。",
    "申し訳ない気持ちはあるが、二つ目の案は高すぎる。",
]


def said_of(text: str, role: Role = Role.WALL) -> str | None:
    return degenerate(text, role, instructions=[PROTOCOL], marker=MARKER)


@pytest.mark.parametrize("role", Role)
def test_a_turn_is_left_alone(role: Role) -> None:
    assert said_of(TURN, role) is None


# ---------------------------------------------------------------- too short


@pytest.mark.parametrize(("role", "least"), [(Role.WIND, 40), (Role.WALL, 40), (Role.DOOR, 60)])
def test_one_word_less_than_the_least_is_too_short(role: Role, least: int) -> None:
    assert LEAST_WORDS[role] == least
    words = [f"word{number}" for number in range(least)]
    assert said_of(" ".join(words), role) is None
    assert said_of(" ".join(words[1:]), role) == (
        f"Your answer is too short for a turn of {role}: it has {least - 1} words and needs at least {least}."
    )


@pytest.mark.parametrize("text", ["", " \n\t ", "…!", "🙂" * 100, "- \n" * 200])
def test_a_text_without_words_is_too_short(text: str) -> None:
    assert "it has 0 words" in (said_of(text) or "")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("It's *one* writer-less, [E1:12-18].", 8),
        ("把账本当作队列", 3),
        ("その台帳をキューにする", 5),  # 9 of Hiragana and Han, and a loan word
        ("원장을 큐로 쓰고", 3),
        ("Zwo\u0308lf Bu\u0308cher", 2),
        ("अगर हम खाता", 3),
    ],
)
def test_two_characters_of_a_script_without_spaces_are_one_word(text: str, words: int) -> None:
    assert word_count(text) == words


def test_eighty_chinese_characters_are_a_turn_and_seventy_nine_are_not() -> None:
    text = "".join(chr(0x4E00 + number) for number in range(80))
    assert said_of(text) is None
    assert said_of(text[1:]) is not None


# ---------------------------------------------------------------- refusals


def test_a_refusal_is_one_alone_and_with_its_usual_company() -> None:
    company = (
        "If you like, I can explain in general terms how queues and ledgers differ, list what is usually weighed when "
        "teams choose between them, or help with another question about your architecture. Tell me which of these "
        "would be of use, and I am happy to go on from there with whatever details are at hand."
    )
    assert max(word_count(f"{text} {company}") for text in REFUSALS) < LONG_WORDS
    assert [text for text in REFUSALS if "declines" not in (said_of(text) or "")] == []
    assert [text for text in REFUSALS if "declines" not in (said_of(f"{text} {company}") or "")] == []


def test_an_argument_that_says_no_is_no_refusal() -> None:
    assert [text for text in ARGUMENTS if said_of(f"{text} {TURN}", Role.DOOR)] == []
    assert [text for text in ARGUMENTS if "too short" not in (said_of(text) or "")] == []


def test_a_long_turn_that_opens_with_a_refusal_is_a_turn() -> None:
    text = f"I can't help with that kind of certainty. {TURN} {TURN.replace('Kafka', 'Pulsar')}"
    assert word_count(text) >= LONG_WORDS
    assert said_of(text) is None


def test_a_long_text_of_nothing_but_refusals_is_a_refusal() -> None:
    text = "I'm sorry, but I can't help with that. " * 40
    assert word_count(text) >= LONG_WORDS
    assert "declines" in (said_of(text) or "")


def test_a_refusal_at_the_end_of_a_turn_is_left_alone() -> None:
    assert said_of(f"{TURN} I can't help with that.") is None


# ---------------------------------------------------------------- the prompt back again


def test_a_reply_that_holds_the_marker_repeats_the_prompt() -> None:
    assert "marker" in (said_of(f"{TURN}\n>>> {MARKER}") or "")


def test_a_run_of_the_instructions_is_an_echo() -> None:
    run = " ".join(PROTOCOL.split()[20 : 20 + ECHO_WORDS + 5])
    told = said_of(f"{TURN} {run.upper()}")
    assert told is not None
    assert told.startswith("Your answer repeats what you were told to do: “")


def test_fewer_words_of_the_instructions_are_none() -> None:
    run = " ".join(PROTOCOL.split()[20:40])
    assert said_of(f"{TURN} {run}") is None


def test_instructions_shorter_than_a_run_are_no_echo() -> None:
    assert (
        degenerate(TURN, Role.WIND, instructions=["What if the ledger itself were the queue?", ""], marker="m!") is None
    )


@pytest.mark.parametrize("agent", list_agents([BUNDLED / "agents"]), ids=lambda agent: agent.name)
def test_what_an_agent_is_told_may_not_come_back_but_its_questions_may(agent: Agent) -> None:
    """A turn may well put each question as a heading over its answer."""
    told = [PROTOCOL, agent.text]
    assert "repeats what you were told" in (degenerate(agent.text, agent.role, instructions=told, marker=MARKER) or "")
    answers = "\n\n".join(f"## {question}\n{TURN}" for question in agent.questions)
    assert degenerate(f"{answers}\n{TURN}", agent.role, instructions=told, marker=MARKER) is None


# ---------------------------------------------------------------- any text


@given(st.text(max_size=400), st.sampled_from(Role))
def test_any_text_is_judged(text: str, role: Role) -> None:
    told = said_of(text, role)
    assert told is None or (told.endswith((".", "”")) and "\n" not in told)


@pytest.mark.slow
@pytest.mark.parametrize("unit", ["I can't help with that. ", "I'm sorry " * 9, "\n", "a ", "我无法", "e\u0301 "])
def test_the_longest_texts_are_judged_in_one_reading(unit: str) -> None:
    """What is quadratic would take minutes here."""
    said_of("I'm sorry, but I can't help with that. " + unit * (262_144 // len(unit.encode())))
