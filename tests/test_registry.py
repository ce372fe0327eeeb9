"""Registries: parts by name, plugins of installed distributions, and how invalid ones fail."""

import re
import sys
from typing import ClassVar, Protocol

import pytest
from tests.installed import install

from knotwork._registry import Entry, Registry, installed_plugins
from knotwork.errors import ConfigError, UnknownName


class Greeter(Protocol):
    """What the parts of these tests implement."""

    is_polite: ClassVar[bool]
    name: str

    @property
    def language(self) -> str: ...

    def greet(self, who: str) -> str: ...


class Plain:
    """Greets without ado."""

    is_polite = False
    language = "en"

    def __init__(self, *, mark: str = ".") -> None:
        self.name = "plain"
        self._mark = mark

    def greet(self, who: str) -> str:
        return f"{who}{self._mark}"


POLITE = '''
from dataclasses import dataclass

class Polite:
    """Greets with respect.

    More about it.
    """

    is_polite = True
    name = "polite"

    def __init__(self, *, model, mark="!"):
        self.mark = mark

    @property
    def language(self):
        raise RuntimeError("a property is not evaluated")

    def greet(self, who):
        return f"Dear {who}{self.mark}"

class Silent:
    is_polite = True
    name = "silent"
    language = "none"

def make(*, model=None):
    return object()

make.is_polite = True
CONSTANT = 3

class Demanding(Polite):
    def __init__(self, *, secret):
        pass
'''


@pytest.fixture
def site(tmp_path, monkeypatch):
    """A folder of installed distributions, whose modules are forgotten afterwards."""
    monkeypatch.syspath_prepend(str(tmp_path))
    known = set(sys.modules)
    installed_plugins.cache_clear()
    yield tmp_path
    installed_plugins.cache_clear()
    for module in set(sys.modules) - known:
        del sys.modules[module]


@pytest.fixture
def greeters():
    return lambda reserved=(): Registry(
        "greeters",
        (Entry("plain", f"{__name__}:Plain", "without ado"),),
        kind="greeter",
        protocol=Greeter,
        reserved=reserved,
    )


def install_polite(site, points, name="courtesy", module="courtesy.py"):
    install(site, name, {"knotwork.greeters": points}, modules={module: POLITE})


def test_a_plugin_is_used_like_a_built_in_part(site, greeters):
    install_polite(site, {"polite": "courtesy:Polite"})
    registry = greeters()
    assert registry.names() == ["plain", "polite"]
    assert "polite" in registry
    assert registry.create("plain", mark="?", model=None).greet("Ann") == "Ann?"
    assert registry.create("polite", mark="?", model=1, other=2).greet("Ann") == "Dear Ann?"
    plain, polite = registry.entries()
    assert (plain.summary, plain.origin, plain.is_plugin) == ("without ado", "knotwork", False)
    assert (polite.summary, polite.origin) == ("Greets with respect", "courtesy 1.0")
    assert polite.needs == {"model"}
    assert registry.faults() == []


def test_built_in_names_neither_look_for_plugins_nor_import_other_parts(site, greeters):
    install_polite(site, {"polite": "courtesy:Polite"})
    registry = greeters(reserved={"auto"})
    assert "plain" in registry
    assert registry.create("plain").greet("Ann") == "Ann."
    assert "auto" not in registry
    assert "two words" not in registry
    assert registry.names(plugins=False) == ["plain"]
    assert installed_plugins.cache_info().misses == 0
    assert "polite" in registry
    assert installed_plugins.cache_info().misses == 1
    assert "courtesy" not in sys.modules


def test_an_unknown_name_lists_plugins_too(site, greeters):
    install_polite(site, {"polite": "courtesy:Polite"})
    with pytest.raises(UnknownName, match="Did you mean `polite`") as raised:
        greeters().create("polit")
    assert raised.value.valid == ["plain", "polite"]


def test_a_plugin_with_the_name_of_a_built_in_part_is_refused_and_listed(site, greeters):
    install_polite(site, {"plain": "courtesy:Polite", "polite": "courtesy:Polite"})
    registry = greeters()
    assert registry.create("plain").greet("Ann") == "Ann."
    (fault,) = registry.faults()
    assert "The greeter `plain` of courtesy 1.0 cannot be used" in fault.message
    assert "knotwork has a greeter of this name" in fault.message
    assert fault.fix == "Uninstall courtesy."
    assert registry.create("plain").greet("Ann") == "Ann."
    assert [entry.name for entry in registry.entries()] == ["plain", "polite"]


