"""The parameters of the tools, as an agent reads them: types, bounds, descriptions. First those of the hall's tools,
then those of whole debates.

Words of the protocol are plain strings here, because the hall takes them in any case; the schema names them as they are
written. Whether a value is accepted is the hall's to say; the bounds are those of its rules.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Annotated, Any, Literal

from pydantic import Field, JsonValue

from orchestrator.hall.export import FORMATS
from orchestrator.hall.hall import OUTPUT_FORMATS
from orchestrator.hall.inputs import MAX_CONTENT, MAX_COUNT, MAX_LIMIT, MAX_NAME, MAX_TOPIC
from orchestrator.hall.terms import Cognition, Mode, Role, Status
from orchestrator.usage import MOST


def _one_of(words: Iterable[str], description: str) -> Any:
    return Field(description=description, json_schema_extra={"enum": _shown(words)})


def _or_none(words: Iterable[str], description: str) -> Any:
    options: list[JsonValue] = [{"type": "string", "enum": _shown(words)}, {"type": "null"}]
    return Field(description=description, json_schema_extra={"anyOf": options})


def _shown(words: Iterable[str]) -> list[JsonValue]:
    return [str(word) for word in words]


ThreadId = Annotated[
    str,
    Field(
        description="The debate: YYYY-MM-DD-descriptor by convention, of ASCII letters, digits, '.', '_' and '-'.",
        min_length=1,
        max_length=128,
        examples=["2026-01-06-microservices-decision"],
    ),
]
Topic = Annotated[
    str,
    Field(description="The question under discussion, as a question.", min_length=1, max_length=MAX_TOPIC),
]
DebateMode = Annotated[
    str,
    _one_of(Mode, "fixed: Wind, Wall, Door, repeat. mediated: pick_next_speaker before each turn."),
]
MaxTurns = Annotated[int, Field(description="Turns of the whole debate.", ge=1, le=MAX_LIMIT)]
MaxRounds = Annotated[
    int,
    Field(description="Rounds of the whole debate; a round ends with Door.", ge=1, le=MAX_LIMIT),
]
Strict = Annotated[
    bool,
    Field(
        description="Refuse turns that do not show what their role must show (Wind options and questions, Wall a "
        "verdict and evidence, Door numbered steps and a synthesis); false only warns."
    ),
]
Barrier = Annotated[
    bool,
    Field(description="Door speaks only after Wind and Wall of its round; false lets roles be skipped, on the record."),
]
Speaker = Annotated[str, _one_of(Role, "Wind (What if…), Wall (Yes, but…) or Door (Therefore…).")]
Content = Annotated[
    str,
    Field(
        description=f"The turn's text, at most {MAX_CONTENT:,} bytes of UTF-8; it is kept byte for byte.",
        min_length=1,
        max_length=MAX_CONTENT,
    ),
]
SpokenAs = Annotated[
    str | None,
    _or_none(Cognition, "The role's own if left out: Wind PATHOS, Wall ETHOS, Door LOGOS."),
]
AgentRole = Annotated[
    str | None,
    Field(description="Who spoke, for the record: the agent's name, such as critical-engineer.", max_length=MAX_NAME),
]
ModelName = Annotated[str | None, Field(description="Which model spoke, for the record.", max_length=MAX_NAME)]
Tokens = Annotated[
    int | None,
    Field(description="Tokens as the provider counted them, for the record.", ge=0, le=MAX_COUNT),
]
ExpectedHead = Annotated[
    str | None,
    Field(
        description="The head this was written from (get_debate) or the one the last commit returned. If another "
        "writer moved it, nothing is written and the answer is stale_head: get_debate, write again, send again.",
        max_length=128,
    ),
]
WithTranscript = Annotated[bool, Field(description="With the turns; false answers with the state alone.")]
Window = Annotated[
    int | None,
    Field(description="Only the newest turns, this many; all if left out.", ge=1, le=MAX_LIMIT),
]
WindowAlias = Annotated[int | None, Field(description="The same as context_turns.", ge=1, le=MAX_LIMIT)]
WithMetadata = Annotated[bool, Field(description="With tokens, seat and cognition warnings of each turn.")]
Synthesis = Annotated[
    str,
    Field(description="Door's final text: the decision.", min_length=1, max_length=MAX_CONTENT),
]
OutputFormat = Annotated[
    str,
    _one_of(OUTPUT_FORMATS, "What the answer adds: json the transcript, octave the OCTAVE text, both adds both."),
]
Ending = Annotated[
    str,
    _one_of((Status.SYNTHESIS, Status.STALEMATE), "synthesis: a decision. stalemate: none was reached."),
]
Reason = Annotated[
    str,
    Field(description="Why; it stays on the ledger.", min_length=1, max_length=MAX_CONTENT),
]
TurnIndex = Annotated[int, Field(description="Which turn; 0 is the first.", ge=0, lt=MAX_LIMIT)]
StatusFilter = Annotated[str | None, _or_none(Status, "Only debates with this status.")]
TextFilter = Annotated[
    str | None,
    Field(description="Only debates whose id or topic holds this, in any case.", max_length=MAX_TOPIC),
]
RecipeFilter = Annotated[str | None, Field(description="Only debates that a run of this recipe opened.", max_length=64)]
Since = Annotated[
    str | None, Field(description="Only debates that moved on this day or later: 2026-01-06.", max_length=10)
]
Until = Annotated[
    str | None, Field(description="Only debates that moved last on this day or earlier: 2026-01-06.", max_length=10)
]
Most = Annotated[int | None, Field(description="Only so many; all if left out.", ge=1, le=MAX_LIMIT)]
SearchQuery = Annotated[
    str,
    Field(
        description='Words, which must all occur in one text, in any order; "a phrase" in quotation marks. The last '
        "word may be the beginning of one. Case, accents and other signs mean nothing.",
        min_length=1,
        max_length=MAX_TOPIC,
    ),
]
Hits = Annotated[int, Field(description="So many hits at most.", ge=1, le=MAX_LIMIT)]
KnownHead = Annotated[
    str | None,
    Field(description="A head that was kept elsewhere; it must stand in the chain.", max_length=128),
]
ExportFormat = Annotated[
    str,
    _one_of(FORMATS, "Both hold all that is needed to verify the debate again; octave is text for people and agents."),
]

RecipeName = Annotated[str, Field(description="How to debate: a name that list_recipes shows.", max_length=64)]
Tier = Annotated[str | None, Field(description="Other agents: 1, 2, 3:security, 3:innovation, 3:architecture.")]
ModelsName = Annotated[str, Field(description="Which models speak: the name of a models file.", max_length=64)]
Voices = Annotated[
    list[str] | None,
    Field(description="Models for this role, in order, `a,b` spread over its seats; they win over `models`."),
]
OtherVoices = Annotated[
    list[str] | None, Field(description="Models for this role from here on, in order; as before if left out.")
]
Rehearse = Annotated[bool, Field(description="Ask no model: write worksheets for a debate held by people.")]
ContextFiles = Annotated[
    list[str] | None,
    Field(
        description="Evidence below the server's roots: files (text, PDF, DOCX), folders, globs, and of the repository "
        "they are in diffs (git:main..HEAD)."
    ),
]
DecisionRecords = Annotated[
    list[str] | None, Field(description="Evidence: folders of earlier decision records (.md), below the roots.")
]
ContextLimit = Annotated[
    int | None,
    Field(
        description="Take at most so many tokens of evidence, 4 bytes to each; a warning names what does not fit. "
        "100,000 if left out.",
        ge=1,
        le=MOST,
    ),
]
NewThreadId = Annotated[str | None, Field(description="The date and the topic's words if left out.", max_length=128)]
Fleet = Annotated[
    bool, Field(description="Submit it to the fleet: it waits in the queue for one of the workers on this hall.")
]
Wait = Annotated[bool, Field(description="Answer when the debate has ended, with progress; false answers at once.")]
WaitSeconds = Annotated[float, Field(description="Wait for news at most this long; 0 answers at once.", ge=0, le=50)]
WhyStop = Annotated[str, Field(description="Why; the run tells it.", min_length=1, max_length=MAX_CONTENT)]
After = Annotated[int | None, Field(description="The `news` you know; the call waits for what came after it.", ge=-1)]
CostLimit = Annotated[
    float | None,
    Field(description="Spend at most so many US dollars, over all resumes; a resume may raise it.", gt=0, le=MOST),
]
TokenLimit = Annotated[
    int | None,
    Field(description="Take at most so many tokens, in and out together, over all resumes.", ge=1, le=MOST),
]
TimeLimit = Annotated[
    float | None, Field(description="Run for at most so many seconds, over all resumes.", gt=0, le=MOST)
]
AssumePrice = Annotated[
    str | None,
    Field(
        description="What a model of unknown price costs, IN/OUT in US dollars per million tokens, such as 3/15.",
        max_length=64,
    ),
]
Consensus = Annotated[
    bool | None,
    Field(
        description="Wind and Wall vote on the synthesis, and Door answers objections; as the recipe says if left out."
    ),
]
EarlyClose = Annotated[
    bool | None,
    Field(description="End after a round that leaves no question and no constraint open; the recipe's if left out."),
]
OnFailure = Annotated[
    Literal["pause", "degrade"] | None,
    Field(description="When a seat fails for good: pause (the default), or go on without it, marked DEGRADED."),
]
