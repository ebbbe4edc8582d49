"""Learning from data: `learn.parameters`, `learn.structure`, and the scores, priors and tests that they use."""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from plausible.learn.bayesian.completion_problem import CompletionProblem
    from plausible.learn.bayesian.parameter_draws import ParameterDraws
    from plausible.learn.bayesian.samplers import (
        BlockMetropolis,
        CellGibbs,
        CollapsedCellGibbs,
        ParameterState,
        ParameterWalk,
        PriorWeighting,
        RowGibbs,
    )
    from plausible.learn.bayesian.sampling import sample_parameters
    from plausible.learn.bayesian.variational import (
        VariationalFit,
        VariationalState,
        variational_bayes,
        variational_init,
        variational_step,
    )
    from plausible.learn.bayesian.variational_clustering import cluster_by_variational_bayes
    from plausible.learn.chains import ChainProgress
    from plausible.learn.classifiers.classifier import IncompleteRows, UnseenStates
    from plausible.learn.classifiers.estimator import NotFitted
    from plausible.learn.classifiers.kinds import (
        BayesianNetworkClassifier,
        KDBClassifier,
        NaiveBayesClassifier,
        TANClassifier,
    )
    from plausible.learn.confidence.bootstrap import bootstrap
    from plausible.learn.confidence.edge_strengths import EdgeStrengths, estimate_threshold
    from plausible.learn.confidence.exact_posterior import ExactPosterior, edge_posterior, enumerate_posterior
    from plausible.learn.confidence.model_average import ModelAverage
    from plausible.learn.confidence.order_chain import sample_orders
    from plausible.learn.confidence.order_posterior import OrderPosterior, order_posterior
    from plausible.learn.confidence.sampled_posterior import ChainLengths, SampledPosterior
    from plausible.learn.confidence.score_sensitivity import ScoreSensitivity, score_sensitivity
    from plausible.learn.confidence.structure_chain import sample_structures
    from plausible.learn.confidence.weighted_graphs import WeightedGraphs
    from plausible.learn.constraint_based.blanket_structure import structure_from_blankets
    from plausible.learn.constraint_based.markov_blankets import BlanketResult, markov_blanket
    from plausible.learn.constraint_based.orientation import Conflict
    from plausible.learn.constraint_based.parents_and_children import parents_and_children
    from plausible.learn.constraint_based.pc import ConstraintResult, pc
    from plausible.learn.estimation.family_posterior import FamilyPosterior, Interval
    from plausible.learn.estimation.fit import ParameterFit, UnidentifiedParameters, fit_parameters
    from plausible.learn.estimation.fit import learn_parameters as parameters
    from plausible.learn.estimation.fragmentation import Fragmentation, data_fragmentation
    from plausible.learn.estimation.gaussian import GaussianLearner
    from plausible.learn.estimation.knowledge import ParameterKnowledge
    from plausible.learn.estimation.likelihood import (
        empirical_divergence,
        empirical_entropy,
        graph_log_likelihood,
        log_likelihood,
    )
    from plausible.learn.estimation.logistic import LogisticLearner
    from plausible.learn.estimation.noisy_or import NoisyOrLearner
    from plausible.learn.estimation.posterior import ParameterPosterior, parameter_posterior
    from plausible.learn.estimation.priors import K2, BDe, BDeu, Dirichlet
    from plausible.learn.estimation.task import CPDLearner
    from plausible.learn.estimation.tree import TreeLearner
    from plausible.learn.evaluation.cross_validation import (
        CrossValidation,
        LearnerComparison,
        compare_learners,
        cross_validate,
    )
    from plausible.learn.evaluation.learning_curves import (
        LearningCurve,
        compare_generative_discriminative,
        learning_curve,
    )
    from plausible.learn.evaluation.losses import mean_loss, row_losses
    from plausible.learn.evaluation.recovery import Recovery, recovery, recovery_curve
    from plausible.learn.gradients.ascent import LBFGS, ConjugateGradient, SteepestAscent
    from plausible.learn.gradients.conditional import learn_conditional
    from plausible.learn.gradients.gaussian import GaussianGradient, gaussian_likelihood_gradient
    from plausible.learn.gradients.gradient import LikelihoodGradient, log_likelihood_gradient
    from plausible.learn.gradients.identifiability import Identifiability, identifiability
    from plausible.learn.gradients.information import (
        LikelihoodHessian,
        ObservedInformation,
        log_likelihood_hessian,
        observed_information,
    )
    from plausible.learn.gradients.learner import GradientFit, GradientOptions
    from plausible.learn.gradients.learner import learn_by_gradient as gradient_ascent
    from plausible.learn.incomplete.accelerated_em import OverrelaxedEM, SquaredEM
    from plausible.learn.incomplete.annealed_em import AnnealedEM, ReweightedEM
    from plausible.learn.incomplete.cases import Cases
    from plausible.learn.incomplete.em import EMFit, EMRules, EMRun, EMState, em_init, em_run, em_step
    from plausible.learn.incomplete.em import learn_em as em
    from plausible.learn.incomplete.em_state import EMMethod
    from plausible.learn.incomplete.engine_expectations import EngineExpectations
    from plausible.learn.incomplete.expectations import ExactExpectations, Expectations, ExpectationStep, FamilyCounts
    from plausible.learn.incomplete.expected_statistics import ExpectedStatistics, completed_table
    from plausible.learn.incomplete.family_em import FamilyEM, FrozenFamily
    from plausible.learn.incomplete.functional import (
        EMFunctional,
        em_functional,
        expected_log_likelihood,
        observed_log_likelihood,
    )
    from plausible.learn.incomplete.gaussian_expectations import HybridExpectations
    from plausible.learn.incomplete.gaussian_maximization import GaussianMomentLearner
    from plausible.learn.incomplete.hard_em import HardEM
    from plausible.learn.incomplete.hybrid_em import HybridEM
    from plausible.learn.incomplete.incremental_em import IncrementalEM
    from plausible.learn.incomplete.online_em import OnlineEM
    from plausible.learn.incomplete.population_em import BeamEM, PerturbedEM
    from plausible.learn.incomplete.problem import EMProblem, read_problem
    from plausible.learn.incomplete.sequences import SequenceExpectations, SliceGraph, learn_sequences, unroll
    from plausible.learn.incomplete.starts import SymmetricStart, symmetric_hidden
    from plausible.learn.incomplete.stopping import remaining_error
    from plausible.learn.incomplete.variational_em import VariationalEM
    from plausible.learn.incomplete_scores.cardinality import (
        CardinalityChoice,
        CardinalityScore,
        choose_cardinality,
        cluster_cardinality,
    )
    from plausible.learn.incomplete_scores.cardinality_growth import grow_cardinality
    from plausible.learn.incomplete_scores.comparison import ScoreComparison, compare_scores
    from plausible.learn.incomplete_scores.information_content import InformationContent, information_content
    from plausible.learn.incomplete_scores.laplace import LaplaceIntegral, laplace_integral
    from plausible.learn.incomplete_scores.parameter_budget import ParameterBudget, parameter_budget
    from plausible.learn.incomplete_scores.score import INCOMPLETE_SCORES, IncompleteScore, score_incomplete
    from plausible.learn.incomplete_scores.task import ScoreOptions
    from plausible.learn.incomplete_structures.available import AvailableStatistics, PairwiseStatistics, complete_rows
    from plausible.learn.incomplete_structures.hidden_variables import (
        HiddenSearch,
        HiddenTrial,
        dependence_graph,
        find_hidden,
        semi_cliques,
    )
    from plausible.learn.incomplete_structures.latent_trees import (
        LatentTree,
        hierarchy_by_information,
        hierarchy_graph,
        learn_latent_tree,
        overlapping_graph,
    )
    from plausible.learn.incomplete_structures.rescoring import (
        RescoringFit,
        RescoringRules,
        RescoringState,
        learn_by_rescoring,
    )
    from plausible.learn.incomplete_structures.selective_clustering import (
        SelectiveClustering,
        learn_selective_clustering,
    )
    from plausible.learn.incomplete_structures.starts import DisconnectedHidden
    from plausible.learn.incomplete_structures.structural_em import (
        SEMRules,
        SEMState,
        StructuralEMFit,
        completed_scores,
    )
    from plausible.learn.incomplete_structures.structural_em import learn_structural_em as structural_em
    from plausible.learn.independence.conditional_gaussian_test import ConditionalGaussianTest
    from plausible.learn.independence.count_tests import ChiSquareTest, GTest
    from plausible.learn.independence.fisher_z import FisherZ
    from plausible.learn.independence.independence_test import FunctionTest, IndependenceResult, IndependenceTest
    from plausible.learn.independence.oracle import DSeparationOracle
    from plausible.learn.independence.permutation_test import PermutationTest
    from plausible.learn.missingness.bounds import ProportionBounds, proportion_bounds
    from plausible.learn.missingness.diagnosis import MissingnessReport, diagnose_missing
    from plausible.learn.missingness.imputation import Imputed, impute
    from plausible.learn.missingness.indicators import indicators, observation_log_likelihood, observation_network
    from plausible.learn.missingness.mcar_tests import IndicatorTests, LittleTest, indicator_tests, little_test
    from plausible.learn.missingness.mechanisms import (
        AtRandom,
        CompletelyAtRandom,
        HiddenCells,
        Mechanism,
        NotAtRandom,
        WholeVariables,
        hide,
    )
    from plausible.learn.missingness.missingness_graph import Ignorability, MissingnessGraph
    from plausible.learn.missingness.multiple_imputation import (
        AugmentationState,
        MultipleImputation,
        augmentation_init,
        augmentation_step,
        multiple_imputation,
    )
    from plausible.learn.missingness.pooling import PooledEstimate, pool_estimates
    from plausible.learn.missingness.recoverability import Recoverability
    from plausible.learn.mixtures.choice import ClusterChoice, ClusterScore, choose_clusters
    from plausible.learn.mixtures.clustering import EmptyClusters, MixtureClustering
    from plausible.learn.mixtures.comparison import (
        ClusteringComparison,
        MixtureComparison,
        compare_clusterings,
        compare_mixtures,
    )
    from plausible.learn.mixtures.em import MixtureState
    from plausible.learn.mixtures.options import MixturePrior
    from plausible.learn.mixtures.reports import (
        ClusterFeature,
        ClusterProfile,
        cluster_profiles,
        feature_information,
        irrelevant_features,
        item_probabilities,
        predict_feature,
    )
    from plausible.learn.mixtures.starts import equal_clusters
    from plausible.learn.partitions.base_measures import DirichletStates, NormalInverseWishart, normal_inverse_gamma
    from plausible.learn.partitions.dirichlet_draws import sample_dirichlet
    from plausible.learn.partitions.dirichlet_process_mixture import DirichletProcessMixture
    from plausible.learn.partitions.partition_chain import (
        GammaPrior,
        PartitionModel,
        PartitionMoves,
        PartitionState,
        partition_init,
        partition_step,
    )
    from plausible.learn.partitions.partition_distances import pair_distance, variation_of_information
    from plausible.learn.partitions.partition_posterior import PartitionPosterior
    from plausible.learn.partitions.partition_predictive import cluster_posteriors
    from plausible.learn.partitions.partition_priors import ChineseRestaurant, FiniteDirichlet
    from plausible.learn.partitions.partition_problem import PartitionProblem
    from plausible.learn.partitions.partition_sampling import sample_partitions
    from plausible.learn.partitions.product_base import BaseMeasure, default_base
    from plausible.learn.partitions.stick_breaking import break_sticks, sticks_needed
    from plausible.learn.scores.bge import BGe
    from plausible.learn.scores.conditional_gaussian import ConditionalGaussian
    from plausible.learn.scores.custom import CountFunction, FamilyFunction
    from plausible.learn.scores.description_length import DescriptionLength
    from plausible.learn.scores.dirichlet import BDeuScore, BDsScore, DirichletScore, K2Score, StandardBayesian
    from plausible.learn.scores.gaussian import GaussianLikelihood
    from plausible.learn.scores.information import conditional_entropy, mutual_information
    from plausible.learn.scores.normalized_likelihood import FactorizedNML, QuotientNML
    from plausible.learn.scores.penalized import AIC, BIC, LogLikelihood, PenalizedLikelihood
    from plausible.learn.scores.prior_network import BDeScore
    from plausible.learn.scores.reading import SCORES
    from plausible.learn.scores.reading import score_graph as score
    from plausible.learn.scores.score import CountScore, FamilyScores, Score
    from plausible.learn.scores.structure_prior import EdgeLogOdds, EdgePenalty, ExpectedParents, WithPrior
    from plausible.learn.structures.class_walks import ClassWalks
    from plausible.learn.structures.exact.dynamic_programming import optimal_by_subsets
    from plausible.learn.structures.exact.equivalence import search_classes
    from plausible.learn.structures.exact.optimal_parents import optimal_along_order, optimal_parents
    from plausible.learn.structures.exact.order_graph import optimal_by_orders
    from plausible.learn.structures.exact.orders import search_orders
    from plausible.learn.structures.exact.parent_sets import find_parent_sets
    from plausible.learn.structures.exact.result import BoundedResult
    from plausible.learn.structures.exact.superset_bounds import DirichletBound, GaussianBound, PenaltyBound
    from plausible.learn.structures.knowledge import Knowledge
    from plausible.learn.structures.result import StructureResult
    from plausible.learn.structures.structure import METHODS
    from plausible.learn.structures.structure import learn_structure as structure