@pytest.mark.parametrize("count", [2, 3])
def test_plugins_of_one_name_are_all_refused(site, greeters, count):
    for number in range(count):
        install_polite(site, {"polite": "courtesy:Polite"}, name=f"courtesy-{number}")
    registry = greeters()
    with pytest.raises(ConfigError) as found:
        registry.create("polite")
    assert "courtesy-1 1.0 cannot be used: courtesy-0 1.0" in found.value.message
    assert found.value.fix == "Uninstall courtesy-1 or courtesy-0."
    assert registry.names() == ["plain"]
    assert len(registry.faults()) == 1


def test_a_distribution_that_is_on_the_path_twice_is_no_duplicate(site, greeters, monkeypatch):
    install_polite(site, {"polite": "courtesy:Polite"})
    install(site / "other", "Courtesy", {"knotwork.greeters": {"polite": "courtesy:Polite"}})
    monkeypatch.syspath_prepend(str(site / "other"))
    registry = greeters()
    assert registry.names() == ["plain", "polite"]
    assert registry.faults() == []


@pytest.mark.parametrize("name", ["two words", "a:b", "9lives", "naïve", "-x", "a>b", "auto"])
def test_a_name_that_cannot_be_written_is_refused(site, greeters, name):
    install_polite(site, {"polite": "courtesy:Polite"})
    text = (site / "courtesy-1.0.dist-info" / "entry_points.txt").read_text()
    path = site / "courtesy-1.0.dist-info" / "entry_points.txt"
    path.write_text(text.replace("polite =", f"{name} ="), encoding="utf-8")
    registry = greeters(reserved={"auto"})
    (fault,) = registry.faults()
    # `a:b = c` is read as `a = b = c` by the library that reads entry points
    assert "cannot be used: its name is" in fault.message or "raised" in fault.message
    assert "courtesy 1.0" in fault.message
    assert registry.names() == ["plain"]


@pytest.mark.parametrize(
    ("target", "reason"),
    [
        ("absent:Polite", "importing `absent:Polite` raised ModuleNotFoundError"),
        ("courtesy:Absent", "raised AttributeError"),
        ("broken:Polite", "importing `broken:Polite` raised ZeroDivisionError"),
        ("leaving:Polite", "raised SystemExit"),
        ("courtesy", "neither a class nor a function"),
        ("courtesy:CONSTANT", "neither a class nor a function"),
        ("courtesy:Silent", "it lacks `greet` of `Greeter`"),
        ("not a path!", "raised ModuleNotFoundError"),
    ],
)
def test_a_plugin_that_is_no_part_names_itself_its_distribution_and_the_cause(
    site, greeters, target, reason
):
    install_polite(site, {"faulty": target, "polite": "courtesy:Polite"})
    (site / "broken.py").write_text("1 / 0")
    (site / "leaving.py").write_text("raise SystemExit")
    registry = greeters()
    with pytest.raises(ConfigError, match=re.escape(reason)) as raised:
        registry.create("faulty")
    assert "greeter `faulty` of courtesy 1.0" in raised.value.message
    assert "pip install --upgrade courtesy" in raised.value.fix
    assert [entry.name for entry in registry.entries()] == ["plain", "polite"]
    (fault,) = registry.faults()
    assert fault.message == raised.value.message
    assert "faulty" not in registry.names()


def test_a_part_made_by_a_target_is_checked(site, greeters):
    install_polite(site, {"empty": "courtesy:make", "demanding": "courtesy:Demanding"})
    registry = greeters()
    with pytest.raises(ConfigError, match="lacks `greet`, `is_polite`, `language`, `name` of"):
        registry.create("empty", model=1)
    with pytest.raises(ConfigError, match="requires `secret`, but is offered only `model`"):
        registry.create("demanding", model=1)


def test_an_object_given_in_place_of_a_name_is_checked(greeters):
    greeters().check(Plain())
    with pytest.raises(ConfigError, match="A `dict` is not a valid greeter: it lacks `greet`"):
        greeters().check({})


def test_two_built_in_parts_of_one_name_cannot_be_registered():
    entry = Entry("plain", f"{__name__}:Plain")
    with pytest.raises(ConfigError, match="of this name too"):
        Registry("greeters", (entry, entry), kind="greeter", protocol=Greeter)


def test_extras_of_an_entry_point_are_ignored(site, greeters):
    install_polite(site, {"polite": "courtesy:Polite [formal]"})
    assert greeters().create("polite", model=1).greet("Ann") == "Dear Ann!"
