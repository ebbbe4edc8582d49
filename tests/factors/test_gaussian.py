"""Gaussian factors in canonical and moment form, against dense computations on means and covariances.

The oracle is `scipy.stats` for densities, numerical quadrature for normalisers, and textbook moment formulas
written here with plain `numpy.linalg.inv`.
"""

from __future__ import annotations

import copy
import math
import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import integrate, stats

from plausible.errors import ImpossibleEvidence, InvalidArgument, InvalidFactor, NotSupported, UnknownVariable
from plausible.factors import GaussianFactor, MomentGaussian, gaussian_product, linear_gaussian
from plausible.variables import Variable
from refusals import refuses
from seeds import few_of

CASES = settings(max_examples=16, deadline=None)
NAMES = ("u", "v", "w", "x", "y", "z")
seeds = st.integers(0, 2**32 - 1)


def spd(rng, size):
    """A random positive definite matrix whose variables have very different units."""
    root = rng.normal(size=(size, size + 1))
    units = 10.0 ** rng.integers(-3, 4, size=size)
    return (root @ root.T + 0.1 * np.eye(size)) * np.outer(units, units)


def random_moments(rng, names):
    covariance = spd(rng, len(names))
    return names, rng.normal(size=len(names)) * np.sqrt(covariance.diagonal()), covariance


def random_point(rng, mean, covariance):
    return mean + rng.normal(size=len(mean)) * np.sqrt(covariance.diagonal())


def log_density(point, mean, covariance):
    """log N from scipy, in units that keep its own singularity test quiet."""
    scale = np.sqrt(covariance.diagonal())
    scaled = stats.multivariate_normal((mean / scale), covariance / np.outer(scale, scale))
    return scaled.logpdf(point / scale) - np.log(scale).sum()


def same(matrix, expected, covariance):
    """Equality relative to the units of each entry."""
    scale = np.sqrt(covariance.diagonal())
    unit = np.outer(scale, scale) if np.ndim(matrix) == 2 else scale
    np.testing.assert_allclose(matrix / unit, expected / unit, rtol=1e-7, atol=1e-7)


# --- canonical and moment form say the same ---


def test_the_density_of_nothing_is_one():
    nothing = MomentGaussian([], [], np.zeros((0, 0)))
    assert nothing.log_density({}).shape == ()
    assert (nothing.log_density({}), nothing.density({}), nothing.entropy()) == (0.0, 1.0, 0.0)


@CASES
@given(seeds, st.integers(1, 5))
def test_values_are_densities_and_moments_come_back(seed, size):
    """from_moments gives the density of N(m, S), integrates to one, and to_moments inverts it."""
    rng = np.random.default_rng(seed)
    names, mean, covariance = random_moments(rng, NAMES[:size])
    factor = GaussianFactor.from_moments(names, mean, covariance, log_normalizer=0.75)
    points = np.array([random_point(rng, mean, covariance) for _ in range(4)])
    expected = [log_density(point, mean, covariance) + 0.75 for point in points]
    found = factor.log_value({name: points[:, i] for i, name in enumerate(names)})
    np.testing.assert_allclose(found, expected, rtol=1e-6, atol=1e-6)
    moments = factor.to_moments()
    same(moments.mean, mean, covariance)
    same(moments.covariance, covariance, covariance)
    assert moments.log_normalizer == pytest.approx(0.75, abs=1e-8) == factor.log_normalizer
    assert factor.normalize().is_distribution(1e-7)


@CASES
@given(seeds, st.integers(2, 5), st.data())
def test_integrating_out_keeps_the_block_of_the_moments(seed, size, data):
    """∫ N(m, S) over some variables is N with their rows and columns struck out, in any order of names."""
    rng = np.random.default_rng(seed)
    names, mean, covariance = random_moments(rng, NAMES[:size])
    kept = data.draw(st.permutations(range(size)))[: data.draw(st.integers(0, size))]
    factor = GaussianFactor.from_moments(names, mean, covariance)
    marginal = factor.marginal([names[i] for i in kept])
    assert marginal.names == tuple(names[i] for i in kept)
    moments = marginal.to_moments()
    block = covariance[np.ix_(kept, kept)]
    same(moments.mean, mean[kept], block)
    same(moments.covariance, block, block)
    assert moments.log_normalizer == pytest.approx(0.0, abs=1e-7)


