# Which file has which name of this folder: see plausible.base.lazy_names.
from plausible.learn.sequences.baum_welch import DegenerateStates as DegenerateStates
from plausible.learn.sequences.baum_welch import HMMChoice as HMMChoice
from plausible.learn.sequences.baum_welch import HMMFit as HMMFit
from plausible.learn.sequences.baum_welch import HMMProblem as HMMProblem
from plausible.learn.sequences.baum_welch import HMMScore as HMMScore
from plausible.learn.sequences.baum_welch import HMMState as HMMState
from plausible.learn.sequences.baum_welch import choose_hmm_states as choose_hmm_states
from plausible.learn.sequences.baum_welch import hmm as hmm
from plausible.learn.sequences.chains_of_order import ChainFit as ChainFit
from plausible.learn.sequences.chains_of_order import NGramCounts as NGramCounts
from plausible.learn.sequences.chains_of_order import markov_chain as markov_chain
from plausible.learn.sequences.chains_of_order import ngram_counts as ngram_counts
from plausible.learn.sequences.priors import HMMPrior as HMMPrior
from plausible.learn.sequences.sequence_classifier import SequenceClassifier as SequenceClassifier
