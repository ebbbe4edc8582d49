"""What `import plausible` offers, and what it costs."""

from __future__ import annotations

import inspect
import pickle
import re
import subprocess
import sys
from functools import cache
from importlib import import_module
from pathlib import Path

import pytest

import plausible

LAZY_ROOMS = [
    "graphs",
    "factors",
    "inference",
    "learn",
    "causal",
    "utilities",
    "decisions",
    "examples",
    "io",
    "data",
    "scale",
]
FOLDERS = sorted(
    f"{room}.{path.parent.name}"
    for room in LAZY_ROOMS
    for path in Path(plausible.__file__).parent.glob(f"{room}/*/__init__.pyi")
)
PUBLIC = plausible.__all__
HEAVY = [
    "numba",
    "scipy.stats",
    "pandas",
    "matplotlib",
    "networkx",
    "xarray",
    "typer",
    "rich",
    "polars",
    "dask",
    "duckdb",
    "pyarrow",
]


@cache
def _loaded_by(statement: str) -> set[str]:
    code = f"{statement}\nimport sys\nprint('\\n'.join(sys.modules))"
    output = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout
    return set(output.split())


def test_importing_loads_no_heavy_library():
    """`import plausible` stays light: libraries that take long to load wait for the question that needs them."""
    assert _loaded_by("import plausible").isdisjoint(HEAVY)


def test_the_room_of_large_data_loads_no_optional_library():
    """Its names can be had without Dask, DuckDB and Arrow, which wait for the data."""
    statement = "import plausible as pb; pb.scale.DaskStatistics, pb.scale.DuckDBStatistics, pb.scale.DaskPartitions"
    assert _loaded_by(statement).isdisjoint(["dask", "distributed", "duckdb", "pyarrow"])


ASK = (
    "import plausible as pb\n"
    "net = pb.examples.load('asia')\n"
    "str(net.query('lung', evidence={'xray': 'yes'}))\n"
    "net.graph.d_separated('smoke', 'tub')"
)


def test_building_and_asking_a_network_loads_no_heavy_library():
    """A small network is built, asked and printed with NumPy alone."""
    assert _loaded_by(ASK).isdisjoint(HEAVY)


def _stub(module):
    return Path(module.__file__).with_suffix(".pyi").read_text(encoding="utf-8").replace("(\n", "").replace(",\n)", "")


def _homes(module):
    """Where a stub says that each name is, read without the code that loads names: {name: (module, name there)}."""
    lines = _stub(module)
    imported = re.findall(r"^from ([\w.]+) import +(\w+) as (\w+)$", lines, re.MULTILINE)
    short = dict(re.findall(r"^(\w+) = (_\w+)$", lines, re.MULTILINE))
    homes = {name: (home, original) for home, original, name in imported}
    taken_over = [
        _homes(import_module(folder)) for folder in re.findall(r"^from ([\w.]+) import \*$", lines, re.MULTILINE)
    ]
    assert len(set().union(*taken_over)) == sum(map(len, taken_over)), "two folders have a name"
    return {
        **{name: home for names in taken_over for name, home in names.items()},
        **{name: home for name, home in homes.items() if not name.startswith("_")},
        **{name: homes[private] for name, private in short.items()},
    }


def test_all_names_can_be_had_and_are_those_that_type_checkers_see():
    """`__all__`, what `plausible.<name>` gives, and the imports for type checkers agree."""
    homes = _homes(plausible)
    assert sorted(homes) == plausible.__all__ == dir(plausible)
    for name, (home, original) in homes.items():
        module = import_module(f"plausible.{name}") if home == "plausible" else None
        assert getattr(plausible, name) is (module or getattr(import_module(home), original))


@pytest.mark.parametrize("room", [*LAZY_ROOMS, *FOLDERS])
def test_lazy_rooms_and_folders_have_the_names_of_their_stubs(room):
    """Each can be had and is what its file has, also if the file has its name; anything else is an error."""
    module = import_module(f"plausible.{room}")
    homes = _homes(module)
    assert sorted(homes) == module.__all__ == dir(module)
    for name, (home, original) in homes.items():
        if home == module.__name__:
            assert getattr(module, name) is import_module(f"{home}.{name}")
        else:
            assert getattr(import_module(home), original) is getattr(module, name)
            assert not inspect.ismodule(getattr(module, name)), name
    with pytest.raises(AttributeError, match="NoSuchName"):
        module.NoSuchName  # noqa: B018