@CASES
@given(seeds, st.integers(2, 5), st.integers(1, 4))
def test_reduction_is_the_slice_and_conditions_the_moments(seed, size, num_seen):
    """φ[e](x) = φ(x, e); normalised, it is the conditional, and its log-integral is log p(e)."""
    rng = np.random.default_rng(seed)
    names, mean, covariance = random_moments(rng, NAMES[:size])
    seen = list(range(size))[: min(num_seen, size - 1)]
    rest = [i for i in range(size) if i not in seen]
    point = random_point(rng, mean, covariance)
    evidence = {names[i]: point[i] for i in seen}
    factor = GaussianFactor.from_moments(names, mean, covariance)
    reduced = factor.reduce({**evidence, "elsewhere": 1.0})
    everywhere = dict(zip(names, point, strict=True))
    assert reduced.log_value(everywhere) == pytest.approx(float(factor.log_value(everywhere)), rel=1e-6, abs=1e-6)
    gain = covariance[np.ix_(rest, seen)] @ np.linalg.inv(covariance[np.ix_(seen, seen)])
    conditional_mean = mean[rest] + gain @ (point[seen] - mean[seen])
    conditional = covariance[np.ix_(rest, rest)] - gain @ covariance[np.ix_(seen, rest)]
    log_evidence = log_density(point[seen], mean[seen], covariance[np.ix_(seen, seen)])
    for moments in (reduced.to_moments(), MomentGaussian(names, mean, covariance).condition(evidence)):
        same(moments.mean, conditional_mean, covariance[np.ix_(rest, rest)])
        same(moments.covariance, conditional, covariance[np.ix_(rest, rest)])
        assert moments.log_normalizer == pytest.approx(log_evidence, rel=1e-6, abs=1e-6)


@CASES
@given(seeds)
def test_products_and_quotients_act_on_values_over_the_union_of_scopes(seed):
    """log(φψ) = log φ + log ψ, log(φ/ψ) = log φ - log ψ, for overlapping scopes in any order."""
    rng = np.random.default_rng(seed)

    def any_factor():
        names = list(rng.permutation(NAMES)[: rng.integers(0, 4)])
        root = rng.normal(size=(len(names), len(names)))
        return GaussianFactor(names, root + root.T, rng.normal(size=len(names)), rng.normal())

    f, g, h = any_factor(), any_factor(), any_factor()
    point = {name: rng.normal(size=3) for name in NAMES}
    total = f.log_value(point) + g.log_value(point)
    np.testing.assert_allclose((f * g).log_value(point), total, atol=1e-9)
    np.testing.assert_allclose((f / g).log_value(point), f.log_value(point) - g.log_value(point), atol=1e-9)
    assert (f * g).is_close(g * f)
    assert ((f * g) * h).is_close(f * (g * h))
    assert gaussian_product([f, g, h]).is_close(f * g * h)
    assert ((f * g) / g).is_close(f.extend(g.scope))
    assert (2.0 * f / 2.0).is_close(f)
    np.testing.assert_allclose((f * 3.0).value(point), 3 * f.value(point))


@CASES
@given(seeds)
def test_integration_commutes_and_pushes_past_other_factors(seed):
    """∫∫ in either order agree, ∫_y φ(x) ψ(x, y) = φ(x) ∫_y ψ(x, y), and the same for max."""
    rng = np.random.default_rng(seed)
    joint = GaussianFactor.from_moments(*random_moments(rng, NAMES[:4])).rename({"u": "a"})
    names, mean, covariance = random_moments(rng, ["a", "v"])
    other = GaussianFactor.from_moments(names, mean, covariance)
    scale = dict(zip(joint.names, np.sqrt(np.abs(joint.to_moments().covariance.diagonal())), strict=True))
    point = {name: joint.to_moments().means[name] + scale[name] * rng.normal() for name in joint.names}

    def check(left, right):
        assert left.names == right.names
        assert float(left.log_value(point)) == pytest.approx(float(right.log_value(point)), rel=1e-6, abs=1e-6)

    for eliminate in (GaussianFactor.marginalize, GaussianFactor.maximize):
        check(eliminate(eliminate(joint, "w"), "x"), eliminate(joint, ["x", "w"]))
        check(eliminate(eliminate(joint, "x"), "w"), eliminate(joint, ["x", "w"]))
        check(eliminate(other * joint, ["w", "x"]), other * eliminate(joint, ["w", "x"]))
    context = {"v": point["v"]}
    check(joint.marginalize("w").reduce(context), joint.reduce(context).marginalize("w"))


