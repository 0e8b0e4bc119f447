"""The page in a real browser: whole games by clicks, by keys, on a phone, in two tabs, over a restart of the server."""

from __future__ import annotations

import itertools
import json
import shutil
import socket
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import uvicorn
from selenium import webdriver
from selenium.webdriver import ActionChains, Keys
from selenium.webdriver.chrome.service import Service
from selenium.webdriver.common.by import By
from selenium.webdriver.remote.webelement import WebElement
from selenium.webdriver.support.ui import Select, WebDriverWait

from domino_envs.arena import check_record
from domino_envs.games import get_game
from domino_envs.play.command import offered_opponents
from domino_envs.play.seal import Seal
from domino_envs.play.server import make_app
from domino_envs.play.service import Server

CHROMIUM, DRIVER = shutil.which("chromium"), shutil.which("chromedriver")
pytestmark = pytest.mark.skipif(not (CHROMIUM and DRIVER), reason="needs chromium and chromium-driver")

FLAGS = [
    "--headless=new",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-dev-shm-usage",
]


class Running:
    """A server that can be stopped and started again on its port; the deals follow from the test's name."""

    def __init__(self) -> None:
        self.deals: Iterator[str] = iter(())
        self.opponents = {name: found for name, found in offered_opponents().items() if found}
        self.port = 0
        self.start()

    def start(self) -> None:
        listener = socket.socket()
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(("127.0.0.1", self.port))
        self.port = listener.getsockname()[1]
        app = make_app(Server(Seal(b"k" * 32), self.opponents, name_deal=lambda: next(self.deals)))
        self.server = uvicorn.Server(uvicorn.Config(app, log_level="error", lifespan="off"))
        self.listener = listener
        self.thread = threading.Thread(target=self.server.run, kwargs={"sockets": [listener]}, daemon=True)
        self.thread.start()

    def stop(self) -> None:
        self.server.should_exit = self.server.force_exit = True
        self.thread.join()
        self.listener.close()


@pytest.fixture(scope="module")
def server() -> Iterator[Running]:
    running = Running()
    yield running
    running.stop()


@pytest.fixture(scope="module")
def driver(tmp_path_factory: pytest.TempPathFactory) -> Iterator[webdriver.Chrome]:
    options = webdriver.ChromeOptions()
    options.binary_location = str(CHROMIUM)
    for flag in (*FLAGS, f"--user-data-dir={tmp_path_factory.mktemp('profile')}"):
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    chrome = webdriver.Chrome(options=options, service=Service(DRIVER))
    yield chrome
    chrome.quit()


class Page:
    """The page, as a player uses it."""

    def __init__(self, driver: webdriver.Chrome, address: str) -> None:
        self.driver = driver
        self.address = address

    def resize(self, width: int, height: int) -> None:
        size = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 600}
        self.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
        media = [{"name": "prefers-reduced-motion", "value": "reduce"}]
        self.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": media})

    def open(self, width: int = 1280, height: int = 900) -> None:
        """Open the page in a tab that knows no game."""
        self.driver.switch_to.new_window("tab")
        self.resize(width, height)
        self.driver.get(self.address)
        self.until(lambda: self.run("return document.getElementById('setup').open"))

    def run(self, script: str, *args: Any) -> Any:
        return self.driver.execute_script(script, *args)

    def until(self, condition: Callable[[], Any], seconds: float = 120) -> None:
        """Wait; long enough for a first compilation."""
        WebDriverWait(self.driver, seconds, poll_frequency=0.05).until(lambda _: condition())

    def find(self, id_: str) -> WebElement:
        return self.driver.find_element(By.ID, id_)

    def all(self, selector: str) -> list[WebElement]:
        return self.driver.find_elements(By.CSS_SELECTOR, selector)

    def click(self, part: WebElement) -> None:
        """Click as the mouse does: on whatever lies on top there."""
        ActionChains(self.driver, duration=0).move_to_element(part).click().perform()

    def settle(self) -> None:
        """Wait until the person has to do something."""
        self.until(lambda: self.run("return !busy && view !== null && view.turn !== 'opponent'"))

    def new(self, game: str, **choices: str) -> None:
        if not self.find("setup").get_attribute("open"):
            self.find("new").click()
        Select(self.find("game")).select_by_value(game)
        for id_, value in {"opponent": "random", "episode": "deal", "opener": "you", **choices}.items():
            if id_ == "clock-setting":
                self.find(id_).send_keys(value)
            else:
                Select(self.find(id_)).select_by_value(value)
        self.find("deal").click()
        self.until(lambda: not self.find("setup").get_attribute("open"))
        self.settle()

    @property
    def turn(self) -> str:
        return str(self.run("return view.turn"))

    @property
    def document(self) -> dict[str, Any]:
        return json.loads(self.run("return view.document"))  # type: ignore[no-any-return]

    def moves(self) -> list[str]:
        """The moves as listed."""
        found: list[str] = self.run("return [...document.querySelectorAll('#history .move')].map(e => e.textContent)")
        return found

    def make_a_move(self) -> None:
        """Take up a tile and lay it where the page lights up, or press the only button."""
        sources = self.all(".source")
        if not sources:
            self.all("#actions button")[0].click()
        else:
            assert not self.all(".target.lit")
            source = sources[len(self.moves()) % len(sources)]
            self.click(source)
            key = source.get_attribute("data-source")
            lit = self.all(".target.lit")
            assert lit
            assert {target.get_attribute("data-source") for target in lit} == {key}
            target = lit[len(self.moves()) % len(lit)]
            move = target.get_attribute("aria-label")
            number = len(self.moves())
            self.click(target)
            self.until(lambda: len(self.moves()) > number)
            assert self.moves()[number] == move
        self.settle()


