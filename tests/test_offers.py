"""The systems that a page offers: what folders and profiles give, and that names come before models."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from pathlib import Path

import pytest
from fakes import FakeWorkbench
from tiny import PASSAGES, QUESTIONS, hits_of, tiny_network

from rtv_core.baselines.load import load_baselines
from rtv_core.baselines.offers import RECALLER_TAU, Offer, Systems, offers
from rtv_core.baselines.stages import CONCATENATED, JOINT, RERANKER
from rtv_core.baselines.systems import RecallerAlone, settings_of
from rtv_core.errors import InputError, MismatchError, MissingError, SettingError
from rtv_core.reading.weights import save_network
from rtv_core.records import Passage, Question, Trace
from rtv_core.settings import Settings


def save_card(folder: Path, **card: object) -> Path:
    folder.mkdir()
    (folder / "rtv.json").write_text(json.dumps(card), encoding="utf-8")
    return folder


def save_stage(stage: str, folder: Path) -> Path:
    network, card, _ = tiny_network()
    save_network(network, replace(card, stage=stage, tau=0.07), folder)
    return folder


def names(*folders: Path) -> tuple[str, ...]:
    return Systems(offers(folders)).names


def test_the_recaller_alone_is_always_there_with_its_own_threshold(tmp_path: Path) -> None:
    assert names() == ("recaller alone",)
    assert Systems(offers()).get("recaller alone", None).tau == RECALLER_TAU
    card = save_card(tmp_path / "models", stage="verifier", training={"calibration": {"recaller_tau": 0.32}})
    assert Systems(offers((), card)).get("recaller alone", None).tau == 0.32
    for number, training in enumerate((None, {"calibration": {"tau": 0.1}})):
        plain = save_card(tmp_path / f"plain{number}", stage="verifier", training=training)
        assert Systems(offers((), plain)).get("recaller alone", None).tau == RECALLER_TAU


def test_folders_are_offered_under_the_names_that_their_systems_have(tmp_path: Path) -> None:
    folders = {stage: save_stage(stage, tmp_path / stage) for stage in (RERANKER, JOINT, CONCATENATED)}
    loaded = load_baselines(folders[RERANKER], folders[JOINT], folders[CONCATENATED])
    assert names(*folders.values())[1:] == tuple(baseline.name for baseline in loaded)
    assert names(folders[JOINT])[1:] == tuple(b.name for b in load_baselines(reader=folders[JOINT]))


def test_a_trained_system_is_loaded_when_it_is_wanted_and_answers(tmp_path: Path) -> None:
    systems = Systems(offers([save_stage(JOINT, tmp_path / "joint")]))
    oracle = systems.get("oracle rerank, then read", None)
    assert systems.get("oracle rerank, then read", None) is oracle
    assert [name for name in systems.names if systems.needs_gold(name)] == [oracle.name]
    question = Question("q", QUESTIONS[3], ((("Ilo",), ("Brae",)),))
    trace = oracle.read(Trace(question, hits=hits_of(PASSAGES), stage="retrieved"))
    assert trace.hits[0].passage == PASSAGES[3]
    assert settings_of(oracle, Settings()).verifier.tau == oracle.tau == 0.07


def test_nothing_is_loaded_to_know_the_names(tmp_path: Path) -> None:
    joint = save_card(tmp_path / "joint", stage=JOINT)  # a card without weights
    assert len(names(joint)) == 4
    with pytest.raises((MissingError, MismatchError, TypeError)):
        Systems(offers([joint])).get("oracle rerank, then read", None)


def test_a_profile_is_a_system_that_retrieves_for_itself(tmp_path: Path) -> None:
    profile = tmp_path / "few.toml"
    profile.write_text("[retriever]\npassages = 1\n[verifier]\ntau = 0.9\nk = 5\n", encoding="utf-8")
    systems = Systems(offers([profile]))
    assert systems.names == ("recaller alone", "profile few")
    workbench = FakeWorkbench([Passage("a", "", "Jack came in 1995."), Passage("b", "", "Jill.")], r"\d{4}")
    other = systems.get("profile few", workbench)
    trace = other.read(Trace(Question("q", "When did Jack come?")))
    assert (len(trace.hits), [c.answer for c in trace.candidates], trace.stage) == (1, ["1995"], "verified")
    assert settings_of(other, Settings()).verifier == other.pipeline.settings.verifier
    assert (other.tau, settings_of(other, Settings()).verifier.k) == (0.9, 5)


def test_what_cannot_be_used_is_refused_with_a_way_on(tmp_path: Path) -> None:
    cases = [
        ([tmp_path / "absent"], MissingError, "train joint-reader"),
        ([save_card(tmp_path / "ours", stage="verifier")], MismatchError, "holds a verifier"),
        ([save_card(tmp_path / "rerank", stage=RERANKER)], InputError, "needs a joint reader"),
        ([tmp_path / "absent.toml"], MissingError, "profile"),
    ]
    for folders, error, words in cases:
        with pytest.raises(error, match=words):
            offers(folders)
    joint = [save_card(tmp_path / name, stage=JOINT) for name in ("one", "two")]
    with pytest.raises(InputError, match="both hold a joint reader"):
        offers(joint)
    bad = tmp_path / "bad.toml"
    bad.write_text("[verifier]\ntau = 7\n", encoding="utf-8")
    with pytest.raises(SettingError):
        offers([bad])
    broken = save_card(tmp_path / "broken")
    (broken / "rtv.json").write_text("{", encoding="utf-8")
    with pytest.raises(MismatchError, match="is no JSON"):
        offers([broken])


def test_an_unknown_name_is_refused_with_those_there_are_and_no_name_stands_twice() -> None:
    with pytest.raises(InputError, match="'recaller alone'"):
        Systems(offers()).get("magic", None)
    with pytest.raises(InputError, match="one name"):
        Systems([*offers(), *offers()])


def test_a_system_of_any_kind_is_one_line() -> None:
    @dataclass
    class Parrot:
        name: str = "parrot"
        tau: float = 0.5
        weights = {}  # noqa: RUF012

        def read(self, trace: Trace) -> Trace:
            return RecallerAlone(name=self.name).read(trace)

    systems = Systems([*offers(), Offer("parrot", lambda _: Parrot())])
    assert systems.get("parrot", None).read(Trace(Question("q", "who"))).stage == "verified"