@pytest.mark.parametrize("folder", FOLDERS)
def test_a_room_has_each_name_of_its_folders_from_there(folder):
    """A name stands in one stub: the room takes over what the folder offers, and nothing from the folder's files."""
    room, name = import_module(f"plausible.{folder.split('.')[0]}"), f"plausible.{folder}"
    of_folder = import_module(name)
    assert getattr(room, folder.split(".")[1]) is of_folder
    assert set(of_folder.__all__) <= set(room.__all__)
    assert f"from {name}." not in _stub(room)
    assert all(home.startswith(f"{name}.") for home, _ in _homes(of_folder).values())


def test_a_public_name_comes_before_the_file_of_that_name():
    """Whichever is loaded first; in a fresh process, in which no room has been asked for a name."""
    homes = ("inference.posterior", "learn.constraint_based.pc", "causal.discovery.fci")
    asks = "\n".join(
        f"import plausible.{home}, plausible.{room} as room; print(callable(room.{name}))"
        for home in homes
        for room, _, name in [home.rpartition(".")]
    )
    told = subprocess.run([sys.executable, "-c", asks], check=True, capture_output=True, text=True).stdout
    assert told.split() == ["True"] * len(homes)


@pytest.mark.parametrize("name", ["structure", "parameters", "em", "score", "structural_em", "gradient_ascent"])
def test_functions_with_a_shorter_name_in_their_room_are_known_by_it(name):
    """Help and pickles call them what users call them."""
    function = getattr(plausible.learn, name)
    assert (function.__module__, function.__name__) == ("plausible.learn", name)
    assert pickle.loads(pickle.dumps(function)) is function


def test_a_network_loads_no_engine_that_it_does_not_need():
    """Asking a network leaves the optimisers and the other samplers where they are."""
    loaded = _loaded_by(ASK)
    idle = ["optimization.linear_relaxation", "sampling.importance_sampling", "variational.mean_field"]
    assert loaded.isdisjoint(f"plausible.inference.{name}" for name in idle)


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("BayesNet", "'BayesianNetwork'"),
        ("essential_graph", "plausible.graphs.essential_graph"),
        ("em", "plausible.learn.em"),
    ],
)
def test_an_unknown_name_is_an_attribute_error_that_says_what_was_meant(name, meant):
    """A name that is close, or the same name in a room."""
    with pytest.raises(AttributeError, match=f"no attribute '{name}'. Did you mean {meant}"):
        getattr(plausible, name)


def test_a_private_name_that_is_asked_for_loads_no_room():
    """Tools try `__wrapped__` and the like on every module."""
    assert "plausible.models" not in _loaded_by("import plausible; hasattr(plausible, '__wrapped__')")


@pytest.mark.parametrize("name", PUBLIC)
def test_every_public_name_has_a_docstring(name):
    """A public name without a docstring is not finished."""
    assert inspect.getdoc(getattr(plausible, name))


ROOMS = ["graphs", "factors", "cpds", "models", "io", "examples", "variables", "inference", "data"]


@pytest.mark.parametrize("room", ROOMS)
def test_every_name_of_a_room_is_documented(room):
    """Every name that a room exports exists, and every class and function has a docstring, its public methods too."""
    module = __import__(f"plausible.{room}", fromlist=["__all__"])
    for name in module.__all__:
        thing = getattr(module, name)
        if not getattr(thing, "__module__", "").startswith("plausible"):
            continue  # an alias of a type from elsewhere, or data
        if inspect.isclass(thing) or inspect.isfunction(thing):
            assert inspect.getdoc(thing), f"{room}.{name} has no docstring"
        if inspect.isclass(thing):
            for attribute, member in vars(thing).items():
                if not attribute.startswith("_") and (inspect.isfunction(member) or isinstance(member, property)):
                    assert inspect.getdoc(member), f"{room}.{name}.{attribute} has no docstring"
