from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from orchestrator import shelves
from orchestrator.errors import ConfigurationError
from orchestrator.shelves import folders, is_path, standing

CHECKOUT = Path(shelves.__file__).parents[1]


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "settings"))
    work = tmp_path / "work"
    work.mkdir()
    monkeypatch.chdir(work)
    return tmp_path


@pytest.mark.parametrize("kind", ["recipes", "agents", "configs"])
def test_the_current_folder_comes_before_the_users_and_the_bundled_ones(home: Path, kind: shelves.Kind) -> None:
    here, own, bundled = folders(kind)
    assert here == Path(kind)
    assert own.is_relative_to(home)
    assert own.parts[-2:] == ("debate-hall", kind)
    assert bundled.is_dir()
    assert bundled.name == kind


def test_in_the_checkout_itself_no_folder_is_given_twice(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(CHECKOUT)
    places = folders("recipes")
    assert places[0] == Path("recipes")
    assert len(places) == len({place.resolve() for place in places})


def test_a_wheel_carries_the_folders_inside_the_package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    package = tmp_path / "site-packages" / "orchestrator"
    (package / "bundled" / "recipes").mkdir(parents=True)
    monkeypatch.setattr(shelves, "__file__", str(package / "shelves.py"))
    assert folders("recipes")[-1] == package / "bundled" / "recipes"
    assert folders("agents")[-1] == tmp_path / "site-packages" / "agents"


def test_names_are_found_in_lower_case_and_the_first_shelf_wins(tmp_path: Path) -> None:
    first, second = tmp_path / "first", tmp_path / "second"
    for shelf, names in ((first, ["Deep.yaml", "notes.txt", ".hidden.yaml"]), (second, ["deep.yaml", "a.yml"])):
        shelf.mkdir()
        for name in names:
            (shelf / name).touch()
    found = standing([first, tmp_path / "missing", second], (".yaml", ".yml"))
    assert list(found.items()) == [("a", second / "a.yml"), ("deep", first / "Deep.yaml")]


def test_a_suffix_may_have_two_parts(tmp_path: Path) -> None:
    (tmp_path / "ideator.oct.md").touch()
    (tmp_path / "README.md").touch()
    assert standing([tmp_path], (".oct.md",)) == {"ideator": tmp_path / "ideator.oct.md"}


@pytest.mark.parametrize(
    ("word", "path"),
    [("deep", False), ("deep.v2", False), ("", False), ("deep.yaml", True), ("DEEP.YML", True), ("./deep", True)],
)
def test_a_path_is_told_from_a_name(word: str, path: bool) -> None:
    assert is_path(word, (".yaml", ".yml")) is path


def test_a_file_in_the_place_of_a_folder_holds_nothing(tmp_path: Path) -> None:
    (tmp_path / "recipes").touch()
    assert standing([tmp_path / "recipes"], (".yaml",)) == {}


def test_a_folder_that_cannot_be_listed_is_named(tmp_path: Path) -> None:
    loop = tmp_path / "recipes"
    loop.symlink_to(loop)
    with pytest.raises(ConfigurationError) as refused:
        standing([loop], (".yaml",))
    assert str(refused.value) == f"{loop}: This folder cannot be listed: Too many levels of symbolic links."


def test_finding_the_folders_imports_neither_pydantic_nor_yaml() -> None:
    code = (
        "import sys; from orchestrator.shelves import folders, standing; standing(folders('recipes'), ('.yaml',)); "
        "print(sorted({'pydantic', 'yaml'} & sys.modules.keys()))"
    )
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert result.stdout == "[]\n"