def test_the_normaliser_is_the_integral():
    """log_normalizer equals numerical quadrature of the values, in one and two dimensions."""
    one = GaussianFactor(["x"], [[2.0]], [0.5], 0.3)
    area, _ = integrate.quad(lambda x: float(one.value({"x": x})), -20, 20)
    assert one.log_normalizer == pytest.approx(math.log(area))
    two = GaussianFactor(["x", "y"], [[2.0, 0.5], [0.5, 1.0]], [0.5, -0.25], -1.0)
    x, y = np.meshgrid(np.arange(-8, 8, 0.1), np.arange(-8, 8, 0.1))
    volume = two.value({"x": x, "y": y}).sum() * 0.1**2  # exact to many digits, as the values vanish at the ends
    assert two.log_normalizer == pytest.approx(math.log(volume))
    slice_, _ = integrate.quad(lambda y: float(two.value({"x": 0.7, "y": y})), -20, 20)
    assert float(two.marginalize("y").value({"x": 0.7})) == pytest.approx(slice_)
    assert float(two.maximize("y").value({"x": 0.7})) == pytest.approx(
        max(float(two.value({"x": 0.7, "y": y})) for y in np.linspace(-3, 3, 6001)), rel=1e-6
    )


def test_argmax_is_the_mean():
    """The mode of a Gaussian is its mean."""
    factor = GaussianFactor(["x", "y"], [[2.0, 0.5], [0.5, 1.0]], [0.5, -0.25], -1.0)
    best = factor.argmax()
    assert dict(best) == pytest.approx(factor.to_moments().means)
    for dx, dy in ((0.1, 0), (-0.1, 0), (0, 0.1), (0, -0.1)):
        assert factor.value({"x": best["x"] + dx, "y": best["y"] + dy}) < factor.value(best)


# --- linear Gaussians ---


@CASES
@given(seeds, st.integers(0, 3))
def test_linear_gaussian_is_the_conditional_density(seed, num_parents):
    """P(y | x) = N(y; β₀ + βᵀx, σ²) at any point, and it integrates to one over y."""
    rng = np.random.default_rng(seed)
    parents = NAMES[:num_parents]
    weights, intercept, variance = rng.normal(size=num_parents), rng.normal(), float(rng.exponential() + 0.01)
    factor = linear_gaussian("child", parents, intercept, weights, variance)
    x, y = rng.normal(size=num_parents), rng.normal()
    point = dict(zip(parents, x, strict=True)) | {"child": y}
    expected = stats.norm(intercept + weights @ x, math.sqrt(variance)).logpdf(y)
    assert float(factor.log_value(point)) == pytest.approx(expected)
    assert factor.names == (*parents, "child")
    assert factor.marginalize("child").is_close(GaussianFactor.vacuous(parents), 1e-7)


@CASES
@given(seeds)
def test_a_linear_network_has_the_joint_of_its_structural_equations(seed):
    """u → v → w ← u: canonical product, moments built by `with_linear` and (I - B)⁻¹ D (I - B)⁻ᵀ agree."""
    rng = np.random.default_rng(seed)
    a, b, c = rng.normal(size=3)
    variances, intercepts = rng.exponential(size=3) + 0.1, rng.normal(size=3)
    B = np.array([[0, 0, 0], [a, 0, 0], [b, c, 0]])
    total = np.linalg.inv(np.eye(3) - B)
    mean, covariance = total @ intercepts, total @ np.diag(variances) @ total.T
    canonical = gaussian_product(
        [
            linear_gaussian("u", [], intercepts[0], [], variances[0]),
            linear_gaussian("v", ["u"], intercepts[1], [a], variances[1]),
            linear_gaussian("w", ["v", "u"], intercepts[2], [c, b], variances[2]),
        ]
    )
    moments = (
        MomentGaussian(["u"], intercepts[:1], [variances[:1]])
        .with_linear("v", {"u": a}, intercepts[1], variances[1])
        .with_linear("w", {"v": c, "u": b}, intercepts[2], variances[2])
    )
    for found in (canonical.to_moments(), moments):
        np.testing.assert_allclose(found.mean, mean, atol=1e-8)
        np.testing.assert_allclose(found.covariance, covariance, rtol=1e-7, atol=1e-8)
        assert found.log_normalizer == pytest.approx(0.0, abs=1e-9)


# --- vacuous, indefinite, degenerate ---