@pytest.fixture
def page(driver: webdriver.Chrome, server: Running, request: pytest.FixtureRequest) -> Iterator[Page]:
    server.deals = (f"{request.node.name}-{i}" for i in itertools.count())
    first = driver.current_window_handle
    driver.get_log("browser")
    page = Page(driver, f"http://127.0.0.1:{server.port}/")
    yield page
    for handle in driver.window_handles:
        if handle != first:
            driver.switch_to.window(handle)
            driver.close()
    driver.switch_to.window(first)


@pytest.mark.parametrize(
    ("game", "opponent", "width"),
    [
        ("domaster", "greedy", 1280),
        ("five_bridges", "random", 390),
        ("mate", "perfect", 390),
        ("third_level", "random", 1280),
    ],
)
def test_a_whole_game_by_clicks(game: str, opponent: str, width: int, page: Page) -> None:
    page.open(width, 844 if width == 390 else 900)
    page.new(game, opponent=opponent, episode="set" if game == "mate" else "deal")
    while page.turn != "over":
        assert page.run("return document.documentElement.scrollWidth") <= width  # nothing hangs over the edge
        if page.turn == "wait":
            page.all("#actions button")[0].click()
            page.settle()
        else:
            page.make_a_move()
    assert any(word in page.find("status").text for word in ("win", "drawn"))
    record = page.document["record"]
    check_record(record)
    assert record["moves"] == page.moves()
    assert [button.text for button in page.all("#actions button")] == ["Play again", "New game"]
    assert [entry for entry in page.driver.get_log("browser") if entry["level"] == "SEVERE"] == []


def test_the_tile_can_be_turned(page: Page) -> None:
    page.open()
    page.new("third_level")
    page.click(page.all(".source")[0])
    faces = [button.text for button in page.all("#turns button")]
    low, high = faces[0].split("|")
    assert faces == [f"{low}|{high}", f"{low}\n{high}", f"{high}|{low}", f"{high}\n{low}"]
    directions = []
    for i in range(4):
        directions.append({target.get_attribute("aria-label")[-1] for target in page.all(".target.lit")})  # type: ignore[index]
        if i % 2:
            page.click(page.all(".source")[0])
        else:
            page.driver.switch_to.active_element.send_keys("r")
    assert directions == [{"E"}, {"S"}, {"W"}, {"N"}]


def test_keys_alone_suffice(page: Page) -> None:
    page.open()

    def press(*keys: str) -> None:
        ActionChains(page.driver, duration=0).send_keys(*keys).perform()

    press("M", Keys.TAB, "r", Keys.TAB, "o", Keys.TAB, Keys.TAB, "y", Keys.TAB, Keys.TAB, Keys.ENTER)
    page.until(lambda: not page.find("setup").get_attribute("open"))
    page.settle()
    assert page.run("return view.game") == "mate"
    press("h")
    page.until(lambda: page.find("hints").is_displayed())
    press("?")
    assert "Keys" in page.find("about").text
    press(Keys.ESCAPE)
    for _ in range(20):
        if page.turn != "you":
            break
        number = len(page.moves())
        press(Keys.ARROW_RIGHT)
        focused = page.driver.switch_to.active_element
        assert focused.get_attribute("class") == "source"
        press(Keys.ENTER)
        target = page.driver.switch_to.active_element
        assert target.get_attribute("class") == "target lit"
        if number == 0:
            press(Keys.ESCAPE)  # put it down, and take it up again
            assert page.all(".target.lit") == []
            press(Keys.ENTER)
        press(Keys.ENTER)
        page.until(lambda: len(page.moves()) > number)  # noqa: B023
        page.settle()
    assert page.turn == "over"
    press("u")
    page.until(lambda: page.turn == "you")
    press("n")
    assert page.find("setup").get_attribute("open")


