from __future__ import annotations

from decimal import Decimal
from pathlib import Path

import pytest

from orchestrator.errors import ConfigurationError, UsageError
from orchestrator.hall.terms import Mode, Role
from orchestrator.layout import RoundShape, Slot
from orchestrator.recipe import (
    TIERS,
    Consensus,
    Limits,
    Ratio,
    Recipe,
    Seat,
    Seats,
    list_recipes,
    load_recipe,
    with_tier,
)

BUNDLED = (Path(__file__).parents[1] / "recipes",)

MINE = """\
name: mine
summary: A recipe to change.
mode: mediated
turns: 9
ratio:
  wind: 1
  wall: 3
  door: 1
seats:
  wind: [ideator]
  wall:
    - validator
    - agent: critical-engineer
      lens: cost
  door: [synthesizer]
"""


def one(*agents: str) -> tuple[Seat, ...]:
    return tuple(Seat(agent=agent) for agent in agents)


def agents_of(recipe: Recipe) -> dict[str, list[str]]:
    return {role: [seat.agent for seat in recipe.seats_of(role)] for role in Role}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "mine.yaml").write_text(MINE)
    return tmp_path


def refusal(folder: Path, old: str, new: str) -> str:
    """What is said of `MINE` with one piece of it replaced, without the folder."""
    assert MINE.count(old) == 1
    (folder / "mine.yaml").write_text(MINE.replace(old, new))
    with pytest.raises(ConfigurationError) as refused:
        load_recipe("mine", [folder])
    return str(refused.value).removeprefix(f"{folder}/")


def test_the_bundled_recipes_are_these_six() -> None:
    names = [recipe.name for recipe in list_recipes(BUNDLED)]
    assert names == ["council", "deep", "fortress", "laboratory", "speed", "standard"]


@pytest.mark.parametrize(
    ("name", "mode", "turns", "shapes", "agents"),
    [
        ("speed", Mode.FIXED, 3, [(1, 1, 1)], "wind-agent · wall-agent · door-agent"),
        ("standard", Mode.FIXED, 12, [(1, 1, 1)] * 4, "wind-agent · wall-agent · door-agent"),
        (
            "deep",
            Mode.FIXED,
            36,
            [(1, 1, 1)] * 12,
            "ideator edge-optimizer · validator critical-engineer · synthesizer",
        ),
        (
            "fortress",
            Mode.MEDIATED,
            9,
            [(1, 3, 1), (1, 2, 1)],
            "edge-optimizer · critical-engineer critical-engineer critical-engineer · technical-architect",
        ),
        (
            "laboratory",
            Mode.MEDIATED,
            9,
            [(3, 1, 1), (2, 1, 1)],
            "ideator edge-optimizer wind-agent · validator · synthesizer",
        ),
        (
            "council",
            Mode.MEDIATED,
            12,
            [(2, 2, 3), (2, 1, 2)],
            "ideator edge-optimizer · validator critical-engineer · synthesizer synthesizer synthesizer",
        ),
    ],
)
def test_a_bundled_recipe_is_what_the_design_says(
    name: str, mode: Mode, turns: int, shapes: list[tuple[int, int, int]], agents: str
) -> None:
    recipe = load_recipe(name, BUNDLED)
    assert (recipe.mode, recipe.turns) == (mode, turns)
    assert recipe.shapes == tuple(RoundShape(*shape) for shape in shapes)
    assert " · ".join(" ".join(seats) for seats in agents_of(recipe).values()) == agents


def test_only_council_asks_for_consensus() -> None:
    required = {recipe.name: recipe.consensus for recipe in list_recipes(BUNDLED)}
    assert required.pop("council") == Consensus(required=True, refinements=2)
    assert set(required.values()) == {Consensus(required=False, refinements=2)}


def test_fortress_looks_from_three_sides() -> None:
    assert [seat.lens for seat in load_recipe("fortress", BUNDLED).seats_of(Role.WALL)] == [
        "attack surface and trust boundaries",
        "failure, recovery and on-call load",
        "cost, capacity and reversibility",
    ]