__all__ = [
    "AIC",
    "BIC",
    "INCOMPLETE_SCORES",
    "K2",
    "LBFGS",
    "METHODS",
    "SCORES",
    "AnnealedEM",
    "AtRandom",
    "AugmentationState",
    "AvailableStatistics",
    "BDe",
    "BDeScore",
    "BDeu",
    "BDeuScore",
    "BDsScore",
    "BGe",
    "BaseMeasure",
    "BayesianNetworkClassifier",
    "BeamEM",
    "BlanketResult",
    "BlockMetropolis",
    "BoundedResult",
    "CPDLearner",
    "CardinalityChoice",
    "CardinalityScore",
    "Cases",
    "CellGibbs",
    "ChainLengths",
    "ChainProgress",
    "ChiSquareTest",
    "ChineseRestaurant",
    "ClassWalks",
    "ClusterChoice",
    "ClusterFeature",
    "ClusterProfile",
    "ClusterScore",
    "ClusteringComparison",
    "CollapsedCellGibbs",
    "CompletelyAtRandom",
    "CompletionProblem",
    "ConditionalGaussian",
    "ConditionalGaussianTest",
    "Conflict",
    "ConjugateGradient",
    "ConstraintResult",
    "CountFunction",
    "CountScore",
    "CrossValidation",
    "DSeparationOracle",
    "DescriptionLength",
    "Dirichlet",
    "DirichletBound",
    "DirichletProcessMixture",
    "DirichletScore",
    "DirichletStates",
    "DisconnectedHidden",
    "EMFit",
    "EMFunctional",
    "EMMethod",
    "EMProblem",
    "EMRules",
    "EMRun",
    "EMState",
    "EdgeLogOdds",
    "EdgePenalty",
    "EdgeStrengths",
    "EmptyClusters",
    "EngineExpectations",
    "ExactExpectations",
    "ExactPosterior",
    "ExpectationStep",
    "Expectations",
    "ExpectedParents",
    "ExpectedStatistics",
    "FactorizedNML",
    "FamilyCounts",
    "FamilyEM",
    "FamilyFunction",
    "FamilyPosterior",
    "FamilyScores",
    "FiniteDirichlet",
    "FisherZ",
    "Fragmentation",
    "FrozenFamily",
    "FunctionTest",
    "GTest",
    "GammaPrior",
    "GaussianBound",
    "GaussianGradient",
    "GaussianLearner",
    "GaussianLikelihood",
    "GaussianMomentLearner",
    "GradientFit",
    "GradientOptions",
    "HardEM",
    "HiddenCells",
    "HiddenSearch",
    "HiddenTrial",
    "HybridEM",
    "HybridExpectations",
    "Identifiability",
    "Ignorability",
    "Imputed",
    "IncompleteRows",
    "IncompleteScore",
    "IncrementalEM",
    "IndependenceResult",
    "IndependenceTest",
    "IndicatorTests",
    "InformationContent",
    "Interval",
    "K2Score",
    "KDBClassifier",
    "Knowledge",
    "LaplaceIntegral",
    "LatentTree",
    "LearnerComparison",
    "LearningCurve",
    "LikelihoodGradient",
    "LikelihoodHessian",
    "LittleTest",
    "LogLikelihood",
    "LogisticLearner",
    "Mechanism",
    "MissingnessGraph",
    "MissingnessReport",
    "MixtureClustering",
    "MixtureComparison",
    "MixturePrior",
    "MixtureState",
    "ModelAverage",
    "MultipleImputation",
    "NaiveBayesClassifier",
    "NoisyOrLearner",
    "NormalInverseWishart",
    "NotAtRandom",
    "NotFitted",
    "ObservedInformation",
    "OnlineEM",
    "OrderPosterior",
    "OverrelaxedEM",
    "PairwiseStatistics",
    "ParameterBudget",
    "ParameterDraws",
    "ParameterFit",
    "ParameterKnowledge",
    "ParameterPosterior",
    "ParameterState",
    "ParameterWalk",
    "PartitionModel",
    "PartitionMoves",
    "PartitionPosterior",
    "PartitionProblem",
    "PartitionState",
    "PenalizedLikelihood",
    "PenaltyBound",
    "PermutationTest",
    "PerturbedEM",
    "PooledEstimate",
    "PriorWeighting",
    "ProportionBounds",
    "QuotientNML",
    "Recoverability",
    "Recovery",
    "RescoringFit",
    "RescoringRules",
    "RescoringState",
    "ReweightedEM",
    "RowGibbs",
    "SEMRules",
    "SEMState",
    "SampledPosterior",
    "Score",
    "ScoreComparison",
    "ScoreOptions",
    "ScoreSensitivity",
    "SelectiveClustering",
    "SequenceExpectations",
    "SliceGraph",
    "SquaredEM",
    "StandardBayesian",
    "SteepestAscent",
    "StructuralEMFit",
    "StructureResult",
    "SymmetricStart",
    "TANClassifier",
    "TreeLearner",
    "UnidentifiedParameters",
    "UnseenStates",
    "VariationalEM",
    "VariationalFit",
    "VariationalState",
    "WeightedGraphs",
    "WholeVariables",
    "WithPrior",
    "augmentation_init",
    "augmentation_step",
    "bootstrap",
    "break_sticks",
    "choose_cardinality",
    "choose_clusters",
    "cluster_by_variational_bayes",
    "cluster_cardinality",
    "cluster_posteriors",
    "cluster_profiles",
    "compare_clusterings",
    "compare_generative_discriminative",
    "compare_learners",
    "compare_mixtures",
    "compare_scores",
    "complete_rows",
    "completed_scores",
    "completed_table",
    "conditional_entropy",
    "cross_validate",
    "data_fragmentation",
    "default_base",
    "dependence_graph",
    "diagnose_missing",
    "edge_posterior",
    "em",
    "em_functional",
    "em_init",
    "em_run",
    "em_step",
    "empirical_divergence",
    "empirical_entropy",
    "enumerate_posterior",
    "equal_clusters",
    "estimate_threshold",
    "expected_log_likelihood",
    "feature_information",
    "find_hidden",
    "find_parent_sets",
    "fit_parameters",
    "gaussian_likelihood_gradient",
    "gradient_ascent",
    "graph_log_likelihood",
    "grow_cardinality",
    "hide",
    "hierarchy_by_information",
    "hierarchy_graph",
    "identifiability",
    "impute",
    "indicator_tests",
    "indicators",
    "information_content",
    "irrelevant_features",
    "item_probabilities",
    "laplace_integral",
    "learn_by_rescoring",
    "learn_conditional",
    "learn_latent_tree",
    "learn_selective_clustering",
    "learn_sequences",
    "learning_curve",
    "little_test",
    "log_likelihood",
    "log_likelihood_gradient",
    "log_likelihood_hessian",
    "markov_blanket",
    "mean_loss",
    "multiple_imputation",
    "mutual_information",
    "normal_inverse_gamma",
    "observation_log_likelihood",
    "observation_network",
    "observed_information",
    "observed_log_likelihood",
    "optimal_along_order",
    "optimal_by_orders",
    "optimal_by_subsets",
    "optimal_parents",
    "order_posterior",
    "overlapping_graph",
    "pair_distance",
    "parameter_budget",
    "parameter_posterior",
    "parameters",
    "parents_and_children",
    "partition_init",
    "partition_step",
    "pc",
    "pool_estimates",
    "predict_feature",
    "proportion_bounds",
    "read_problem",
    "recovery",
    "recovery_curve",
    "remaining_error",
    "row_losses",
    "sample_dirichlet",
    "sample_orders",
    "sample_parameters",
    "sample_partitions",
    "sample_structures",
    "score",
    "score_incomplete",
    "score_sensitivity",
    "search_classes",
    "search_orders",
    "semi_cliques",
    "sticks_needed",
    "structural_em",
    "structure",
    "structure_from_blankets",
    "symmetric_hidden",
    "unroll",
    "variation_of_information",
    "variational_bayes",
    "variational_init",
    "variational_step",
]

