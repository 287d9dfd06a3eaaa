"""Accounts: only hashes are kept, only their owner reads them, and a name belongs to one person."""

from __future__ import annotations

import json
import stat
from pathlib import Path

import pytest
from argon2 import PasswordHasher
from click.testing import CliRunner

from rtv_core.accounts import Accounts, name_key
from rtv_core.cli import cli
from rtv_core.errors import InputError, MissingError

CHEAP = PasswordHasher(time_cost=1, memory_cost=8, parallelism=1)
PASSWORD = "correct horse"


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "people.json"


@pytest.fixture
def accounts(path: Path) -> Accounts:
    accounts = Accounts(path, CHEAP)
    accounts.add("Ann", PASSWORD)
    return accounts


def test_the_right_password_gives_the_accounts_own_name(accounts: Accounts) -> None:
    assert accounts.verify("Ann", PASSWORD) == "Ann"
    assert accounts.verify(" aNN ", PASSWORD) == "Ann"


@pytest.mark.parametrize(
    "password", ["", "correct hors", "Correct horse", "correct horse ", "\ud800", "x" * 9999]
)
def test_another_password_gives_nobody(accounts: Accounts, password: str) -> None:
    assert accounts.verify("Ann", password) is None


@pytest.mark.parametrize("name", ["bob", "", "Ann\u200b", "\ud800", "a" * 100_000])
def test_an_unknown_name_gives_nobody(accounts: Accounts, name: str) -> None:
    assert accounts.verify(name, PASSWORD) is None


def test_an_unknown_name_costs_as_much_as_a_wrong_password(path: Path) -> None:
    class Counting(PasswordHasher):
        checked = 0

        def verify(self, *arguments: str) -> bool:
            self.checked += 1
            return super().verify(*arguments)

    hasher = Counting(time_cost=1, memory_cost=8, parallelism=1)
    accounts = Accounts(path, hasher)
    accounts.add("Ann", PASSWORD)
    accounts.verify("Ann", "wrong")
    assert hasher.checked == 1
    accounts.verify("bob", "wrong")
    assert hasher.checked == 2


def test_an_accent_may_be_typed_either_way(accounts: Accounts) -> None:
    accounts.add("Zoe\u0308", "cafe\u0301 au lait")
    assert accounts.verify("Zo\u00eb", "caf\u00e9 au lait") == "Zo\u00eb"


def test_the_file_holds_no_password_and_is_closed_to_others(accounts: Accounts, path: Path) -> None:
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    kept = json.loads(path.read_text(encoding="utf-8"))
    assert list(kept) == ["Ann"]
    assert kept["Ann"].startswith("$argon2id$")
    assert PASSWORD not in path.read_text(encoding="utf-8")


@pytest.mark.parametrize("mode", [0o604, 0o640, 0o660])
def test_a_file_that_others_can_read_is_refused(accounts: Accounts, path: Path, mode: int) -> None:
    path.chmod(mode)
    with pytest.raises(InputError, match="chmod 600"):
        accounts.verify("Ann", PASSWORD)


@pytest.mark.parametrize("name", ["Ann", "ann", "  ANN ", "Ａｎｎ"])
def test_a_name_that_only_looks_new_is_refused(accounts: Accounts, name: str) -> None:
    with pytest.raises(InputError, match="There is an account 'Ann'"):
        accounts.add(name, PASSWORD)
    assert accounts.names() == ["Ann"]


@pytest.mark.parametrize("name", ["", "   ", "!?", "an\u200bn", "a\nb\x00", "\ud800", "n" * 81])
def test_a_name_that_can_not_be_shown_is_refused(accounts: Accounts, name: str) -> None:
    with pytest.raises(InputError):
        accounts.add(name, PASSWORD)
    assert accounts.names() == ["Ann"]


@pytest.mark.parametrize("password", ["", "short", "1234567", "x" * 1001])
def test_a_password_is_neither_empty_nor_short_nor_endless(path: Path, password: str) -> None:
    with pytest.raises(InputError, match="must have 8 to 1,000"):
        Accounts(path, CHEAP).add("Ann", password)
    assert not path.exists()


def test_names_have_one_key_whatever_their_case_width_and_spacing() -> None:
    assert name_key(" Ann  Lee") == name_key("ａｎｎ lee")
    assert name_key("Ann") != name_key("Anna")


def test_without_an_account_nobody_can_sign_in(path: Path) -> None:
    with pytest.raises(MissingError, match="accounts add NAME --file"):
        Accounts(path).names()
    path.write_text("{}", encoding="utf-8")
    path.chmod(0o600)
    with pytest.raises(MissingError, match="no account in"):
        Accounts(path).names()
    assert Accounts(path, CHEAP).verify("admin", "admin") is None