def test_a_vacuous_factor_is_a_constant_without_integral():
    """K = 0: neutral in products, infinite normaliser, refusal to integrate that names the variable."""
    nothing = GaussianFactor.vacuous(["x", "y"])
    f = GaussianFactor.from_moments(["x"], [1.0], [[2.0]])
    assert nothing.is_vacuous
    assert not f.is_vacuous
    assert (nothing * f).is_close(f.extend(["y"]))
    assert nothing.log_normalizer == math.inf
    assert not nothing.is_normalizable
    for operation in (nothing.to_moments, nothing.normalize, nothing.argmax, lambda: nothing.marginalize("y")):
        refuses(InvalidFactor, r"'y'.*infinite", operation)
    assert (nothing * f).marginalize("x").is_close(GaussianFactor.vacuous(["y"]))
    assert GaussianFactor.vacuous(g=2.0).log_normalizer == 2.0


@pytest.mark.parametrize("K", [[[1.0, 1.0], [1.0, 1.0]], [[1.0, 2.0], [2.0, 1.0]], [[-1.0, 0.0], [0.0, 1.0]]])
def test_integrals_that_diverge_are_refused(K):
    """A singular, an indefinite and a negative K; a block that is positive definite may still be integrated out."""
    factor = GaussianFactor(["x", "y"], K, [0.0, 0.0])
    refuses(InvalidFactor, r"\['x', 'y'\] is infinite", factor.to_moments)
    assert factor.log_normalizer == math.inf
    assert factor.marginalize("y").names == ("x",)


def test_a_singular_covariance_has_no_canonical_form_but_moments():
    """Y = 2X: refused as a canonical factor, kept as moments; conditioning on X fixes Y."""
    with pytest.raises(InvalidFactor, match="MomentGaussian"):
        GaussianFactor.from_moments(["x", "y"], [1.0, 2.0], [[1.0, 2.0], [2.0, 4.0]])
    refuses(NotSupported, "with_linear", linear_gaussian, "y", ["x"], 0.0, [2.0], 0.0)
    joint = MomentGaussian(["x"], [1.0], [[1.0]]).with_linear("y", {"x": 2.0})
    assert joint.is_degenerate
    known = joint.condition({"x": 3.0})
    assert (known.mean.tolist(), known.covariance.tolist()) == ([6.0], [[0.0]])
    both = joint.condition({"x": 3.0, "y": 6.0})
    assert both.scope == ()
    refuses(ImpossibleEvidence, "'y'", joint.condition, {"x": 3.0, "y": 5.0})
    refuses(NotSupported, "singular", joint.density, {"x": 1.0, "y": 2.0})
    with pytest.raises(InvalidFactor):
        joint.to_canonical()
    assert joint.entropy() == -math.inf
    assert joint.marginal("y").to_canonical().names == ("y",)


@pytest.mark.parametrize("seed", few_of(12, 20))
def test_evidence_that_determines_a_variable_leaves_it_no_variance(seed):
    """Y a combination of X, Z and U, given these: exactly zero variance, not what rounding left of it."""
    root = np.random.default_rng(seed).normal(size=(3, 3))
    base = MomentGaussian(["x", "z", "u"], [0.1, 0.2, 0.3], root @ root.T + 0.1 * np.eye(3))
    joint = base.with_linear("y", {"x": 0.1, "z": 0.3, "u": -0.7}).with_linear("w", {"y": 1.0}, variance=2.0)
    known = joint.condition({"x": 0.3, "z": 0.7, "u": 0.9})
    assert known.variances["y"] == 0.0
    assert known.covariance[0, 1] == 0.0
    assert known.variances["w"] == pytest.approx(2.0)
    assert known.means["y"] == pytest.approx(-0.39)


def test_a_sharp_observation_of_a_diffuse_variable_keeps_its_variance():
    """Prior variance 1e8, noise 1e-4: the posterior variance is 1e-4, not zero."""
    joint = MomentGaussian(["x"], [0.0], [[1e8]]).with_linear("y", {"x": 1.0}, variance=1e-4)
    assert joint.condition({"y": 3.0}).variances["x"] == pytest.approx(1e-4, rel=1e-2)
    assert joint.to_canonical().reduce({"y": 3.0}).to_moments().variances["x"] == pytest.approx(1e-4, rel=1e-2)


@pytest.mark.parametrize(("prior", "noise"), [(1e15, 1.0), (1e12, 1e-2), (1e-5, 1e-20)])
def test_an_observation_under_a_diffuse_prior_leaves_its_noise(prior, noise):
    """1 / (1/prior + 1/noise) is the noise itself here: no certainty, although rounding is not far away."""
    joint = MomentGaussian(["x"], [0.0], [[prior]]).with_linear("y", {"x": 1.0}, variance=noise)
    known = joint.condition({"y": 3.0})
    assert known.variances["x"] == pytest.approx(noise, rel=0.3)
    assert known.means["x"] == pytest.approx(3.0)
    normal = stats.norm(0.0, math.sqrt(prior + noise))
    assert known.log_normalizer == pytest.approx(normal.logpdf(3.0))


