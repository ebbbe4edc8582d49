# Which file has which name of this folder: see plausible.base.lazy_names.
from plausible.learn.classifiers.classifier import IncompleteRows as IncompleteRows
from plausible.learn.classifiers.classifier import UnseenStates as UnseenStates
from plausible.learn.classifiers.estimator import NotFitted as NotFitted
from plausible.learn.classifiers.kinds import BayesianNetworkClassifier as BayesianNetworkClassifier
from plausible.learn.classifiers.kinds import KDBClassifier as KDBClassifier
from plausible.learn.classifiers.kinds import NaiveBayesClassifier as NaiveBayesClassifier
from plausible.learn.classifiers.kinds import TANClassifier as TANClassifier
