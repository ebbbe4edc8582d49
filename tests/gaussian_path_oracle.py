"""Linear dynamical systems as one Gaussian over all states and observations, conditioned by NumPy.

States of all steps are a linear map of independent noises, so the joint covariance is that map times its transpose.
Directions of infinite variance are unknown constants: they are estimated by generalised least squares.
"""

from __future__ import annotations

import numpy as np


def joint_moments(system, num_steps, inputs=None):
    """Mean and covariance of the states and observations of all steps, and the map of the diffuse constants to them."""
    A, Q, C, R, m, P, G, B, D = (np.asarray(system[name], dtype=float) for name in "AQCRmPGBD")
    d = len(A)
    u = np.zeros((num_steps, B.shape[1])) if inputs is None else inputs
    means, diffuse = [m], [G]
    maps = np.eye(num_steps * d)  # from the noises of all steps to the states
    noises = np.kron(np.eye(num_steps), Q)
    noises[:d, :d] = P
    for t in range(1, num_steps):
        means.append(A @ means[-1] + B @ u[t])
        diffuse.append(A @ diffuse[-1])
        maps[t * d : t * d + d] += A @ maps[t * d - d : t * d]
    X = maps @ noises @ maps.T
    big = np.kron(np.eye(num_steps), C)
    mean = np.concatenate(means) if num_steps else np.zeros(0)
    observed = big @ mean + (u @ D.T).ravel()
    Y = big @ X @ big.T + np.kron(np.eye(num_steps), R)
    F = np.vstack(diffuse)
    return mean, X, observed, Y, X @ big.T, F, big @ F


def random_system(rng, num_states, num_observed, num_diffuse=0, num_inputs=0, rank=None):
    """Matrices by their letters; the noise of the states has the given rank, eigenvalues are below one."""

    def covariance(size, rank=None):
        root = rng.normal(size=(size, size if rank is None else rank))
        return root @ root.T

    transition = rng.normal(size=(num_states, num_states))
    transition *= 0.95 / np.abs(np.linalg.eigvals(transition)).max()
    start, mean = covariance(num_states), rng.normal(size=num_states)
    start[:num_diffuse] = start[:, :num_diffuse] = mean[:num_diffuse] = 0.0
    return {
        "A": transition,
        "Q": covariance(num_states, rank),
        "C": rng.normal(size=(num_observed, num_states)),
        "R": covariance(num_observed),
        "m": mean,
        "P": start,
        "G": np.eye(num_states)[:, :num_diffuse],
        "B": rng.normal(size=(num_states, num_inputs)),
        "D": rng.normal(size=(num_observed, num_inputs)),
    }


def random_values(rng, num_steps, num_observed, share_missing=0.3):
    """Numbers, some of them missing."""
    values = 3 * rng.normal(size=(num_steps, num_observed))
    values[rng.random(values.shape) < share_missing] = np.nan
    return values


def block(matrix, s, t, size):
    """The part of a matrix over states that belongs to two steps."""
    return matrix[s * size : s * size + size, t * size : t * size + size]


def posterior(system, values, inputs=None):
    """Mean and covariance of all states given the numbers that are there, and log p of these numbers."""
    num_steps = len(values)
    mean, X, observed, Y, XY, F, H = joint_moments(system, num_steps, inputs)
    seen = ~np.isnan(values.ravel())
    y, XY, Y, H = values.ravel()[seen] - observed[seen], XY[:, seen], Y[np.ix_(seen, seen)], H[seen]
    solved = np.linalg.solve(Y, np.column_stack([y, H, XY.T])) if len(y) else np.zeros((0, 1 + H.shape[1] + len(X)))
    q = H.shape[1]
    by, bh, bx = solved[:, 0], solved[:, 1 : 1 + q], solved[:, 1 + q :]
    mean, covariance = mean + XY @ by, X - XY @ bx
    log_density = -0.5 * (len(y) * np.log(2 * np.pi) + (np.linalg.slogdet(Y)[1] if len(y) else 0.0) + y @ by)
    if q:
        S = H.T @ bh
        left = F - XY @ bh
        constants = np.linalg.solve(S, H.T @ by)
        mean, covariance = mean + left @ constants, covariance + left @ np.linalg.solve(S, left.T)
        log_density += 0.5 * ((H.T @ by) @ constants - np.linalg.slogdet(S)[1])  # the limit of log p + q log σ
    return mean, covariance, log_density