def test_two_observations_under_a_diffuse_prior_may_differ():
    """Each has noise 1, so 3 and 10 are surprising but possible: the mean is 6.5."""
    base = MomentGaussian(["x"], [0.0], [[1e15]]).with_linear("y", {"x": 1.0}, variance=1.0)
    known = base.with_linear("z", {"x": 1.0}, variance=1.0).condition({"y": 3.0, "z": 10.0})
    assert known.means["x"] == pytest.approx(6.5)


@pytest.mark.parametrize("seed", few_of(40, 100))
def test_a_relation_is_found_whatever_the_scales(seed):
    """Y a combination of others on scales from 1e-3 to 1e3: given these it has no variance, and can't be elsewhere."""
    rng = np.random.default_rng(seed)
    size = int(rng.integers(1, 9))
    root = rng.normal(size=(size, size)) * 10 ** rng.uniform(-3, 3, size=(size, 1))
    names = [f"x{i}" for i in range(size)]
    weights = dict(zip(names[: rng.integers(1, size + 1)], rng.normal(size=size).tolist(), strict=False))
    joint = MomentGaussian(names, np.zeros(size), root @ root.T).with_linear("y", weights)
    evidence = dict.fromkeys(weights, 0.0)
    assert joint.condition(evidence).variances["y"] == 0.0
    with pytest.raises(ImpossibleEvidence):
        joint.condition({**evidence, "y": 10 * math.sqrt(joint.variances["y"])})


@CASES
@given(seeds)
def test_conditioning_a_degenerate_gaussian_is_conditioning_its_free_part(seed):
    """With s = u + v added to any Gaussian, evidence on s and u is evidence on u and v; the rest answers alike."""
    rng = np.random.default_rng(seed)
    root = rng.normal(size=(3, 3))
    base = MomentGaussian(["u", "v", "w"], rng.normal(size=3), root @ root.T + 0.2 * np.eye(3))
    joint = base.with_linear("s", {"u": 1.0, "v": 1.0})
    u, v = rng.normal(size=2)
    expected = base.condition({"u": u, "v": v})
    found = joint.condition({"u": u, "s": u + v})
    assert found.means["v"] == pytest.approx(v)
    assert found.variances["v"] == pytest.approx(0.0, abs=1e-10)
    assert found.means["w"] == pytest.approx(expected.means["w"])
    assert found.variances["w"] == pytest.approx(expected.variances["w"])
    every = joint.condition({"u": u, "v": v, "s": u + v})  # evidence that is itself degenerate, but consistent
    assert every.means["w"] == pytest.approx(expected.means["w"])
    assert every.variances["w"] == pytest.approx(expected.variances["w"])
    log_density_on_plane = expected.log_normalizer - 0.5 * math.log(3)  # (u, v) ↦ (u, v, u + v) stretches areas by √3
    assert every.log_normalizer == pytest.approx(log_density_on_plane)
    with pytest.raises(ImpossibleEvidence):
        joint.condition({"u": u, "v": v, "s": u + v + 1.0})


