"""Keys that stand elsewhere than in the environment: beside the models file, in the system's keyring."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import keyring
import keyring.backend
import keyring.errors
import pytest

from orchestrator import keychain
from orchestrator.errors import ConfigurationError
from orchestrator.keychain import ENVIRONMENT, KEYRING, Keys, bring, own_file, unread_file
from orchestrator.secrets import scrub

WANTED = [("ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN"), ("OPENAI_API_KEY",), ("OUR_KEY",)]
SECRET = "not-like-any-key-0815"


class Held(keyring.backend.KeyringBackend):
    """A keyring of this process; it can fail, or wait for an owner who is not there."""

    priority = 1.0  # type: ignore[assignment]

    def __init__(self) -> None:
        super().__init__()
        self.held: dict[tuple[str, str], str] = {}
        self.asked: list[str] = []
        self.on_asking: Callable[[], object] = lambda: None

    def get_password(self, service: str, username: str) -> str | None:
        self.asked.append(username)
        self.on_asking()
        return self.held.get((service, username))

    def set_password(self, service: str, username: str, password: str) -> None:
        self.held[service, username] = password


@pytest.fixture(autouse=True)
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    (tmp_path / "work").mkdir()
    monkeypatch.chdir(tmp_path / "work")
    own_file().parent.mkdir(parents=True)
    return tmp_path


@pytest.fixture(autouse=True)
def held() -> Iterator[Held]:
    before, mine = keyring.get_keyring(), Held()
    keyring.set_keyring(mine)
    yield mine
    keyring.set_keyring(before)


def write(file: Path, text: str, mode: int = 0o600) -> None:
    file.write_text(text)
    file.chmod(mode)


# ---------------------------------------------------------------- the environment and .env files


def test_the_environment_wins_and_the_users_file_gives_what_it_lacks() -> None:
    write(own_file(), "ANTHROPIC_API_KEY=filed\nexport OPENAI_API_KEY='filed too'  # billing\nOUR_KEY=\n")
    environment = {"ANTHROPIC_API_KEY": "set", "OPENAI_API_KEY": " "}
    keys = bring(environment, WANTED)
    assert environment == {"ANTHROPIC_API_KEY": "set", "OPENAI_API_KEY": "filed too"}
    assert keys == Keys({"ANTHROPIC_API_KEY": ENVIRONMENT, "OPENAI_API_KEY": str(own_file())}, ())


def test_beside_a_models_file_that_is_named_a_file_is_read_first_and_said(place: Path) -> None:
    write(own_file(), "OPENAI_API_KEY=mine\nANTHROPIC_API_KEY=mine\n")
    write(place / ".env", "OPENAI_API_KEY=theirs\n")
    environment: dict[str, str] = {}
    keys = bring(environment, WANTED, place / "models.yaml")
    assert environment == {"OPENAI_API_KEY": "theirs", "ANTHROPIC_API_KEY": "mine"}
    assert keys.notices == (f"Keys are read from {place / '.env'}, beside the models file: OPENAI_API_KEY.",)


def test_a_file_in_the_working_folder_is_never_read_but_spoken_of() -> None:
    assert unread_file() == ""
    write(Path(".env"), "OPENAI_API_KEY=x\n")
    environment: dict[str, str] = {}
    assert bring(environment, WANTED) == Keys({}, ())
    assert environment == {}
    assert unread_file() == (
        f"The .env in this folder is not read; what of it is meant for debates belongs into {own_file()}."
    )


def test_only_what_belongs_to_a_provider_or_is_asked_for_is_taken() -> None:
    text = (
        "PATH=/evil\nLD_PRELOAD=x\nDEBATE_HALL_TOKEN=t\nOUR_KEY=k\nAWS_REGION_NAME=eu\nGROQ_API_KEY=g\nHTTPS_PROXY=p\n"
    )
    write(own_file(), text)
    environment: dict[str, str] = {}
    bring(environment, WANTED)
    assert environment == {"OUR_KEY": "k", "AWS_REGION_NAME": "eu", "GROQ_API_KEY": "g"}


def test_nothing_in_a_file_is_replaced_by_anything_else() -> None:
    write(own_file(), 'OUR_KEY="a${HOME}$b`id`"\n')
    environment = {"HOME": "/home/me"}
    bring(environment, WANTED)
    assert environment["OUR_KEY"] == "a${HOME}$b`id`"


def test_a_line_that_says_nothing_is_an_error_that_names_it_and_not_what_it_holds() -> None:
    write(own_file(), f"# keys\nOUR_KEY=k\nOUR KEY = '{SECRET}\n")
    with pytest.raises(ConfigurationError) as caught:
        bring({}, WANTED)
    assert str(caught.value) == f"{own_file()}:3: This is no variable. Write NAME=value."


def test_a_file_that_others_can_read_is_said() -> None:
    write(own_file(), "OUR_KEY=k\n", 0o644)
    assert bring({}, WANTED).notices == (f"Others can read the keys in {own_file()}: chmod 600 {own_file()}",)


def test_a_key_from_a_file_is_scrubbed_from_all_that_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OUR_KEY", raising=False)
    write(own_file(), f"OUR_KEY={SECRET}\n")
    assert SECRET in scrub(f"the key {SECRET}")
    try:
        bring(os.environ, WANTED)
        assert scrub(f"the key {SECRET}") == "the key [secret removed]"
    finally:
        del os.environ["OUR_KEY"]


# ---------------------------------------------------------------- the keyring


def test_the_keyring_gives_what_is_still_missing(held: Held) -> None:
    held.set_password("run-debate", "OUR_KEY", "ringed")
    held.set_password("run-debate", "ANTHROPIC_AUTH_TOKEN", "ringed too")
    held.set_password("other", "OPENAI_API_KEY", "another program's")
    environment: dict[str, str] = {}
    keys = bring(environment, WANTED)
    assert environment == {"OUR_KEY": "ringed", "ANTHROPIC_AUTH_TOKEN": "ringed too"}
    assert keys == Keys(dict.fromkeys(environment, KEYRING), ())


def test_it_is_asked_only_for_what_is_missing_and_not_at_all_where_nothing_is(held: Held) -> None:
    bring({"ANTHROPIC_AUTH_TOKEN": "x", "OUR_KEY": "x"}, WANTED)
    assert held.asked == ["OPENAI_API_KEY"]
    bring({"ANTHROPIC_AUTH_TOKEN": "x", "OUR_KEY": "x", "OPENAI_API_KEY": "x"}, WANTED)
    assert held.asked == ["OPENAI_API_KEY"]


def test_a_locked_keyring_is_a_sentence(held: Held) -> None:
    def refuse() -> None:
        raise keyring.errors.KeyringLocked("the collection is locked")

    held.on_asking = refuse
    assert bring({}, WANTED).notices == ("The system keyring cannot be read: the collection is locked.",)


def test_a_backend_that_breaks_is_a_sentence(held: Held) -> None:
    def burst() -> None:
        raise ZeroDivisionError

    held.on_asking = burst
    assert bring({}, WANTED).notices == ("The system keyring cannot be read: ZeroDivisionError.",)


def test_a_keyring_that_nobody_unlocks_is_given_up(held: Held, monkeypatch: pytest.MonkeyPatch) -> None:
    from threading import Event

    monkeypatch.setattr(keychain, "_PATIENCE_S", 0.05)
    unlocked = Event()
    held.on_asking = unlocked.wait
    assert bring({}, WANTED).notices == ("The system keyring did not answer in 0 seconds.",)
    unlocked.set()


def test_a_machine_without_a_keyring_says_nothing(held: Held) -> None:
    def none() -> None:
        raise keyring.errors.NoKeyringError("no backend")

    held.on_asking = none
    assert bring({}, WANTED) == Keys({}, ())


def test_without_the_extra_nothing_is_imported(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "keyring", None)  # as Python remembers a module that is not there
    monkeypatch.setattr(keychain, "find_spec", lambda name: None)
    assert bring({}, WANTED) == Keys({}, ())
    assert keychain.keyring_state() == "not installed (pip install 'run-debate[keyring]')"
