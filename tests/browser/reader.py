"""Who reads a page in a browser: the file is opened as a person would open it, with no network there is."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import pytest

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

T = TypeVar("T")

_QUIET = ("--disable-gpu", "--disable-background-networking", "--disable-component-update", "--disable-sync")
_PHONE = {"width": 380, "height": 800}
_DESK = {"width": 1280, "height": 900}


@contextmanager
def launched() -> Iterator[Browser]:
    path = shutil.which("chromium")
    if path is None:
        pytest.skip("there is no chromium on PATH")
    playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    with playwright.sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=path, args=["--no-sandbox", "--no-first-run", *_QUIET])
        yield browser
        browser.close()


@dataclass
class Reading:
    """A page that is open, and all that was heard of it: requests, dialogs, console, errors."""

    page: Page
    requests: list[str] = field(default_factory=list)
    noise: list[str] = field(default_factory=list)

    @property
    def verdict(self) -> str:
        """What the check came to: verified, broken or unchecked."""
        return str(self.page.locator("#check").get_attribute("class"))

    @property
    def told(self) -> str:
        return self.page.locator("#check").inner_text()

    def checked(self) -> str:
        """What the check came to, once it has run."""
        self.page.wait_for_selector("#check:not(.unchecked)", timeout=10_000)
        return self.verdict

    def words(self, selector: str) -> list[str]:
        return self.page.locator(selector).all_text_contents()

    def overflow(self) -> int:
        """How many pixels the page is wider than its window."""
        return int(self.page.evaluate("document.documentElement.scrollWidth - window.innerWidth"))

    def expand(self) -> None:
        self.page.evaluate("document.querySelectorAll('details').forEach((each) => { each.open = true; })")

    def keep(self, name: str, folder: Path) -> Path:
        """Takes a picture of the whole page: into the folder that BROWSER_SHOTS names, else into the given one."""
        shot = Path(os.environ.get("BROWSER_SHOTS") or folder) / f"{name}.png"
        shot.parent.mkdir(parents=True, exist_ok=True)
        self.page.screenshot(path=str(shot), full_page=True)
        return shot


@contextmanager
def reading(browser: Browser, file: Path, *, phone: bool = False, **options: Any) -> Iterator[Reading]:
    """Opens a file in a context of its own, offline.

    Args:
        options: the context's, such as `color_scheme` or `java_script_enabled`.
    """
    context = browser.new_context(offline=True, viewport=_PHONE if phone else _DESK, **options)
    page = context.new_page()
    found = Reading(page)
    page.on("request", lambda request: found.requests.append(request.url))
    page.on("console", lambda message: found.noise.append(f"console: {message.text}"))
    page.on("pageerror", lambda error: found.noise.append(f"error: {error}"))
    page.on("popup", lambda popup: found.noise.append(f"popup: {popup.url}"))
    page.on("download", lambda download: found.noise.append(f"download: {download.url}"))
    page.on("dialog", lambda dialog: (found.noise.append(f"dialog: {dialog.message}"), dialog.dismiss()))
    try:
        page.goto(file.as_uri(), wait_until="load")
        yield found
    finally:
        context.close()


def apart(make: Callable[..., T], *args: Any) -> T:
    """Calls what runs an event loop of its own, in a thread that has none yet."""
    with ThreadPoolExecutor(1) as threads:
        return threads.submit(make, *args).result()