def test_constants_condition_and_compare():
    """A variable of zero variance is a point: evidence must agree with it and tells nothing else."""
    joint = MomentGaussian(["c", "x"], [5.0, 0.0], [[0.0, 0.0], [0.0, 2.0]])
    assert joint.condition({"c": 5.0}).is_close(joint.marginal("x"))
    refuses(ImpossibleEvidence, "'c'", joint.condition, {"c": 5.1})
    assert joint.correlation().tolist() == [[1.0, 0.0], [0.0, 1.0]]
    tied = MomentGaussian(["x", "y", "c"], [0.0] * 3, [[4.0, 3.0, 0.0], [3.0, 9.0, 0.0], [0.0, 0.0, 0.0]])
    assert tied.correlation().tolist() == [[1.0, 0.5, 0.0], [0.5, 1.0, 0.0], [0.0, 0.0, 1.0]]  # 3 / (2 · 3)
    assert joint.kl_divergence(joint) == 0.0
    assert joint.kl_divergence(MomentGaussian(["c", "x"], [5.0, 0.0], np.eye(2))) == math.inf


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: GaussianFactor(["x"], [[1.0, 0.0]], [0.0]), r"needs shape \(1, 1\)"),
        (lambda: GaussianFactor(["x", "y"], [[1.0, 0.5], [0.0, 1.0]], [0, 0]), r"not symmetric: 0\.5 at \(x, y\)"),
        (lambda: GaussianFactor(["x"], [[1.0]], [0.0, 1.0]), "needs 1 numbers"),
        (lambda: GaussianFactor(["x"], [[math.inf]], [0.0]), "no finite number"),
        (lambda: GaussianFactor(["x"], [[1.0]], [math.nan]), "at 'x'"),
        (lambda: GaussianFactor(["x"], [[1.0]], [0.0], math.inf), "must be finite"),
        (lambda: GaussianFactor([Variable("d", 2)], [[1.0]], [0.0]), "'d' is discrete"),
        (lambda: GaussianFactor(["x", "x"], np.eye(2), [0, 0]), "stands twice"),
        (lambda: GaussianFactor([3], [[1.0]], [0.0]), "Variable objects or names"),
        (lambda: MomentGaussian(["x", "y"], [0, 0], [[1.0, 2.0], [2.0, 1.0]]), "not positive semi-definite"),
        (lambda: MomentGaussian(["x"], [0], [[-1.0]]), "not positive semi-definite"),
        (lambda: MomentGaussian(["c", "x"], [0, 0], [[0.0, 0.1], [0.1, 1.0]]), "not positive semi-definite"),
        (lambda: linear_gaussian("y", ["x"], 0.0, [1.0, 2.0], 1.0), "one coefficient"),
        (lambda: linear_gaussian("y", ["x"], 0.0, [1.0], -1.0), "can't be negative"),
        (lambda: linear_gaussian("y", ["x"], 0.0, [math.nan], 1.0), "finite"),
        (lambda: GaussianFactor.vacuous(["x"]) * -1.0, "positive and finite"),
        (lambda: MomentGaussian(["x"], [0], [[1.0]]).with_linear("y", {"x": 1.0}, variance=-1.0), "zero or more"),
        (lambda: MomentGaussian(["x"], [0], [[1.0]]).with_linear("x", {}), "stands twice"),
    ],
)
def test_what_is_no_gaussian_is_refused(make, message):
    """The error names the variable and the problem."""
    refuses(InvalidFactor, message, make)


def test_names_and_numbers_are_checked():
    """Unknown names get close matches; values must be finite numbers; points must be complete."""
    factor = GaussianFactor.from_moments(["height", "weight"], [0, 0], np.eye(2))
    refuses(UnknownVariable, "Did you mean 'weight'", factor.marginalize, "wieght")
    with pytest.raises(UnknownVariable):
        factor.to_moments().marginal("wieght")
    refuses(InvalidArgument, "expected a number, not 'tall'", factor.reduce, {"height": "tall"})
    refuses(InvalidArgument, "finite", factor.to_moments().condition, {"height": math.nan})
    refuses(InvalidFactor, "leaves 'weight' open", factor.log_value, {"height": 1.0})
    refuses(InvalidFactor, "not an order", factor.reorder, ["height"])
    with pytest.raises(TypeError):
        factor * "x"


# --- probabilities ---


def test_intervals_have_the_probability_of_the_normal_distribution():
    """P(a < X < b) in the middle and far out in both tails."""
    normal = MomentGaussian(["x"], [1.0], [[4.0]])
    for low, high in ((-1.0, 3.0), (1.0, math.inf), (-math.inf, -20.0), (30.0, 31.0), (-1e9, 1e9), (2.0, 2.0)):
        expected = stats.norm(1.0, 2.0)
        exact = expected.sf(low) - expected.sf(high) if low > 1 else expected.cdf(high) - expected.cdf(low)
        assert normal.probability({"x": (low, high)}) == pytest.approx(exact, rel=1e-9, abs=1e-300)


@CASES
@given(seeds)
def test_rectangles_of_two_variables_equal_quadrature(seed):
    """P(a < X < b, c < Y < d) = ∫ p(x) P(c < Y < d | x) dx."""
    rng = np.random.default_rng(seed)
    rho = rng.uniform(-0.98, 0.98)
    (a, b), (c, d) = np.sort(rng.normal(size=(2, 2)) * 1.5)
    if rng.random() < 0.3:
        a, d = 0.0, 0.0 if c < 0 else d
    pair = MomentGaussian(["x", "y"], [0.0, 0.0], [[1.0, rho], [rho, 1.0]])
    a, b = min(a, b), max(a, b)
    grid = np.linspace(a, b, 4001)
    inner = stats.norm.cdf((d - rho * grid) / math.sqrt(1 - rho**2)) - stats.norm.cdf(
        (c - rho * grid) / math.sqrt(1 - rho**2)
    )
    expected = integrate.simpson(stats.norm.pdf(grid) * inner, x=grid)
    assert pair.probability({"x": (a, b), "y": (c, d)}) == pytest.approx(expected, abs=1e-8)
    assert pair.probability({"x": (-math.inf, b), "y": (-math.inf, math.inf)}) == pytest.approx(stats.norm.cdf(b))