def test_nobody_is_an_admin_unless_it_is_asked_for(accounts: Accounts) -> None:
    assert accounts.admins() == []
    assert accounts.add("Zoe", PASSWORD, admin=True) == "Zoe"
    assert accounts.admins() == ["Zoe"]
    assert accounts.names() == ["Ann", "Zoe"]
    assert accounts.verify("zoe", PASSWORD) == "Zoe"
    accounts.add("bob", PASSWORD)
    assert accounts.admins() == ["Zoe"]


def test_a_file_of_names_and_hashes_alone_stays_valid_and_as_it_was(accounts: Accounts, path: Path) -> None:
    before = json.loads(path.read_text(encoding="utf-8"))
    assert all(isinstance(value, str) for value in before.values())
    accounts.add("Zoe", PASSWORD, admin=True)
    accounts.remove("Zoe")
    assert json.loads(path.read_text(encoding="utf-8")) == before
    assert Accounts(path).verify("Ann", PASSWORD) == "Ann"


def test_an_admin_who_is_added_again_without_the_flag_is_none_any_more(accounts: Accounts) -> None:
    accounts.add("Zoe", PASSWORD, admin=True)
    accounts.remove("Zoe")
    accounts.add("Zoe", PASSWORD)
    assert accounts.admins() == []


NOT_ACCOUNTS = (
    "",
    "[]",
    "{",
    "\xff",
    '{"Ann": 1}',
    '{"Ann": null}',
    '{"Ann": {"hash": "x"}}',
    '{"Ann": {"hash": "x", "admin": 1}}',
    '{"Ann": {"hash": 1, "admin": true}}',
    '{"Ann": {"hash": "x", "admin": true, "more": 1}}',
)


@pytest.mark.parametrize("text", NOT_ACCOUNTS)
def test_a_file_of_something_else_is_refused(path: Path, text: str) -> None:
    path.write_bytes(text.encode("latin-1"))
    path.chmod(0o600)
    with pytest.raises(InputError, match="not a file of accounts"):
        Accounts(path).names()


def test_a_damaged_hash_lets_nobody_in(accounts: Accounts, path: Path) -> None:
    path.write_text('{"Ann": "plain text"}', encoding="utf-8")
    assert accounts.verify("Ann", "plain text") is None


def test_a_removed_account_is_gone_and_its_name_free(accounts: Accounts) -> None:
    assert accounts.remove("ann") == "Ann"
    assert accounts.verify("Ann", PASSWORD) is None
    with pytest.raises(MissingError):
        accounts.remove("Ann")
    assert accounts.add("Ann", PASSWORD) == "Ann"


def test_an_account_keeps_its_stamp_until_it_is_removed_or_gets_another_password(
    accounts: Accounts, path: Path
) -> None:
    server = Accounts(path, CHEAP)
    first = server.stamp("Ann")
    assert first
    assert PASSWORD not in first
    accounts.add("bob", PASSWORD)
    assert server.stamp("Ann") == first != server.stamp("bob")
    assert server.stamp("ann") is server.stamp("nobody") is None
    accounts.remove("Ann")
    assert server.stamp("Ann") is None
    accounts.add("Ann", PASSWORD)
    assert server.stamp("Ann") not in (None, first)
    path.unlink()
    with pytest.raises(MissingError):
        server.stamp("Ann")


def test_of_two_changes_at_once_the_second_waits_for_a_person(accounts: Accounts, path: Path) -> None:
    part = path.with_name("people.json.part")
    part.touch()
    with pytest.raises(InputError, match="Another command is changing"):
        accounts.add("bob", PASSWORD)
    assert part.exists()
    assert accounts.names() == ["Ann"]


def test_the_commands_ask_twice_and_never_show_the_password(path: Path) -> None:
    def call(*arguments: str, typed: str = "") -> str:
        return CliRunner().invoke(cli, [*arguments, "--file", str(path)], input=typed).output

    assert "do not match" in call("accounts", "add", "Ann", typed=f"{PASSWORD}\n{PASSWORD}x\n")
    assert not path.exists()
    added = call("accounts", "add", "Ann", typed=f"{PASSWORD}\n{PASSWORD}\n")
    assert "Ann can sign in" in added
    assert PASSWORD not in added
    assert "accounts add NAME --admin" in added
    assert call("accounts", "list") == "Ann\n"
    also = call("accounts", "add", "Zoe", "--admin", typed=f"{PASSWORD}\n{PASSWORD}\n")
    assert "Zoe can sign in, and is an admin." in also
    assert "accounts add NAME --admin" not in also
    assert call("accounts", "list") == "Ann\nZoe\tadmin\n"
    removed = call("accounts", "remove", "Ann")
    assert "no longer sign in; open sessions have ended" in removed
