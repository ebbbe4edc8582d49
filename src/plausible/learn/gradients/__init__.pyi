# Which file has which name of this folder: see plausible.base.lazy_names.
from plausible.learn.gradients.gradient import GaussianGradient as GaussianGradient
from plausible.learn.gradients.gradient import LikelihoodGradient as LikelihoodGradient
from plausible.learn.gradients.gradient import gaussian_likelihood_gradient as gaussian_likelihood_gradient
from plausible.learn.gradients.gradient import log_likelihood_gradient as log_likelihood_gradient
from plausible.learn.gradients.information import Identifiability as Identifiability
from plausible.learn.gradients.information import LikelihoodHessian as LikelihoodHessian
from plausible.learn.gradients.information import ObservedInformation as ObservedInformation
from plausible.learn.gradients.information import identifiability as identifiability
from plausible.learn.gradients.information import log_likelihood_hessian as log_likelihood_hessian
from plausible.learn.gradients.information import observed_information as observed_information
from plausible.learn.gradients.learner import GradientFit as GradientFit
from plausible.learn.gradients.learner import GradientOptions as GradientOptions
from plausible.learn.gradients.learner import learn_by_gradient as _learn_by_gradient
from plausible.learn.gradients.learner import learn_conditional as learn_conditional

# What a stub imports under another name is not passed on; what it assigns is.
gradient_ascent = _learn_by_gradient