def test_orthants_have_their_known_probabilities():
    """With all correlations ½, P(all n variables positive) = 1/(n + 1); with ρ = 0 it is 2⁻ⁿ; pairs follow arcsin."""
    for size in range(1, 6):
        names = NAMES[:size]
        positive = dict.fromkeys(names, (0.0, math.inf))
        equal = MomentGaussian(names, np.zeros(size), np.full((size, size), 0.5) + 0.5 * np.eye(size))
        assert equal.probability(positive) == pytest.approx(1 / (size + 1), abs=1e-5)
        assert MomentGaussian(names, np.zeros(size), np.eye(size)).probability(positive) == pytest.approx(0.5**size)
    for rho in (-0.9, -0.3, 0.0, 0.6, 0.999):
        pair = MomentGaussian(["x", "y"], [0, 0], [[1, rho], [rho, 1]])
        expected = 0.25 + math.asin(rho) / (2 * math.pi)
        assert pair.probability({"x": (0, math.inf), "y": (0, math.inf)}) == pytest.approx(expected, abs=1e-12)


def test_rectangles_of_degenerate_gaussians():
    """Constants are in or out; perfectly correlated variables share one interval."""
    joint = MomentGaussian(["x"], [0.0], [[1.0]]).with_linear("y", {"x": -2.0}, intercept=1.0).with_linear("c", {}, 3.0)
    assert joint.probability({"c": (3.0, 4.0), "x": (-1.0, 1.0)}) == pytest.approx(0.6826894921)
    assert joint.probability({"c": (3.5, 4.0)}) == 0.0
    band = stats.norm.cdf(0.5) - stats.norm.cdf(-0.25)  # -0.25 < x, and y = 1 - 2x > 0
    assert joint.probability({"x": (-0.25, 9.0), "y": (0.0, 99.0)}) == pytest.approx(band)
    assert joint.probability({"x": (2.0, 9.0), "y": (0.0, 99.0)}) == 0.0
    assert joint.probability({}) == 1.0
    for interval in ((1.0, 0.0), (math.nan, 1.0), "ab", 3.0):
        refuses(InvalidArgument, "interval of 'x'", joint.probability, {"x": interval})


def test_the_standard_density():
    """N(0; 0, 1) = 0.3989423, N(2; 0, 1) = 0.0539910: densities, not probabilities (one may exceed one)."""
    normal = GaussianFactor.from_moments(["x"], [0.0], [[1.0]])
    np.testing.assert_allclose(normal.value({"x": [0.0, 2.0]}), [0.3989423, 0.0539910], atol=1e-7)
    np.testing.assert_allclose(normal.to_moments().density({"x": [0.0, 2.0]}), [0.3989423, 0.0539910], atol=1e-7)
    assert float(GaussianFactor.from_moments(["x"], [0.0], [[0.01]]).value({"x": 0.0})) > 3.9


# --- information ---


@CASES
@given(seeds, st.integers(1, 4))
def test_entropy_and_divergence_equal_expectations_of_log_densities(seed, size):
    """H = scipy's entropy; D(P ‖ Q) = -H(P) - E_P log Q, with E_P of a quadratic taken in closed form."""
    rng = np.random.default_rng(seed)
    names, mean, covariance = random_moments(rng, NAMES[:size])
    scale = np.sqrt(covariance.diagonal())
    p = MomentGaussian(names, mean / scale, covariance / np.outer(scale, scale))
    other = rng.normal(size=(size, size))
    q = MomentGaussian(names[::-1], rng.normal(size=size), other @ other.T + 0.3 * np.eye(size))
    assert p.entropy() == pytest.approx(stats.multivariate_normal(p.mean, p.covariance).entropy(), abs=1e-7)
    assert p.entropy(base=2) == pytest.approx(p.entropy() / math.log(2))
    factor = q.to_canonical().reorder(names)
    second = p.covariance + np.outer(p.mean, p.mean)
    expected_log_q = factor.g + factor.h @ p.mean - 0.5 * np.sum(factor.K * second)
    assert p.kl_divergence(q) == pytest.approx(-p.entropy() - expected_log_q, rel=1e-6, abs=1e-7)
    assert p.kl_divergence(p) == pytest.approx(0.0, abs=1e-9)


