# Which file has which name of this folder: see plausible.base.lazy_names.
from plausible.learn.independence.count_tests import ChiSquareTest as ChiSquareTest
from plausible.learn.independence.count_tests import GTest as GTest
from plausible.learn.independence.count_tests import PermutationTest as PermutationTest
from plausible.learn.independence.gaussian_tests import ConditionalGaussianTest as ConditionalGaussianTest
from plausible.learn.independence.gaussian_tests import FisherZ as FisherZ
from plausible.learn.independence.independence_test import DSeparationOracle as DSeparationOracle
from plausible.learn.independence.independence_test import FunctionTest as FunctionTest
from plausible.learn.independence.independence_test import IndependenceResult as IndependenceResult
from plausible.learn.independence.independence_test import IndependenceTest as IndependenceTest
from plausible.learn.independence.independence_test import MSeparationOracle as MSeparationOracle
