"""Write the pictures of the README, of docs/pictures.md and of the tutorials, in docs/pictures.

Run it with `python docs/make_pictures.py` after the look of pictures has changed.
"""

from __future__ import annotations

from contextlib import chdir, redirect_stdout, suppress
from doctest import DocTestParser
from io import StringIO
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import plausible as pb
from plausible.plotting import Chart, Picture, plot_states, plot_tornado

FOLDER = Path(__file__).resolve().with_name("pictures")
_YES_NO = ("no", "yes")
_GROUPS = {"history": ["asia", "smoke"], "diseases": ["tub", "lung", "bronc", "either"], "findings": ["xray", "dysp"]}


# File -> a tutorial and the picture that it shows, made of what its examples define.
_OF_TUTORIALS = {
    "car.svg": ("first_network", "car.picture({'starts': 'no', 'lights': 'on'})"),
    "customers.svg": ("from_csv_to_a_checked_model", "net.picture({'age': 'young', 'calls': 'many'})"),
    "missing.svg": ("missing_data", "pb.DAG('ill -> cough; cough -> R_ill; ill -> R_ill').picture()"),
    "school.svg": ("effect_from_a_graph", "graph.picture()"),
    "greenhouse.svg": ("from_discovery_to_effect", "pag.graph.picture()"),
    "used_car.svg": ("a_test_worth_its_price", "solution.picture()"),
    "pump.svg": ("time_series", "pump.unroll(4).picture({'vibration[2]': 3.4, 'vibration[3]': 3.1})"),
    "field.svg": ("markov_networks", "potatoes.picture(seen, focus='2_1')"),
}


def pictures() -> dict[str, Picture]:
    """File -> picture."""
    return {
        "asia.svg": pb.examples.load("asia").picture(evidence={"xray": "yes", "dysp": "yes"}),
        "pag.svg": pb.PAG("A o-> C; B o-> C; C -> D; D <-> E; E o-o F; B o-> E").picture(),
        "rain.svg": _rain().picture({"umbrella[1]": "yes", "umbrella[2]": "yes"}),
        "oil.svg": pb.examples.load("oil").solve().picture(),
        "oil_tree.svg": pb.examples.load("oil").decision_tree().solve().picture(),
        "groups.svg": pb.examples.load("asia").picture({"xray": "yes"}, groups=_GROUPS),
        "weather.svg": _weather().picture(),
    }


def pictures_of_tutorials() -> dict[str, Picture]:
    """File -> picture; runs the tutorials."""
    return {file: eval(source, _defined_in(page)) for file, (page, source) in _OF_TUTORIALS.items()}


def charts() -> dict[str, Chart]:
    """File -> chart; their bits depend on the version of matplotlib."""
    asia = pb.examples.load("asia")
    hmm = _weather()
    return {
        "tornado.svg": plot_tornado(asia.tornado("lung", "yes", {"xray": "yes"}, limit=8)),
        "states.svg": plot_states(hmm.smooth(hmm.sample(60, seed=3)["observation"])),
    }


def _defined_in(page: str) -> dict[str, Any]:
    """The names that the examples of a tutorial define; some examples are mistakes, on purpose."""
    names: dict[str, Any] = {}
    text = FOLDER.with_name("tutorials").joinpath(f"{page}.md").read_text(encoding="utf-8")
    with TemporaryDirectory() as folder, chdir(folder), redirect_stdout(StringIO()):
        for example in DocTestParser().get_examples(text):
            with suppress(pb.PlausibleError):
                exec(compile(example.source, page, "single"), names)
    return names


def _weather() -> pb.HiddenMarkovModel:
    """Rain, told by umbrellas."""
    seen = [[0.9, 0.1], [0.2, 0.8]]
    return pb.HiddenMarkovModel([0.5, 0.5], seen, seen, states=["rain", "dry"], symbols=["umbrella", "none"])


def _rain() -> pb.BayesianNetwork:
    """Rain and umbrellas on four days."""
    cpds = [pb.TableCPD("rain[0]", [0.5, 0.5], states=_YES_NO)]
    for day in (1, 2, 3):
        before = [f"rain[{day - 1}]"]
        cpds.append(pb.TableCPD(f"rain[{day}]", [[0.7, 0.3], [0.3, 0.7]], parents=before, states=_YES_NO))
    for day in range(4):
        now = [f"rain[{day}]"]
        cpds.append(pb.TableCPD(f"umbrella[{day}]", [[0.8, 0.2], [0.1, 0.9]], parents=now, states=_YES_NO))
    return pb.BayesianNetwork(cpds)


if __name__ == "__main__":
    for file, picture in (pictures() | pictures_of_tutorials()).items():
        picture.save(FOLDER / file)
    for file, chart in charts().items():
        chart.save(FOLDER / file)