@CASES
@given(seeds)
def test_mutual_information_is_a_difference_of_entropies(seed):
    """I(X; Y | Z) = H(X, Z) + H(Y, Z) - H(Z) - H(X, Y, Z); zero iff the partial correlation is."""
    rng = np.random.default_rng(seed)
    root = rng.normal(size=(4, 4))
    joint = MomentGaussian(NAMES[:4], rng.normal(size=4), root @ root.T + 0.2 * np.eye(4))

    def entropy(*names):
        return joint.marginal(names).entropy()

    expected = entropy("u", "w") + entropy("v", "x", "w") - entropy("w") - entropy("u", "v", "x", "w")
    assert joint.mutual_information("u", ["v", "x"], given="w") == pytest.approx(expected, abs=1e-9)
    chain = MomentGaussian(["a"], [0.0], [[1.0]]).with_linear("b", {"a": 0.7}, variance=0.5)
    chain = chain.with_linear("c", {"b": -2.0}, variance=1.0)
    assert chain.mutual_information("a", "c", given="b") == pytest.approx(0.0, abs=1e-12)
    assert chain.mutual_information("a", "c") > 0.01
    refuses(InvalidFactor, "both sides", joint.mutual_information, "u", ["u", "v"])
    refuses(InvalidFactor, "one scope", joint.kl_divergence, chain)


# --- as a value ---


@pytest.mark.parametrize("clone", [copy.copy, copy.deepcopy, lambda value: pickle.loads(pickle.dumps(value))])
def test_gaussians_are_frozen_values(clone):
    """Equal by content, hashable, copied and pickled, with read-only arrays."""
    factor = GaussianFactor(["x", "y"], [[2.0, 0.5], [0.5, 1.0]], [0.5, -0.0], -1.0)
    for value, arrays in ((factor, ("K", "h")), (factor.to_moments(), ("mean", "covariance"))):
        twin = clone(value)
        assert twin == value
        assert hash(twin) == hash(value)
        assert twin.is_close(value.reorder(["y", "x"]))
        assert value != value.reorder(["y", "x"])
        assert value != "something else"
        for name in arrays:
            with pytest.raises(ValueError, match="read-only"):
                getattr(twin, name)[0] = 9.0
            with pytest.raises(AttributeError):
                setattr(twin, name, None)
    assert not factor.is_close(GaussianFactor.vacuous(["x"]))
    assert factor.variable("y") == Variable("y")


def test_wrong_types_are_named():
    """Text for numbers, a ragged matrix, or something that is no Gaussian."""
    refuses(InvalidFactor, r"matrix K over \['x'\] is no array of numbers", GaussianFactor, ["x"], [["a"]], [0])
    refuses(InvalidFactor, r"vector h.*no array of numbers", GaussianFactor, ["x", "y"], np.eye(2), [1, [2, 3]])
    refuses(InvalidFactor, r"constant g.*no array of numbers", GaussianFactor, ["x"], [[1.0]], [0.0], g="a")
    refuses(InvalidFactor, "coefficients of 'y'", linear_gaussian, "y", ["x"], 0.0, ["a"], 1.0)
    moments = MomentGaussian(["x"], [0.0], [[1.0]])
    for gaussian in (moments, moments.to_canonical()):
        refuses(InvalidArgument, "3 is none", gaussian.is_close, 3)


def test_gaussians_check_the_base_of_their_logarithms():
    """As all of information theory here does: above one and finite."""
    pair = MomentGaussian(["x", "y"], [0.0, 0.0], [[1.0, 0.6], [0.6, 1.0]])
    questions = (
        pair.entropy,
        lambda base: pair.kl_divergence(pair, base),
        lambda base: pair.mutual_information("x", "y", base=base),
    )
    for question in questions:
        for base in (1, 0.5, 0, math.nan, math.inf):
            refuses(InvalidArgument, "base of a logarithm", question, base=base)


def test_gaussians_may_be_reordered_by_an_iterator():
    """Names are read once."""
    moments = MomentGaussian(["x", "y"], [1.0, 2.0], np.eye(2))
    for gaussian in (moments, moments.to_canonical()):
        assert gaussian.reorder(iter(["y", "x"])).names == ("y", "x")
        refuses(InvalidFactor, "not an order", gaussian.reorder, iter(["y", "x", "y"]))