def test_the_standard_recipe_spells_out_the_defaults() -> None:
    """It is the one people copy, and its comments explain every key."""
    standard = load_recipe("standard", BUNDLED)
    unsaid = Recipe.model_validate(standard.model_dump(include={"name", "summary", "mode", "turns", "ratio", "tier"}))
    assert unsaid.model_dump() == standard.model_dump()
    assert standard.model_fields_set == set(Recipe.model_fields) - {"seats"}


def test_a_recipe_holds_what_its_file_says(folder: Path) -> None:
    (folder / "mine.yaml").write_text(
        MINE
        + """\
wall: reactive
doors: independent
consensus: {required: true, refinements: 0}
socratic: true
early_close: true
context: synthesis
limits: {cost_usd: 2.50, tokens: 400000, seconds: 90.5}
on_limit: close
"""
    )
    assert (
        load_recipe("mine", [folder]).model_dump()
        == Recipe(
            name="mine",
            summary="A recipe to change.",
            mode=Mode.MEDIATED,
            turns=9,
            ratio=Ratio(wind=1, wall=3, door=1),
            seats=Seats(
                wind=one("ideator"),
                wall=(Seat(agent="validator"), Seat(agent="critical-engineer", lens="cost")),
                door=one("synthesizer"),
            ),
            wall="reactive",
            doors="independent",
            consensus=Consensus(required=True, refinements=0),
            socratic=True,
            early_close=True,
            context="synthesis",
            limits=Limits(cost_usd=Decimal("2.50"), tokens=400_000, seconds=90.5),
            on_limit="close",
        ).model_dump()
    )


def test_a_recipe_knows_its_file(folder: Path) -> None:
    assert load_recipe("mine", [folder]).source == str(folder / "mine.yaml")
    assert with_tier(load_recipe("deep", BUNDLED), "1").source == str(BUNDLED[0] / "deep.yaml")


def test_seats_take_the_slots_of_their_role_in_turn_over_the_whole_debate() -> None:
    deep = load_recipe("deep", BUNDLED)
    assert deep.slots[:3] == (
        (Slot(Role.WIND, 0), Slot(Role.WALL, 0), Slot(Role.DOOR, 0)),
        (Slot(Role.WIND, 1), Slot(Role.WALL, 1), Slot(Role.DOOR, 0)),
        (Slot(Role.WIND, 0), Slot(Role.WALL, 0), Slot(Role.DOOR, 0)),
    )


def test_councils_last_word_is_the_commitment() -> None:
    council = load_recipe("council", BUNDLED)
    last = council.slots[-1][-1]
    assert (council.seats_of(last.role)[last.seat].lens or "").startswith("the commitment:")


@pytest.mark.parametrize("name", ["FORTRESS", "Fortress", "fortress"])
def test_a_name_is_accepted_in_any_case(name: str) -> None:
    assert load_recipe(name, BUNDLED).name == "fortress"


