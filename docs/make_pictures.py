"""Write the pictures of docs/pictures.md and of the README, in docs/pictures.

Run it with `python docs/make_pictures.py` after the look of pictures has changed.
"""

from __future__ import annotations

from pathlib import Path

import plausible as pb
from plausible.plotting import Picture

FOLDER = Path(__file__).with_name("pictures")
_YES_NO = ("no", "yes")


def pictures() -> dict[str, Picture]:
    """File -> picture."""
    return {
        "asia.svg": pb.examples.load("asia").picture(evidence={"xray": "yes", "dysp": "yes"}),
        "pag.svg": pb.PAG("A o-> C; B o-> C; C -> D; D <-> E; E o-o F; B o-> E").picture(),
        "rain.svg": _rain().picture({"umbrella[1]": "yes", "umbrella[2]": "yes"}),
        "oil.svg": pb.examples.load("oil").solve().picture(),
    }


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
    for file, picture in pictures().items():
        picture.save(FOLDER / file)
