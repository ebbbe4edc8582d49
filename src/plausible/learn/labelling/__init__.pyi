# Which file has which name of this folder: see plausible.base.lazy_names.
from plausible.learn.labelling.crf import ChainCRF as ChainCRF
from plausible.learn.labelling.explanation import Contribution as Contribution
from plausible.learn.labelling.explanation import Explanation as Explanation
from plausible.learn.labelling.labeller import Labelling as Labelling
from plausible.learn.labelling.local_models import HiddenMarkovLabeller as HiddenMarkovLabeller
from plausible.learn.labelling.local_models import MaximumEntropyMarkovModel as MaximumEntropyMarkovModel
from plausible.learn.labelling.training import Training as Training