@pytest.mark.parametrize("name", ["mine.yaml", "./mine.yaml", "../{}/mine.yaml"])
def test_a_path_is_a_file_and_not_looked_up(folder: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    monkeypatch.chdir(folder)
    assert load_recipe(name.format(folder.name), BUNDLED).name == "mine"


def test_a_yml_file_stands_on_a_shelf_too(folder: Path) -> None:
    (folder / "mine.yaml").rename(folder / "mine.yml")
    assert [load_recipe("mine", [folder])] == list(list_recipes([folder]))


def test_the_first_folder_wins(folder: Path) -> None:
    (folder / "speed.yaml").write_text(MINE.replace("name: mine", "name: speed"))
    assert load_recipe("speed", [folder, *BUNDLED]).turns == 9
    assert {recipe.name: recipe.turns for recipe in list_recipes([folder, *BUNDLED])}["speed"] == 9
    assert load_recipe("speed", [*BUNDLED, folder]).turns == 3


@pytest.mark.parametrize(
    ("name", "sentence"),
    [
        (
            "fortres",
            "There is no recipe 'fortres'. Did you mean fortress? "
            "There are council, deep, fortress, laboratory, speed, standard.",
        ),
        (
            "KAFKA",
            "There is no recipe 'KAFKA'. There are council, deep, fortress, laboratory, speed, standard.",
        ),
        ("gone.yaml", "gone.yaml: There is no such file."),
    ],
)
def test_an_unknown_recipe_is_refused_with_the_known_ones(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, sentence: str
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ConfigurationError) as refused:
        load_recipe(name, BUNDLED)
    assert str(refused.value) == sentence


def test_an_unknown_recipe_on_empty_shelves_says_that_there_are_none(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError) as refused:
        load_recipe("speed", [tmp_path])
    assert str(refused.value) == "There is no recipe 'speed'. There are none."


@pytest.mark.parametrize(
    ("old", "new", "sentence"),
    [
        (
            "mode: mediated",
            "mode: mediated: yes",
            "mine.yaml:3: This is not valid YAML: mapping values are not allowed here. "
            "Look for a key without a colon, or a text with a colon that needs quotes.",
        ),
        ("turns: 9", "turn: 9", "mine.yaml:4: turn: unknown key. Did you mean turns?"),
        ("lens: cost", "lense: cost", "mine.yaml:14: seats.wall[1].lense: unknown key. Did you mean lens?"),
        (
            "turns: 9",
            "turns: 9\nturns: 12",
            "mine.yaml:5: turns: duplicate key; it already stands in line 4. Keep one of them.",
        ),
        ("wall: 3", "wall: 0", "mine.yaml:7: ratio.wall: must be at least 1, not 0. Every role speaks in every round."),
        ("wall: 3", "wall: 1.5", "mine.yaml:7: ratio.wall: must be a whole number, not 1.5."),
        ("  door: 1\n", "", "mine.yaml:5: ratio.door: this key is missing."),
        (
            "mode: mediated",
            "mode: fixed",
            "mine.yaml:5: ratio: A fixed debate gives every role the same number of turns; the ratio 1:3:1 does not. "
            "Make the parts equal (1:1:1), or use mode: mediated.",
        ),
        (
            "turns: 9",
            "turns: 2",
            "mine.yaml:4: turns: 2 turns cannot hold a Wind, a Wall and a Door. Use at least 3 turns.",
        ),
        ("turns: 9", "turns: 100001", "mine.yaml:4: turns: must be at most 100000, not 100001."),
        ("turns: 9", "turns: nine", "mine.yaml:4: turns: must be a whole number, not the text 'nine'."),
        ("turns: 9\n", "", "mine.yaml:1: turns: this key is missing."),
        ("mode: mediated", "mode: free", "mine.yaml:3: mode: must be 'fixed' or 'mediated', not the text 'free'."),
        (
            "turns: 9",
            "turns: 5\nsocratic: true",
            "mine.yaml:5: socratic: A Socratic debate asks in round 1 and takes positions after it, but there is only "
            "one round. Raise turns, or lower the ratio, so that there are two rounds.",
        ),
        ("turns: 9", "turns: 9\nsocratic: no", "mine.yaml:5: socratic: must be true or false, not the text 'no'."),
        (
            "turns: 9",
            "turns: 9\ntier: 2",
            "mine.yaml:5: tier: stands beside seats, which it would replace. Keep one of them.",
        ),
        ("wind: [ideator]", "wind: []", "mine.yaml:10: seats.wind: holds no seat. Name at least one agent."),
        ("wind: [ideator]", "wind: ideator", "mine.yaml:10: seats.wind: must be a list, not the text 'ideator'."),
        ("wind: [ideator]", "wind: ['']", "mine.yaml:10: seats.wind[0]: must not be blank."),
        (
            "lens: cost",
            'lens: "a\\nb"',
            "mine.yaml:14: seats.wall[1].lens: must be one line of at most 200 characters.",
        ),
        (
            "lens: cost",
            f"lens: {'x' * 201}",
            "mine.yaml:14: seats.wall[1].lens: must be one line of at most 200 characters.",
        ),
        (
            "- agent: critical-engineer\n      lens: cost",
            "- validator",
            "mine.yaml:13: seats.wall[1]: validator sits here twice with the same lens and would say the same thing "
            "twice. Give each its own lens: {agent: validator, lens: …}.",
        ),
        (
            "    - validator",
            "    - {agent: critical-engineer, lens: cost }",
            "mine.yaml:13: seats.wall[1]: critical-engineer sits here twice with the same lens and would say the same "
            "thing twice. Give each its own lens: {agent: critical-engineer, lens: …}.",
        ),
        ("name: mine", "name: yours", "mine.yaml:1: name: is yours, but the file's name is mine. Make them the same."),
        (
            "name: mine",
            "name: My Recipe",
            "mine.yaml:1: name: must be small letters, digits and hyphens, a letter or digit first, at most 64. "
            "As in my-recipe.",
        ),
        (
            "turns: 9",
            "turns: 9\nwall: hard",
            "mine.yaml:5: wall: must be 'framework' or 'reactive', not the text 'hard'.",
        ),
        ("turns: 9", "turns: 9\nlimits: {cost_usd: 0}", "mine.yaml:5: limits.cost_usd: must be more than 0, not 0."),
        ("turns: 9", "turns: 9\nlimits: {tokens: 1.5}", "mine.yaml:5: limits.tokens: must be a whole number, not 1.5."),
        (
            "turns: 9",
            "turns: 9\nconsensus: {refinements: -1}",
            "mine.yaml:5: consensus.refinements: must be at least 0, not -1.",
        ),
        (
            "turns: 9",
            "turns: 9\nconsensus: true",
            "mine.yaml:5: consensus: must be a mapping of keys to values, not true.",
        ),
    ],
)
def test_a_wrong_recipe_is_refused_by_file_line_and_key(folder: Path, old: str, new: str, sentence: str) -> None:
    assert refusal(folder, old, new) == sentence


def test_a_fixed_debate_is_whole_rounds(folder: Path) -> None:
    (folder / "flat.yaml").write_text(
        "name: flat\nsummary: s\nmode: fixed\nturns: 10\nratio: {wind: 1, wall: 1, door: 1}\ntier: 1\n"
    )
    with pytest.raises(ConfigurationError) as refused:
        load_recipe("flat", [folder])
    assert str(refused.value) == (
        f"{folder}/flat.yaml:4: turns: 10 turns are no whole number of Wind, Wall, Door rounds, as a fixed debate "
        "needs. Use 9 or 12 turns, or mode: mediated."
    )


def test_a_recipe_without_tier_and_seats_is_refused(folder: Path) -> None:
    sentence = refusal(folder, MINE[MINE.index("seats:") :], "")
    assert sentence == (
        "mine.yaml:1: This recipe has neither a tier nor seats. Write tier: 1, or seats for wind, wall and door."
    )


def test_a_socratic_recipe_with_two_rounds_is_fine(folder: Path) -> None:
    (folder / "mine.yaml").write_text(MINE + "socratic: true\n")
    assert load_recipe("mine", [folder]).socratic


def test_one_agent_may_sit_twice_in_a_role_with_two_lenses(folder: Path) -> None:
    (folder / "mine.yaml").write_text(MINE.replace("- validator", "- critical-engineer"))
    assert load_recipe("mine", [folder]).seats_of(Role.WALL) == (
        Seat(agent="critical-engineer"),
        Seat(agent="critical-engineer", lens="cost"),
    )


@pytest.mark.parametrize("lens", ["هزینه\u200cها", "👩\u200d💻 on call", "x" * 200])
def test_a_lens_may_be_written_in_any_script(folder: Path, lens: str) -> None:
    (folder / "mine.yaml").write_text(MINE.replace("lens: cost", f"lens: {lens}"), encoding="utf-8")
    assert load_recipe("mine", [folder]).seats_of(Role.WALL)[1].lens == lens


def test_one_broken_recipe_makes_the_list_an_error_that_names_it(folder: Path) -> None:
    (folder / "broken.yaml").write_text("- a\n")
    with pytest.raises(ConfigurationError, match=r"broken\.yaml:1: "):
        list_recipes([folder, *BUNDLED])


def test_the_tiers_are_the_designs() -> None:
    assert {
        "1": Seats(wind=one("wind-agent"), wall=one("wall-agent"), door=one("door-agent")),
        "2": Seats(
            wind=one("ideator", "edge-optimizer"),
            wall=one("validator", "critical-engineer"),
            door=one("synthesizer"),
        ),
        "3:security": Seats(wind=one("edge-optimizer"), wall=one("critical-engineer"), door=one("technical-architect")),
        "3:innovation": Seats(wind=one("ideator"), wall=one("validator"), door=one("synthesizer")),
        "3:architecture": Seats(wind=one("ideator"), wall=one("critical-engineer"), door=one("holistic-orchestrator")),
    } == TIERS


@pytest.mark.parametrize("name", ["speed", "standard", "deep"])
@pytest.mark.parametrize("tier", list(TIERS))
def test_a_tier_replaces_the_seats_and_nothing_else(name: str, tier: str) -> None:
    recipe = load_recipe(name, BUNDLED)
    changed = with_tier(recipe, tier.upper())
    assert agents_of(changed) == {
        Role.WIND: [seat.agent for seat in TIERS[tier].wind],
        Role.WALL: [seat.agent for seat in TIERS[tier].wall],
        Role.DOOR: [seat.agent for seat in TIERS[tier].door],
    }
    assert changed.model_dump(exclude={"tier"}) == recipe.model_dump(exclude={"tier"})


@pytest.mark.parametrize("name", ["fortress", "laboratory", "council"])
def test_a_recipe_whose_seats_are_its_point_takes_no_tier(name: str) -> None:
    with pytest.raises(UsageError) as refused:
        with_tier(load_recipe(name, BUNDLED), "1")
    assert str(refused.value) == (
        f"The seats of {name} are its point, so that no tier can replace them. "
        "Leave out --tier, or choose a recipe that has a tier, such as standard."
    )


@pytest.mark.parametrize(
    ("tier", "sentence"),
    [
        ("3", "Tier 3 goes by domain. Choose 3:security, 3:innovation or 3:architecture."),
        ("4", "There is no tier '4'. Choose 1, 2, 3:security, 3:innovation or 3:architecture."),
        ("", "There is no tier ''. Choose 1, 2, 3:security, 3:innovation or 3:architecture."),
    ],
)
def test_an_unknown_tier_is_refused_on_the_command_line_and_in_a_file(folder: Path, tier: str, sentence: str) -> None:
    with pytest.raises(UsageError) as refused:
        with_tier(load_recipe("speed", BUNDLED), tier)
    assert str(refused.value) == sentence
    assert refusal(folder, MINE[MINE.index("seats:") :], f"tier: '{tier}'\n") == f"mine.yaml:9: tier: {sentence}"


@pytest.mark.parametrize("tier", ["2", "3:security", '"2"'])
def test_a_file_may_write_its_tier_with_or_without_quotes(folder: Path, tier: str) -> None:
    (folder / "mine.yaml").write_text(MINE[: MINE.index("seats:")] + f"tier: {tier}\n")
    assert load_recipe("mine", [folder]).tier == tier.strip('"')


def test_a_recipe_written_out_is_read_back() -> None:
    for recipe in list_recipes(BUNDLED):
        assert Recipe.model_validate_json(recipe.model_dump_json()).model_dump() == recipe.model_dump()


def test_every_bundled_recipe_explains_itself() -> None:
    for recipe in list_recipes(BUNDLED):
        assert Path(recipe.source).read_text().startswith("# ")


def test_limits_are_told_with_what_they_count() -> None:
    assert str(Limits(cost_usd=Decimal("2.50"), tokens=2000, seconds=600)) == "$2.50, 2,000 tokens, 600 s"
    assert str(Limits(tokens=1)) == "1 token"
