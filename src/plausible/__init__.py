"""Probabilistic graphical models: represent, infer, learn, reason about causes, decide.

>>> import plausible as pb
>>> net = pb.examples.load("asia")
>>> print(net.query("lung", evidence={"xray": "yes"}))
lung |    value
-----+---------
yes  | 0.488711
no   | 0.511289
"""

from plausible.base.lazy_names import lazy_names

__version__ = "0.2.0"

__getattr__, __dir__, __all__ = lazy_names(__name__, __file__)