#: File -> the names that it is loaded for, when one of them is first asked for.
_FILES = {
    "bayesian.completion_problem": "CompletionProblem",
    "bayesian.parameter_draws": "ParameterDraws",
    "bayesian.samplers": (
        "BlockMetropolis CellGibbs CollapsedCellGibbs ParameterState ParameterWalk PriorWeighting RowGibbs"
    ),
    "bayesian.sampling": "sample_parameters",
    "bayesian.variational": "VariationalFit VariationalState variational_bayes variational_init variational_step",
    "bayesian.variational_clustering": "cluster_by_variational_bayes",
    "chains": "ChainProgress",
    "classifiers.classifier": "IncompleteRows UnseenStates",
    "classifiers.estimator": "NotFitted",
    "classifiers.kinds": "BayesianNetworkClassifier KDBClassifier NaiveBayesClassifier TANClassifier",
    "confidence.bootstrap": "bootstrap",
    "confidence.edge_strengths": "EdgeStrengths estimate_threshold",
    "confidence.exact_posterior": "ExactPosterior edge_posterior enumerate_posterior",
    "confidence.model_average": "ModelAverage",
    "confidence.order_chain": "sample_orders",
    "confidence.order_posterior": "OrderPosterior order_posterior",
    "confidence.sampled_posterior": "ChainLengths SampledPosterior",
    "confidence.score_sensitivity": "ScoreSensitivity score_sensitivity",
    "confidence.structure_chain": "sample_structures",
    "confidence.weighted_graphs": "WeightedGraphs",
    "constraint_based.blanket_structure": "structure_from_blankets",
    "constraint_based.markov_blankets": "BlanketResult markov_blanket",
    "constraint_based.orientation": "Conflict",
    "constraint_based.parents_and_children": "parents_and_children",
    "constraint_based.pc": "ConstraintResult pc",
    "estimation.family_posterior": "FamilyPosterior Interval",
    "estimation.fit": "ParameterFit UnidentifiedParameters fit_parameters",
    "estimation.fragmentation": "Fragmentation data_fragmentation",
    "estimation.gaussian": "GaussianLearner",
    "estimation.knowledge": "ParameterKnowledge",
    "estimation.likelihood": "empirical_divergence empirical_entropy graph_log_likelihood log_likelihood",
    "estimation.logistic": "LogisticLearner",
    "estimation.noisy_or": "NoisyOrLearner",
    "estimation.posterior": "ParameterPosterior parameter_posterior",
    "estimation.priors": "BDe BDeu Dirichlet K2",
    "estimation.task": "CPDLearner",
    "estimation.tree": "TreeLearner",
    "evaluation.cross_validation": "CrossValidation LearnerComparison compare_learners cross_validate",
    "evaluation.learning_curves": "LearningCurve compare_generative_discriminative learning_curve",
    "evaluation.losses": "mean_loss row_losses",
    "evaluation.recovery": "Recovery recovery recovery_curve",
    "gradients.ascent": "ConjugateGradient LBFGS SteepestAscent",
    "gradients.conditional": "learn_conditional",
    "gradients.gaussian": "GaussianGradient gaussian_likelihood_gradient",
    "gradients.gradient": "LikelihoodGradient log_likelihood_gradient",
    "gradients.identifiability": "Identifiability identifiability",
    "gradients.information": "LikelihoodHessian ObservedInformation log_likelihood_hessian observed_information",
    "gradients.learner": "GradientFit GradientOptions",
    "incomplete.accelerated_em": "OverrelaxedEM SquaredEM",
    "incomplete.annealed_em": "AnnealedEM ReweightedEM",
    "incomplete.cases": "Cases",
    "incomplete.em": "EMFit EMRules EMRun EMState em_init em_run em_step",
    "incomplete.em_state": "EMMethod",
    "incomplete.engine_expectations": "EngineExpectations",
    "incomplete.expectations": "ExactExpectations ExpectationStep Expectations FamilyCounts",
    "incomplete.expected_statistics": "ExpectedStatistics completed_table",
    "incomplete.family_em": "FamilyEM FrozenFamily",
    "incomplete.functional": "EMFunctional em_functional expected_log_likelihood observed_log_likelihood",
    "incomplete.gaussian_expectations": "HybridExpectations",
    "incomplete.gaussian_maximization": "GaussianMomentLearner",
    "incomplete.hard_em": "HardEM",
    "incomplete.hybrid_em": "HybridEM",
    "incomplete.incremental_em": "IncrementalEM",
    "incomplete.online_em": "OnlineEM",
    "incomplete.population_em": "BeamEM PerturbedEM",
    "incomplete.problem": "EMProblem read_problem",
    "incomplete.sequences": "SequenceExpectations SliceGraph learn_sequences unroll",
    "incomplete.starts": "SymmetricStart symmetric_hidden",
    "incomplete.stopping": "remaining_error",
    "incomplete.variational_em": "VariationalEM",
    "incomplete_scores.cardinality": "CardinalityChoice CardinalityScore choose_cardinality cluster_cardinality",
    "incomplete_scores.cardinality_growth": "grow_cardinality",
    "incomplete_scores.comparison": "ScoreComparison compare_scores",
    "incomplete_scores.information_content": "InformationContent information_content",
    "incomplete_scores.laplace": "LaplaceIntegral laplace_integral",
    "incomplete_scores.parameter_budget": "ParameterBudget parameter_budget",
    "incomplete_scores.score": "INCOMPLETE_SCORES IncompleteScore score_incomplete",
    "incomplete_scores.task": "ScoreOptions",
    "incomplete_structures.available": "AvailableStatistics PairwiseStatistics complete_rows",
    "incomplete_structures.hidden_variables": "HiddenSearch HiddenTrial dependence_graph find_hidden semi_cliques",
    "incomplete_structures.latent_trees": (
        "LatentTree hierarchy_by_information hierarchy_graph learn_latent_tree overlapping_graph"
    ),
    "incomplete_structures.rescoring": "RescoringFit RescoringRules RescoringState learn_by_rescoring",
    "incomplete_structures.selective_clustering": "SelectiveClustering learn_selective_clustering",
    "incomplete_structures.starts": "DisconnectedHidden",
    "incomplete_structures.structural_em": "SEMRules SEMState StructuralEMFit completed_scores",
    "independence.conditional_gaussian_test": "ConditionalGaussianTest",
    "independence.count_tests": "ChiSquareTest GTest",
    "independence.fisher_z": "FisherZ",
    "independence.independence_test": "FunctionTest IndependenceResult IndependenceTest",
    "independence.oracle": "DSeparationOracle",
    "independence.permutation_test": "PermutationTest",
    "missingness.bounds": "ProportionBounds proportion_bounds",
    "missingness.diagnosis": "MissingnessReport diagnose_missing",
    "missingness.imputation": "Imputed impute",
    "missingness.indicators": "indicators observation_log_likelihood observation_network",
    "missingness.mcar_tests": "IndicatorTests LittleTest indicator_tests little_test",
    "missingness.mechanisms": "AtRandom CompletelyAtRandom HiddenCells Mechanism NotAtRandom WholeVariables hide",
    "missingness.missingness_graph": "Ignorability MissingnessGraph",
    "missingness.multiple_imputation": (
        "AugmentationState MultipleImputation augmentation_init augmentation_step multiple_imputation"
    ),
    "missingness.pooling": "PooledEstimate pool_estimates",
    "missingness.recoverability": "Recoverability",
    "mixtures.choice": "ClusterChoice ClusterScore choose_clusters",
    "mixtures.clustering": "EmptyClusters MixtureClustering",
    "mixtures.comparison": "ClusteringComparison MixtureComparison compare_clusterings compare_mixtures",
    "mixtures.em": "MixtureState",
    "mixtures.options": "MixturePrior",
    "mixtures.reports": (
        "ClusterFeature ClusterProfile cluster_profiles feature_information irrelevant_features "
        "item_probabilities predict_feature"
    ),
    "mixtures.starts": "equal_clusters",
    "partitions.base_measures": "DirichletStates NormalInverseWishart normal_inverse_gamma",
    "partitions.dirichlet_draws": "sample_dirichlet",
    "partitions.dirichlet_process_mixture": "DirichletProcessMixture",
    "partitions.partition_chain": (
        "GammaPrior PartitionModel PartitionMoves PartitionState partition_init partition_step"
    ),
    "partitions.partition_distances": "pair_distance variation_of_information",
    "partitions.partition_posterior": "PartitionPosterior",
    "partitions.partition_predictive": "cluster_posteriors",
    "partitions.partition_priors": "ChineseRestaurant FiniteDirichlet",
    "partitions.partition_problem": "PartitionProblem",
    "partitions.partition_sampling": "sample_partitions",
    "partitions.product_base": "BaseMeasure default_base",
    "partitions.stick_breaking": "break_sticks sticks_needed",
    "scores.bge": "BGe",
    "scores.conditional_gaussian": "ConditionalGaussian",
    "scores.custom": "CountFunction FamilyFunction",
    "scores.description_length": "DescriptionLength",
    "scores.dirichlet": "BDeuScore BDsScore DirichletScore K2Score StandardBayesian",
    "scores.gaussian": "GaussianLikelihood",
    "scores.information": "conditional_entropy mutual_information",
    "scores.normalized_likelihood": "FactorizedNML QuotientNML",
    "scores.penalized": "AIC BIC LogLikelihood PenalizedLikelihood",
    "scores.prior_network": "BDeScore",
    "scores.reading": "SCORES",
    "scores.score": "CountScore FamilyScores Score",
    "scores.structure_prior": "EdgeLogOdds EdgePenalty ExpectedParents WithPrior",
    "structures.class_walks": "ClassWalks",
    "structures.exact.dynamic_programming": "optimal_by_subsets",
    "structures.exact.equivalence": "search_classes",
    "structures.exact.optimal_parents": "optimal_along_order optimal_parents",
    "structures.exact.order_graph": "optimal_by_orders",
    "structures.exact.orders": "search_orders",
    "structures.exact.parent_sets": "find_parent_sets",
    "structures.exact.result": "BoundedResult",
    "structures.exact.superset_bounds": "DirichletBound GaussianBound PenaltyBound",
    "structures.knowledge": "Knowledge",
    "structures.result": "StructureResult",
    "structures.structure": "METHODS",
}
#: Names under which a function of a file is offered here.
_ALIASES = {
    "em": ("incomplete.em", "learn_em"),
    "gradient_ascent": ("gradients.learner", "learn_by_gradient"),
    "parameters": ("estimation.fit", "learn_parameters"),
    "score": ("scores.reading", "score_graph"),
    "structural_em": ("incomplete_structures.structural_em", "learn_structural_em"),
    "structure": ("structures.structure", "learn_structure"),
}
_HOMES = {name: (file, name) for file, names in _FILES.items() for name in names.split()} | _ALIASES


def __getattr__(name: str) -> object:
    """Load a learner when it is first asked for: there are many, and a task needs few."""
    if name not in _HOMES:
        raise AttributeError(f"module 'plausible.learn' has no attribute {name!r}")
    file, function = _HOMES[name]
    found = getattr(import_module(f"plausible.learn.{file}"), function)
    if name in _ALIASES:  # so that help() and pickles call it what it is called here
        found.__module__, found.__name__, found.__qualname__ = __name__, name, name
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return __all__
