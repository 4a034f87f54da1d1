"""What the two published skills promise, row by row: every rule and parameter, in their own words.

A row's `quote` stands in the skill as it was published (debate-hall 2.1, debate-hall-manual 1.0); its `note` says how
it is read here, and where ours deliberately differs. The last rows are of our own skill: what it says of whole debates
that can be resumed, which the published ones do not know. A test says which rows it shows with `@shows("id", …)`;
`test_requirements.py` checks that each row has a test, and an id that is no row fails where it is written.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar

Test = TypeVar("Test", bound=Callable[..., Any])


@dataclass(frozen=True, slots=True)
class Requirement:
    id: str  # hall.… for the skill debate-hall, manual.… for debate-hall-manual; then the section; ours.… for our own
    source: str  # the section as the skill names it
    quote: str
    note: str = ""


def _from(source: str, *rows: tuple[str, ...]) -> tuple[Requirement, ...]:
    return tuple(Requirement(row[0], source, *row[1:]) for row in rows)


REQUIREMENTS = (
    *_from(
        "debate-hall, front matter",
        ("hall.front.name", "name: debate-hall"),
        ("hall.front.use", "structured debates, architectural decisions, or multi-perspective analysis"),
        ("hall.front.triggers", '"debate", "wind wall door", "dialectic", "multi-perspective", "structured decision"'),
        ("hall.front.tools", '"mcp__debate-hall__*"', "Ours allows no Write, Edit or Bash: it needs none of them."),
    ),
    *_from(
        "debate-hall §1 PATTERN",
        ("hall.1.wind", 'WIND::PATHOS["What if..."|expansive|visionary|possibilities]'),
        ("hall.1.wall", 'WALL::ETHOS["Yes, but..."|grounding|critical|reality_testing]'),
        ("hall.1.door", 'DOOR::LOGOS["Therefore..."|synthesizing|decisive|actionable_truth]'),
        ("hall.1.dynamic", "DYNAMIC::WIND⇌WALL→DOOR[tension_produces_emergence]"),
    ),
    *_from(
        "debate-hall §2 WORKFLOW",
        ("hall.2.sequence", "SEQUENCE::INIT→TURN→GET→CLOSE"),
        ("hall.2.init", "init_debate(thread_id,topic,mode?,max_turns?,max_rounds?,strict_cognition?)"),
        ("hall.2.add", "add_turn(thread_id,role,content,cognition?,agent_role?,model?)"),
        ("hall.2.get", "get_debate(thread_id,include_transcript?,context_lines?)"),
        ("hall.2.close", "close_debate(thread_id,synthesis,output_format?)"),
    ),
    *_from(
        "debate-hall §3 TOOL_PARAMS",
        ("hall.3.init.thread_id", "thread_id::REQUIRED[date-first_unique_identifier"),
        (
            "hall.3.init.format",
            'FORMAT:"YYYY-MM-DD-descriptor", EXAMPLE:"2026-01-06-microservices-decision"',
            "Date-first is the convention: the skill's own `ho-{task}-{ts}` and `microservices-decision` break it, so "
            "another form is accepted with a warning.",
        ),
        ("hall.3.init.topic", "topic::REQUIRED[question_or_issue]"),
        ("hall.3.init.mode", 'mode::"fixed"|"mediated"[default:fixed]'),
        ("hall.3.init.max_turns", "max_turns::12[default]"),
        ("hall.3.init.max_rounds", "max_rounds::4[default]"),
        ("hall.3.init.strict_cognition", "strict_cognition::false[default]"),
        ("hall.3.add.thread_id", "ADD_TURN::[ thread_id::REQUIRED"),
        ("hall.3.add.role", 'role::REQUIRED["Wind"|"Wall"|"Door"]', "Taken in any case, stored as written here."),
        ("hall.3.add.content", "content::REQUIRED"),
        ("hall.3.add.cognition", "cognition::PATHOS|ETHOS|LOGOS[optional_override]"),
        ("hall.3.add.agent_role", "agent_role::STRING[audit_trail]"),
        ("hall.3.add.model", "model::STRING[audit_trail]"),
        ("hall.3.get.thread_id", "GET_DEBATE::[ thread_id::REQUIRED"),
        ("hall.3.get.include_transcript", "include_transcript::true[default]", "debate-hall-mcp 0.5 has false."),
        ("hall.3.get.context_lines", "context_lines::all[default]", "The same as the manual's context_turns."),
        ("hall.3.close.thread_id", "CLOSE_DEBATE::[ thread_id::REQUIRED"),
        ("hall.3.close.synthesis", "synthesis::REQUIRED[Door_final_text]"),
        ("hall.3.close.output_format", 'output_format::"json"|"octave"|"both"[default:json]'),
    ),
    *_from(
        "debate-hall §4 MODES",
        ("hall.4.fixed.sequence", "FIXED::[ SEQUENCE::Wind→Wall→Door→repeat"),
        ("hall.4.fixed.use", "USE_FOR::[structured_decisions,guaranteed_coverage,standard_debates]"),
        (
            "hall.4.mediated.sequence",
            "MEDIATED::[ SEQUENCE::pick_next_speaker(thread_id,role)",
            "The floor is strict: without a pick nobody speaks, a pick binds one turn. 0.5 takes any turn unpicked.",
        ),
        (
            "hall.4.mediated.use",
            "USE_FOR::[dynamic_debates,breaking_deadlocks,role_skipping,multi_agent_same_cognition]",
            "Skipping a role needs barrier=false when the debate is opened, and is recorded.",
        ),
        (
            "hall.4.mediated.warning",
            'WARNING::"Can bias outcomes if roles starved"',
            "balance and starved_roles say so.",
        ),
    ),
    *_from(
        "debate-hall §4.1 PARALLEL_EXTERNAL_AGENTS",
        ("hall.4.1.principle", "parallel thinking is allowed; state commits remain sequential"),
        ("hall.4.1.parallel_thinking", 'PARALLEL_THINKING::"Generate candidate turns concurrently off-server'),
        ("hall.4.1.sequential_commit", 'SEQUENTIAL_COMMIT::"Persist turns in strict order via add_turn'),
        (
            "hall.4.1.one_head",
            "(one committed head at a time)",
            "expected_head, compared and swapped in one transaction.",
        ),
        (
            "hall.4.1.door_last",
            "DOOR_NEVER_SYNTHESIZES_BEFORE_WIND_AND_WALL_COMMITTED",
            "The hall refuses it: barrier.",
        ),
        ("hall.4.1.wall_tests", "WALL_REALITY_TESTS_CONCRETE_WIND_OUTPUT"),
        (
            "hall.4.1.wall_framework",
            "PRECOMPUTES_CONSTRAINT_CHECKLIST_THEN_APPLIES_POST_WIND",
            "Recipes: wall: framework.",
        ),
        ("hall.4.1.one_commit", "ONE_COMMIT_PER_THREAD_AT_A_TIME[avoid_lost_updates]"),
        ("hall.4.1.retry", "RETRY_ON_STALE_STATE::get_debate→regenerate→add_turn"),
        ("hall.4.1.both_sides", 'Round barrier ensures Door sees both sides ("yes, and more")'),
        ("hall.4.1.step1", "STEP_1::snapshot=get_debate(thread_id)"),
        ("hall.4.1.step2", "STEP_2::spawn_parallel_drafts[Wind_draft,Wall_draft] using snapshot"),
        ("hall.4.1.step3", "STEP_3::commit::Wind_then_Wall using add_turn (serial)"),
        ("hall.4.1.step4", "STEP_4::Door_reads_latest=get_debate(thread_id) then synthesizes and commits"),
        ("hall.4.1.step5", "STEP_5::repeat_or_close"),
        ("hall.4.1.floor", "For strict turn-taking in multi-agent environments"),
        ("hall.4.1.floor.wind", 'REQUIRE::pick_next_speaker(thread_id,"Wind")→add_turn(Wind)'),
        ("hall.4.1.floor.wall", 'REQUIRE::pick_next_speaker(thread_id,"Wall")→add_turn(Wall)'),
        ("hall.4.1.floor.door", 'REQUIRE::pick_next_speaker(thread_id,"Door")→add_turn(Door)'),
        ("hall.4.1.deployment", "REQUIRE::DEBATE_HALL_STATE_DIR_set_to_shared_location"),
        ("hall.4.1.split_brain", "Avoid split-brain when multiple processes talk to the server"),
    ),
    *_from(
        "debate-hall §5 AGENT_TIERS",
        ("hall.5.choose", "Choose tier based on debate complexity"),
        ("hall.5.tier1.agents", "AGENTS::[wind-agent.oct.md,wall-agent.oct.md,door-agent.oct.md]"),
        ("hall.5.tier1.behavior", "BEHAVIOR::[explores_obvious_paths,balanced_judgment,balanced_integration]"),
        ("hall.5.tier1.use", "USE_FOR::[quick_decisions,standard_debates]"),
        ("hall.5.tier2.pathos", "PATHOS::[ideator[minimal_elegant],edge-optimizer[hidden_vectors]]"),
        ("hall.5.tier2.ethos", "ETHOS::[validator[cold_truth],critical-engineer[production_readiness]]"),
        ("hall.5.tier2.logos", "LOGOS::[synthesizer[breakthrough_1+1=3]]"),
        ("hall.5.tier2.use", "USE_FOR::[architectural_decisions,security_reviews,innovation]"),
        ("hall.5.tier3.security", "SECURITY::edge-optimizer+critical-engineer+technical-architect"),
        ("hall.5.tier3.innovation", "INNOVATION::ideator+validator+synthesizer"),
        ("hall.5.tier3.architecture", "ARCHITECTURE::ideator+critical-engineer+holistic-orchestrator"),
        ("hall.5.mapping", "MAPPING::specialists→cognition_role[PATHOS→Wind,ETHOS→Wall,LOGOS→Door]"),
    ),
    *_from(
        "debate-hall §6 RECIPES",
        ("hall.6.speed", "SPEED::[turns:3,mode:fixed,ratio:1:1:1,agents:Tier_1]"),
        (
            "hall.6.standard",
            "STANDARD::[turns:12,mode:fixed,ratio:4:4:4,agents:Tier_1_or_2]",
            "--tier 2 for the second.",
        ),
        ("hall.6.deep", "DEEP::[turns:36,mode:fixed,ratio:12:12:12,agents:Tier_2]", "Opened with 12 rounds, not 4."),
        (
            "hall.6.fortress",
            "FORTRESS::[turns:9,mode:mediated,ratio:1:3:1,agents:edge-optimizer+critical-engineer×3+technical-architect]",
            "Three lenses keep the three apart; nine turns of 1:3:1 are two rounds, W LLL D and W LL D.",
        ),
        (
            "hall.6.laboratory",
            "ratio:3:1:1,agents:ideator+edge-optimizer+wind-agent+validator+synthesizer",
            "Nine turns of 3:1:1 are two rounds, WWW L D and WW L D.",
        ),
        (
            "hall.6.council",
            "COUNCIL::[turns:12,mode:mediated,ratio:2:2:3,agents:Tier_2_multiple_Doors]",
            "Three synthesizers with three lenses; two rounds, WW LL DDD and WW L DD.",
        ),
    ),
    *_from(
        "debate-hall §7 PATTERNS",
        ("hall.7.flash.purpose", 'PURPOSE::"Quick 3-turn decision cycle"'),
        ("hall.7.flash.sequence", "SEQUENCE::init→wind_turn→wall_turn→door_turn→close"),
        ("hall.7.flash.constraint", 'CONSTRAINT::"Server orchestrates state, caller supplies content"'),
        ("hall.7.socratic.purpose", 'PURPOSE::"Premise clarification before positions"'),
        ("hall.7.socratic.round1", 'ROUND_1::"Questions only (What does X mean? Do we have metrics?)"'),
        ("hall.7.socratic.round2", 'ROUND_2+::"Positions after definitions established"'),
        (
            "hall.7.socratic.enforcement",
            'ENFORCEMENT::"Convention, not server-enforced"',
            "By hand a convention here too; a recipe with socratic: true asks its seats for it.",
        ),
        (
            "hall.7.models.wind",
            "WIND::clink(claude,ideator)→PATHOS_exploration",
            "clink is another server; routes here.",
        ),
        ("hall.7.models.wall", "WALL::clink(codex,validator)→ETHOS_validation"),
        ("hall.7.models.door", "DOOR::clink(gemini,synthesizer)→LOGOS_integration"),
        ("hall.7.models.audit", "AUDIT::agent_role+model_in_turn_metadata"),
        (
            "hall.7.parallel.purpose",
            'PURPOSE::"Enable parallel external agents without breaking Wind→Wall→Door synthesis"',
        ),
        ("hall.7.parallel.guarantee", "GUARANTEE::Door_reads_committed_Wind+Wall_before_synthesis"),
        (
            "hall.7.parallel.steps",
            "get_debate→parallel_generate[Wind,Wall]→add_turn(Wind)→add_turn(Wall)→get_debate→generate(Door)→add_turn(Door)",
        ),
        ("hall.7.parallel.conflict", "ON_CONFLICT::get_debate→regenerate_turn→retry_add_turn"),
    ),
    *_from(
        "debate-hall §8 TRIGGERS",
        ("hall.8.complex", "complex_architectural_decision"),
        ("hall.8.approaches", "multiple_valid_approaches"),
        ("hall.8.tradeoffs", "unclear_tradeoffs"),
        ("hall.8.reviewers", "reviewer_disagreement[CE⇌CRS]"),
        ("hall.8.risk", "high_risk_implementation"),
        (
            "hall.8.if",
            "IF::complexity_trigger_detected",
            "The reader's judgement; the skill also says when not to debate.",
        ),
        ("hall.8.then", 'THEN::init_debate(thread_id:"ho-{task}-{ts}",topic:decision_point,mode:"mediated")'),
        ("hall.8.run", "RUN::Wind→Wall→Door_cycle"),
        ("hall.8.apply", "APPLY::synthesis_to_task"),
    ),
    *_from(
        "debate-hall §9 ADMIN",
        ("hall.9.force.purpose", 'PURPOSE::"I5 safety kill switch"'),
        ("hall.9.force.call", "CALL::force_close_debate(thread_id,reason)", "A closed debate stays as it was closed."),
        ("hall.9.tombstone.purpose", 'PURPOSE::"Redact turn preserving hash chain"'),
        ("hall.9.tombstone.call", "CALL::tombstone_turn(thread_id,turn_index,reason)"),
    ),
    *_from(
        "debate-hall §10 BEST_PRACTICES",
        ("hall.10.single", 'SINGLE_AGENT::adopt_each_role_in_sequence["What if..."|"Yes, but..."|"Therefore..."]'),
        ("hall.10.multi", "MULTI_AGENT::assign_models_per_cognition[creative→Wind,analytical→Wall,balanced→Door]"),
        ("hall.10.third_way", 'THIRD_WAY::"Best debates synthesize what neither Wind nor Wall proposed alone"'),
        ("hall.10.persistence", "PERSISTENCE::output_format:'octave'→auditable_.oct.md_transcripts"),
        ("hall.10.parallel.default", "DEFAULT::parallel_draft_sequential_commit"),
        ("hall.10.parallel.door", 'DOOR_BARRIER::"Door must read latest state after Wind+Wall commits"'),
        (
            "hall.10.parallel.wall",
            'WALL_FRAMEWORK_MODE::"If drafting early, write constraints/questions, then apply to actual Wind output',
        ),
    ),
    *_from(
        "debate-hall §11 EXAMPLE",
        (
            "hall.11.init",
            'init_debate("microservices-decision","Should we migrate to microservices?")',
            "An id without a date, against §3: accepted with a warning.",
        ),
        ("hall.11.wind", '"What if we decomposed? Independent scaling, tech diversity, team autonomy..."'),
        ("hall.11.wall", '"Yes, but 3 developers. Operational complexity, distributed transactions..."'),
        (
            "hall.11.door",
            '"Therefore: Modular monolith. Design boundaries now, deploy unified. Extract when team grows."',
        ),
        ("hall.11.close", 'close_debate(thread_id,synthesis,output_format:"octave")'),
    ),
    *_from(
        "debate-hall §12 RESOURCES",
        ("hall.12.agents", "AGENTS::agents/README.md[Wind/Wall/Door_definitions]"),
        (
            "hall.12.contracts",
            "docs/architecture/wall-content-contract.oct.md[blocking_semantics]",
            "Ours is in docs/.",
        ),
        ("hall.12.patterns", "docs/examples/multi-model-debate-patterns.md[real_debates]", "Ours is in docs/."),
        (
            "hall.12.orchestration",
            "ORCHESTRATION::ho-orchestrate[HestAI_integration]",
            "HestAI is another system; ours is §2 FROM_A_TASK of the skill, and the agent holistic-orchestrator.",
        ),
    ),
    *_from(
        "debate-hall-manual, front matter",
        ("manual.front.name", "name: debate-hall-manual"),
        ("manual.front.triggers", '"manual debate","turn by turn","init debate","add turn","custom orchestration"'),
        ("manual.front.tools", '"mcp__debate-hall__init_debate","mcp__debate-hall__add_turn"'),
        ("manual.meta.router", "ROUTER::debate-hall"),
    ),
    *_from("debate-hall-manual §1 WORKFLOW", ("manual.1.sequence", "SEQUENCE::INIT→TURN→GET→CLOSE")),
    *_from(
        "debate-hall-manual §2 TOOLS",
        ("manual.2.init.thread_id", 'thread_id::REQUIRED[FORMAT:"YYYY-MM-DD-descriptor"]'),
        ("manual.2.init.topic", "topic::REQUIRED"),
        ("manual.2.init.mode", 'mode::"fixed"|"mediated"[default:fixed]'),
        ("manual.2.init.max_turns", "max_turns::12[default]"),
        ("manual.2.init.max_rounds", "max_rounds::4[default]"),
        ("manual.2.init.strict_cognition", "strict_cognition::false[default]"),
        ("manual.2.add.thread_id", "ADD_TURN::[ thread_id::REQUIRED"),
        ("manual.2.add.role", 'role::REQUIRED["Wind"|"Wall"|"Door"]'),
        ("manual.2.add.content", "content::REQUIRED"),
        ("manual.2.add.cognition", "cognition::PATHOS|ETHOS|LOGOS[optional]"),
        ("manual.2.add.agent_role", "agent_role::STRING[audit_trail]"),
        ("manual.2.add.model", "model::STRING[audit_trail]"),
        ("manual.2.get.thread_id", "GET_DEBATE::[ thread_id::REQUIRED"),
        ("manual.2.get.include_transcript", "include_transcript::true[default]"),
        ("manual.2.get.context_turns", "context_turns::INTEGER[optional_limit]", "At least 1; 0.5 takes 0 for all."),
        ("manual.2.close.thread_id", "CLOSE_DEBATE::[ thread_id::REQUIRED"),
        ("manual.2.close.synthesis", "synthesis::REQUIRED[Door_final_text]"),
        ("manual.2.close.output_format", 'output_format::"json"|"octave"|"both"'),
        ("manual.2.pick.thread_id", "PICK_NEXT_SPEAKER::[ thread_id::REQUIRED"),
        ("manual.2.pick.role", 'role::"Wind"|"Wall"|"Door"'),
        ("manual.2.pick.mode", "USE_IN::mediated_mode_only"),
    ),
    *_from(
        "debate-hall-manual §3 MODES",
        ("manual.3.fixed.sequence", "SEQUENCE::Wind→Wall→Door→repeat"),
        ("manual.3.fixed.use", "USE_FOR::[structured_decisions,guaranteed_coverage]"),
        ("manual.3.mediated.sequence", "SEQUENCE::pick_next_speaker_determines_order"),
        ("manual.3.mediated.use", "USE_FOR::[dynamic_debates,breaking_deadlocks]"),
        ("manual.3.mediated.warning", 'WARNING::"Can bias outcomes if roles starved"'),
    ),
    *_from(
        "debate-hall-manual §4 EXAMPLE",
        ("manual.4.init", 'init_debate("2026-02-09-api-design","REST vs GraphQL?")'),
        ("manual.4.wind", 'add_turn(thread_id,"Wind","What if GraphQL? Single endpoint, client flexibility...")'),
        ("manual.4.wall", 'add_turn(thread_id,"Wall","Yes, but complexity. Team experience, caching challenges...")'),
        (
            "manual.4.door",
            'add_turn(thread_id,"Door","Therefore: REST for public API, GraphQL for internal dashboard...")',
        ),
        ("manual.4.close", 'close_debate(thread_id,synthesis,output_format:"octave")'),
    ),
    *_from(
        "debate-hall-manual §5 PARALLEL_AGENTS",
        ("manual.5.parallel_thinking", 'PARALLEL_THINKING::"Generate candidate turns concurrently off-server'),
        ("manual.5.sequential_commit", 'SEQUENTIAL_COMMIT::"Persist turns in strict order via add_turn'),
        ("manual.5.one_head", "(one committed head at a time)"),
        ("manual.5.door_last", "DOOR_NEVER_SYNTHESIZES_BEFORE_WIND_AND_WALL_COMMITTED"),
        ("manual.5.wall_tests", "WALL_REALITY_TESTS_CONCRETE_WIND_OUTPUT"),
        ("manual.5.one_commit", "ONE_COMMIT_PER_THREAD_AT_A_TIME[avoid_lost_updates]"),
        ("manual.5.retry", "RETRY_ON_STALE_STATE::get_debate→regenerate→add_turn"),
        ("manual.5.step1", "STEP_1::snapshot=get_debate(thread_id)"),
        ("manual.5.step2", "STEP_2::spawn_parallel_drafts[Wind_draft,Wall_draft]"),
        ("manual.5.step3", "STEP_3::serial_commit::add_turn(Wind)→add_turn(Wall)"),
        ("manual.5.step4", "STEP_4::Door_reads_latest=get_debate(thread_id)→synthesize→add_turn(Door)"),
        ("manual.5.step5", "STEP_5::repeat_or_close"),
        ("manual.5.default", "DEFAULT::parallel_draft_sequential_commit"),
        ("manual.5.door_barrier", 'DOOR_BARRIER::"Door must read latest state after Wind+Wall commits"'),
        ("manual.5.wall_framework", 'WALL_FRAMEWORK_MODE::"If drafting early, write constraints then apply post-Wind"'),
        ("manual.5.deployment", "DEBATE_HALL_STATE_DIR_set_to_shared_location[avoid_split_brain]"),
    ),
    *_from(
        "our debate-hall §9 RUN_IT_WHOLE",
        (
            "ours.9.limits",
            "cost_limit in US dollars, token_limit, time_limit in seconds: never passed, over all resumes",
        ),
        ("ours.9.limits.pause", "a run that meets one is paused"),
        ("ours.9.failure.pause", "pause, the default"),
        ("ours.9.failure.degrade", "degrade goes on without a seat while its role has another voice"),
        ("ours.9.failure.first", "first_words say who is missing and why"),
        ("ours.9.resume", "resume_debate goes on with a run that is paused, interrupted or at a limit"),
        ("ours.9.resume.plan", "the plan of its start"),
        ("ours.9.resume.turns", "no turn again, no draft bought again"),
        ("ours.9.resume.changes", "name other models or higher limits where its message says so"),
        ("ours.9.resume.held", "run_held means that it goes on"),
    ),
)

BY_ID = {row.id: row for row in REQUIREMENTS}

_shown: dict[str, list[str]] = {}  # the tests of each row, filled by `shows` as the test files are imported


def shows(*ids: str) -> Callable[[Test], Test]:
    """Says that a test shows these rows.

    Raises:
        KeyError: an id is no row.
    """
    rows = [BY_ID[id] for id in ids]

    def mark(test: Test) -> Test:
        for row in rows:
            _shown.setdefault(row.id, []).append(test.__name__)
        return test

    return mark


def shown_by(id: str) -> list[str]:
    return _shown.get(id, [])
