# Which file has which name of this folder: see plausible.base.lazy_names.
from plausible.learn.evaluation.cross_validation import CrossValidation as CrossValidation
from plausible.learn.evaluation.cross_validation import LearnerComparison as LearnerComparison
from plausible.learn.evaluation.cross_validation import LearningCurve as LearningCurve
from plausible.learn.evaluation.cross_validation import (
    compare_generative_discriminative as compare_generative_discriminative,
)
from plausible.learn.evaluation.cross_validation import compare_learners as compare_learners
from plausible.learn.evaluation.cross_validation import cross_validate as cross_validate
from plausible.learn.evaluation.cross_validation import learning_curve as learning_curve
from plausible.learn.evaluation.measures import Recovery as Recovery
from plausible.learn.evaluation.measures import mean_loss as mean_loss
from plausible.learn.evaluation.measures import recovery as recovery
from plausible.learn.evaluation.measures import recovery_curve as recovery_curve
from plausible.learn.evaluation.measures import row_losses as row_losses
from plausible.learn.evaluation.measures import score_graph as _score_graph
from plausible.learn.evaluation.predicted_events import Calibration as Calibration
from plausible.learn.evaluation.predicted_events import RocCurve as RocCurve
from plausible.learn.evaluation.predicted_events import calibration as calibration
from plausible.learn.evaluation.predicted_events import roc_curve as roc_curve

# What a stub imports under another name is not passed on; what it assigns is.
score = _score_graph
