"""Policies and scenarios as values."""

import pathlib
import pickle

import pytest

import shortflow as sf


def test_a_shipped_policy_is_loaded_by_its_name() -> None:
    policy = sf.Policy.load("fq-codel")
    assert policy.name == "FQ-CoDel"
    assert "fq-codel" in sf.Policy.shipped() and "office" in sf.Scenario.shipped()


def test_a_mistake_in_a_policy_has_its_place() -> None:
    text = 'name = "X"\n[roles.core]\nqueue.red = { limit = "90 pkt", min_threshold = "oops" }\n'
    with pytest.raises(sf.PolicyError) as caught:
        sf.Policy(text, "x.toml")
    error = caught.value
    assert (error.file, error.line, error.column) == ("x.toml", 3, 49)
    assert error.found == '"oops"'
    assert isinstance(error, sf.InputError) and "x.toml:3" in str(error)


def test_all_mistakes_are_found_at_once(line: sf.Scenario, fifo: sf.Policy) -> None:
    text = line.to_toml().replace('"10 ms"', '"10 parsec"').replace('"100 Mbit/s"', "true")
    with pytest.raises(sf.ScenarioError) as caught:
        sf.Scenario(text, "line.toml").check(fifo)
    assert [one.line for one in caught.value.findings] == [20, 26]


def test_an_exception_survives_a_process(fifo: sf.Policy) -> None:
    with pytest.raises(sf.PolicyError) as caught:
        fifo.set({"roles.core.queue.fifo.limit": "many"})
    again = pickle.loads(pickle.dumps(caught.value))
    assert type(again) is sf.PolicyError and again.findings == caught.value.findings
    assert again.line == caught.value.line and str(again) == str(caught.value)


def test_a_missing_file_is_named_with_a_remedy(here: pathlib.Path) -> None:
    with pytest.raises(sf.InputError, match="cannot read fq-codle.toml") as caught:
        sf.Policy.load("fq-codle.toml")
    assert caught.value.file == "fq-codle.toml"
    assert caught.value.allowed == "did you mean the shipped policy `fq-codel`?"


def test_a_scenario_where_a_policy_is_wanted_is_refused(here: pathlib.Path, line: sf.Scenario) -> None:
    line.write("line.toml")
    with pytest.raises(sf.InputError, match="line.toml is a scenario, not a policy"):
        sf.Policy.load("line.toml")


def test_a_key_is_set_and_comments_stay() -> None:
    policy = sf.Policy('# Why.\n[roles.core]\nqueue.fifo = { limit = "30 pkt" } # short\n')
    longer = policy.set({"roles.core.queue.fifo.limit": "60 pkt"}, name="Longer")
    assert longer.name == "Longer" and policy.name != "Longer"
    assert "# Why." in longer.to_toml() and "# short" in longer.to_toml()
    assert longer.to_dict()["roles"]["core"]["queue"]["fifo"]["limit"] == "60 pkt"


def test_a_policy_built_from_dictionaries_is_the_one_from_text(fifo: sf.Policy) -> None:
    built = sf.Policy.from_dict(fifo.to_dict(), "fifo.toml")
    assert built.to_dict() == fifo.to_dict() and built.summary == fifo.summary


def test_what_was_written_is_read_again(here: pathlib.Path, fifo: sf.Policy) -> None:
    fifo.write("fifo.toml")
    assert sf.Policy.load("fifo.toml") == fifo
    (here / "link.toml").symlink_to(here / "fifo.toml")
    fifo.set(name="Other").write("link.toml")
    assert sf.Policy.load("fifo.toml") == fifo, "not through a link"


@pytest.mark.parametrize(
    ("value", "written"),
    [("10 Mbit/s", "10 Mbit/s"), ("10", '"10"'), (True, "true"), (0.1, "0.1"), (["a", 1], '["a", 1]'), ("= 2 * load", "= 2 * load")],
)
def test_a_value_is_written_as_toml(value: object, written: str) -> None:
    from shortflow._text import as_toml

    assert as_toml("key", value) == written


def test_a_value_that_toml_lacks_is_refused() -> None:
    with pytest.raises(sf.InputError, match="`key` = None"):
        sf.Scenario("", "x").set(key=None)
    with pytest.raises(sf.InputError, match="TOML has no such value"):
        sf.Policy.from_dict({"name": None})


def test_a_checked_scenario_describes_itself(line: sf.Scenario, fifo: sf.Policy) -> None:
    found = sf.check(line, fifo)
    assert isinstance(found, sf.Checked)
    assert (found.name, found.policy, found.workloads) == ("Line", "FIFO", ["web"])
    share = max(link["share"] for link in found.loads[0]["links"])
    assert share == pytest.approx(0.5, rel=1e-3), "1 Mbit/s of 2 Mbit/s"
