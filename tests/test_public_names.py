"""What `import plausible` offers, and what it costs."""

from __future__ import annotations

import ast
import inspect
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest

import plausible

LAZY_ROOMS = ["inference", "learn", "causal", "decisions", "examples"]
PUBLIC = [name for name in plausible.__all__ if name != "__version__"]
HEAVY = ["numba", "scipy.stats", "pandas", "matplotlib", "networkx", "xarray", "typer", "rich", "polars"]


def _loaded_by(statement: str) -> set[str]:
    code = f"{statement}\nimport sys\nprint('\\n'.join(sys.modules))"
    output = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout
    return set(output.split())


def test_importing_loads_no_heavy_library():
    """`import plausible` stays light: libraries that take long to load wait for the question that needs them."""
    assert _loaded_by("import plausible").isdisjoint(HEAVY)


def test_building_and_asking_a_network_loads_no_heavy_library():
    """A small network is built, asked and printed with NumPy alone."""
    statement = (
        "import plausible as pb\n"
        "net = pb.examples.load('asia')\n"
        "str(net.query('lung', evidence={'xray': 'yes'}))\n"
        "net.graph.d_separated('smoke', 'tub')"
    )
    assert _loaded_by(statement).isdisjoint(HEAVY)


def test_all_names_can_be_had_and_are_those_that_type_checkers_see():
    """`__all__`, what `plausible.<name>` gives, and the imports for type checkers agree."""
    tree = ast.parse(Path(plausible.__file__).read_text(encoding="utf-8"))
    block = next(node for node in tree.body if isinstance(node, ast.If))
    seen = [alias.name for node in block.body if isinstance(node, ast.ImportFrom) for alias in node.names]
    assert sorted(seen) == sorted(PUBLIC)
    assert all(hasattr(plausible, name) for name in PUBLIC)
    assert set(dir(plausible)) == set(plausible.__all__)


@pytest.mark.parametrize("room", LAZY_ROOMS)
def test_lazy_rooms_have_the_names_of_their_stubs(room):
    """Each can be had, is what its file has, and is not the name of a file; anything else is an error."""
    module = import_module(f"plausible.{room}")
    stub = ast.parse(Path(module.__file__).with_suffix(".pyi").read_text(encoding="utf-8"))
    homes = {
        alias.asname or alias.name: (node.module, alias.name)
        for node in stub.body
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }
    assert sorted(homes) == module.__all__ == dir(module)
    for name, (file, original) in homes.items():
        assert not inspect.ismodule(getattr(module, name)), name
        assert getattr(import_module(file), original) is getattr(module, name)
    with pytest.raises(AttributeError, match="NoSuchName"):
        module.NoSuchName  # noqa: B018


def test_a_network_loads_no_engine_that_it_does_not_need():
    """Asking a network leaves the optimisers and the other samplers where they are."""
    loaded = _loaded_by("import plausible as pb; pb.examples.load('asia').query('lung')")
    idle = ["optimization.linear_relaxation", "sampling.importance_sampling", "variational.mean_field"]
    assert loaded.isdisjoint(f"plausible.inference.{name}" for name in idle)


def test_an_unknown_name_is_an_attribute_error():
    """`plausible.<typing error>` fails as for any module."""
    with pytest.raises(AttributeError, match="BayesNet"):
        plausible.BayesNet  # noqa: B018


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
