"""The public names: what is promised, no more, and nothing loaded before it is asked for."""

from __future__ import annotations

import ast
import subprocess
import sys
from importlib import import_module
from inspect import iscoroutinefunction, isfunction
from pathlib import Path

import pytest

import orchestrator

NAMES = [
    *("Cognition", "DebateError", "DecisionRecord", "Hall", "LiteLLM", "Mode", "Model", "Outcome", "Plan", "Recipe"),
    *("Rehearsal", "Reply", "Request", "Role", "RunPaused", "Scripted", "Status", "StoppedByLimit", "Told", "Usage"),
    *("UsageError", "load_agent", "load_recipe"),
    *("resume_debate", "resume_debate_sync", "run_debate", "run_debate_sync"),
]


def test_the_public_names_are_these() -> None:
    assert orchestrator.__all__ == NAMES
    assert set(NAMES) <= set(dir(orchestrator))


def test_type_checkers_are_told_the_same_names() -> None:
    tree = ast.parse(Path(orchestrator.__file__).read_text())
    (checked,) = [node for node in tree.body if isinstance(node, ast.If)]
    imports = {
        alias.name: node.module for node in checked.body if isinstance(node, ast.ImportFrom) for alias in node.names
    }
    assert sorted(imports) == NAMES
    for name, module in imports.items():
        assert getattr(import_module(str(module)), name) is getattr(orchestrator, name)


def test_a_name_is_never_hidden_by_a_module_of_the_same_name() -> None:
    parts = {path.stem for path in Path(orchestrator.__file__).parent.iterdir()}
    assert parts.isdisjoint(NAMES)


def test_a_debate_is_a_coroutine_and_its_twin_a_function() -> None:
    assert iscoroutinefunction(orchestrator.run_debate)
    assert isfunction(orchestrator.run_debate_sync)
    assert not iscoroutinefunction(orchestrator.run_debate_sync)


def test_another_name_is_an_attribute_error_that_names_it() -> None:
    with pytest.raises(AttributeError, match="module 'orchestrator' has no attribute 'Debate'"):
        _ = orchestrator.Debate


def test_importing_the_package_loads_nothing_else() -> None:
    code = (
        "import sys; before = set(sys.modules); import orchestrator; dir(orchestrator); "
        "print([name for name in set(sys.modules) - before if name.partition('.')[0] not in sys.stdlib_module_names])"
    )
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert result.stdout == "['orchestrator']\n"
