"""Keys that stand elsewhere than in the environment: in a `.env` beside the models file, in the system's keyring.

They are put into this process's environment, where it has none, before anything is planned. From there they reach the
models and the processes that hold debates in the background, and are scrubbed from all that is told. A `.env` in the
working folder is never read: it belongs to whatever project that is.
"""

from __future__ import annotations

import io
import stat
from collections.abc import Callable, Iterable, Iterator, Mapping, MutableMapping
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from threading import Thread

from orchestrator.errors import ConfigurationError
from orchestrator.models.key_names import KEYS
from orchestrator.shelves import config_folder

SERVICE = "run-debate"  # under which the keyring keeps them; the user's name there is the variable's
FILE = ".env"
ENVIRONMENT, KEYRING = "environment", "keyring"
_PATIENCE_S = 60.0  # a keyring may ask its owner to unlock it, and a scheduler has nobody who would
# How variables begin that belong to a provider; a `.env` has no business with PATH.
_PROVIDERS = {name.split("_")[0] for names in KEYS.values() for name in names} | {"AWS", "VERTEX", "VERTEXAI"}


@dataclass(frozen=True, slots=True)
class Keys:
    """Where each variable that is set was found, and what a user should read about it."""

    sources: Mapping[str, str]
    notices: tuple[str, ...]


def own_file() -> Path:
    """Where the user's `.env` stands, whatever models file is taken."""
    return config_folder() / "configs" / FILE


def bring(
    environment: MutableMapping[str, str], wanted: Iterable[tuple[str, ...]], models_file: Path | None = None
) -> Keys:
    """Puts keys into the environment: those of the `.env` files, then of the keyring what is still missing.

    Args:
        environment: what it has already wins.
        wanted: variables, of each group one is enough.
        models_file: one that was named by its path; the `.env` beside it is read before the user's own.

    Raises:
        ConfigurationError: a `.env` is there and cannot be read.
    """
    groups = list(wanted)
    named = {variable for group in groups for variable in group}
    sources = {variable: ENVIRONMENT for variable in named if environment.get(variable, "").strip()}
    notices: list[str] = []
    for file in dict.fromkeys([*([models_file.parent / FILE] if models_file else []), own_file()]):
        found = {name: value for name, value in _held(file) if name in named or name.split("_")[0] in _PROVIDERS}
        sources |= _put(environment, found, str(file))
        notices += _of_the_file(file, found, file != own_file())
    missing = [group for group in groups if group and not any(environment.get(name, "").strip() for name in group)]
    if missing and has_keyring():
        found, problem = _patiently(lambda: _in_keyring(missing))
        sources |= _put(environment, found, KEYRING)
        notices += [problem] if problem else []
    return Keys(sources, tuple(notices))


def unread_file() -> str:
    """The sentence about a `.env` in the working folder, or nothing."""
    here = Path(FILE)
    if not here.is_file():
        return ""
    return f"The {FILE} in this folder is not read; what of it is meant for debates belongs into {own_file()}."


def has_keyring() -> bool:
    """Whether the extra is installed; whether a keyring answers is another question."""
    return find_spec("keyring") is not None


def keyring_state() -> str:
    """What kind of keyring would be asked, for people."""
    if not has_keyring():
        return "not installed (pip install 'run-debate[keyring]')"
    import keyring

    kind = type(keyring.get_keyring())
    return (
        "there is none on this machine" if kind.__module__.endswith(".fail") else f"{kind.__module__}.{kind.__name__}"
    )


def _held(file: Path) -> Iterator[tuple[str, str]]:
    """What a `.env` says, line by line, nothing in it replaced by anything else."""
    if not file.is_file():
        return
    from dotenv.parser import parse_stream

    from orchestrator.strict_yaml import read  # here: a server that never plans a debate needs no YAML

    for line in parse_stream(io.StringIO(read(file))):
        if line.error:
            raise ConfigurationError(
                "This is no variable.", "Write NAME=value.", source=str(file), line=line.original.line
            )
        if line.key and line.value:
            yield line.key, line.value


def _put(environment: MutableMapping[str, str], found: Mapping[str, str], source: str) -> dict[str, str]:
    """Sets what is not set, and returns the source of each."""
    news = {name: value for name, value in found.items() if value.strip() and not environment.get(name, "").strip()}
    environment.update(news)
    return dict.fromkeys(news, source)


def _of_the_file(file: Path, found: Mapping[str, str], is_named: bool) -> Iterator[str]:
    if found and is_named:
        yield f"Keys are read from {file}, beside the models file: {', '.join(sorted(found))}."
    if found and file.stat().st_mode & (stat.S_IRGRP | stat.S_IROTH):
        yield f"Others can read the keys in {file}: chmod 600 {file}"


def _in_keyring(groups: Iterable[tuple[str, ...]]) -> tuple[dict[str, str], str]:
    """What the keyring holds, and the sentence about what failed."""
    import keyring
    from keyring.errors import NoKeyringError

    found: dict[str, str] = {}
    try:
        for name in (name for group in groups for name in group):
            if value := keyring.get_password(SERVICE, name):
                found[name] = value
    except NoKeyringError:
        pass  # a machine without one, where keys stand elsewhere
    except Exception as error:  # noqa: BLE001  each backend has errors of its own
        return found, f"The system keyring cannot be read: {str(error) or type(error).__name__}."
    return found, ""


def _patiently(ask: Callable[[], tuple[dict[str, str], str]]) -> tuple[dict[str, str], str]:
    """What `ask` returns, unless nobody unlocks the keyring."""
    answers: list[tuple[dict[str, str], str]] = []
    thread = Thread(target=lambda: answers.append(ask()), name="keyring", daemon=True)
    thread.start()
    thread.join(_PATIENCE_S)
    return answers[0] if answers else ({}, f"The system keyring did not answer in {_PATIENCE_S:.0f} seconds.")