def test_undo_hint_and_looking_back(page: Page) -> None:
    page.open()
    page.new("mate", opponent="greedy")
    page.find("hint").click()
    page.until(lambda: page.find("hints").is_displayed())
    values = page.all("#hint-values tr")
    assert len(values) == len(page.run("return view.moves")) or len(values) == 8
    assert values[0].get_attribute("class") == "best"
    page.make_a_move()
    assert not page.find("hints").is_displayed()
    moves = page.moves()
    page.all("#history button")[0].click()
    page.until(lambda: page.find("status").text == f"After move 1 of {len(moves)}.")
    assert page.all(".source") == []
    page.all("#actions button")[0].click()
    page.until(lambda: page.find("status").text != f"After move 1 of {len(moves)}.")
    page.find("undo").click()
    page.until(lambda: page.moves() == [])
    assert not page.find("undo").is_enabled()


def test_tabs_and_reloads(page: Page) -> None:
    page.open()
    page.new("mate")
    page.make_a_move()
    first, first_moves = page.driver.current_window_handle, page.moves()
    page.open()
    page.new("domaster", opponent="greedy")
    page.make_a_move()
    second_moves = page.moves()
    page.driver.refresh()
    page.until(lambda: page.run("return view !== null"))
    assert page.moves() == second_moves
    page.driver.switch_to.window(first)
    page.driver.refresh()
    page.until(lambda: page.run("return view !== null"))
    page.resize(1280, 900)
    assert page.moves() == first_moves
    page.settle()
    if page.turn == "you":
        page.make_a_move()
        assert page.moves()[: len(first_moves)] == first_moves
    page.open()
    assert page.find("continue").is_displayed()  # a new tab may go on with the last game
    page.find("continue").click()
    page.until(lambda: len(page.moves()) >= len(first_moves))
    assert page.moves()[: len(first_moves)] == first_moves


def test_a_restart_of_the_server_loses_no_game(page: Page, server: Running) -> None:
    page.open()
    page.new("third_level", opponent="greedy")
    page.make_a_move()
    moves = page.moves()
    server.stop()
    try:
        page.find("hint").click() if page.find("hint").is_enabled() else page.all("#actions button")[0].click()
        page.until(lambda: "does not answer" in page.find("status").text)
    finally:
        server.start()
    assert page.moves() == moves
    page.all("#actions button")[0].click()  # try again
    page.until(lambda: "does not answer" not in page.find("status").text)
    page.settle()
    page.make_a_move()
    assert page.moves()[: len(moves)] == moves
    assert len(page.moves()) > len(moves)


def test_records_can_be_saved_and_loaded(page: Page, tmp_path: Path) -> None:
    page.driver.execute_cdp_cmd("Browser.setDownloadBehavior", {"behavior": "allow", "downloadPath": str(tmp_path)})
    page.open()
    page.new("five_bridges", opponent="greedy")
    page.make_a_move()
    moves = page.moves()
    page.find("save").click()
    path = tmp_path / f"five_bridges-{len(moves)}.json"
    page.until(path.exists)
    page.make_a_move()
    assert page.moves() != moves
    page.find("file").send_keys(str(path))
    page.until(lambda: page.moves() == moves)
    page.make_a_move()
    bad = tmp_path / "bad.json"
    bad.write_text('{"moves": 5}')
    before = page.moves()
    page.find("file").send_keys(str(bad))
    page.until(lambda: page.find("problem").is_displayed())
    assert "holds no game record" in page.find("problem").text
    assert page.moves() == before


def test_the_clock_runs_out(page: Page) -> None:
    page.open()
    page.new("mate", **{"clock-setting": "2"})
    assert page.turn == "wait"
    assert page.find("clock-you").text == "You 0:02.0"
    page.all("#actions button")[0].click()
    page.settle()
    start = time.monotonic()
    page.until(lambda: page.turn == "over")
    assert time.monotonic() - start > 1
    assert page.find("status").text.endswith("on time.")
    assert page.moves() == ["out of time"]


def test_a_wrong_setting_is_told_in_the_dialog(page: Page) -> None:
    page.open()
    Select(page.find("game")).select_by_value("mate")
    page.find("clock-setting").send_keys("soon")
    page.find("deal").click()
    page.until(lambda: page.find("setup-problem").is_displayed())
    assert "a clock is written SECONDS" in page.find("setup-problem").text
    assert page.find("setup").get_attribute("open")


def test_dark_and_light(page: Page) -> None:
    page.open()
    page.new("mate")

    def background() -> str:
        return str(page.run("return getComputedStyle(document.querySelector('#board svg > rect')).fill"))

    light = background()
    for scheme in ("dark", "light"):
        media = [{"name": "prefers-color-scheme", "value": scheme}]
        page.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": media})
        page.until(lambda: (background() != light) == (scheme == "dark"))  # noqa: B023
    assert get_game("mate").title in page.driver.title
