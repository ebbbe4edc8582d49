# Which file has which name of this folder: see plausible.base.lazy_names.
from plausible.learn.relations.learning import RelationalFit as RelationalFit
from plausible.learn.relations.learning import learn_relational as _learn_relational

relational = _learn_relational
