"""Devices enumerated: parts that fail through noisy gates, and parts with several faults that have a common cause."""

from __future__ import annotations

from itertools import product as cartesian

import numpy as np

from plausible.cpds import NoisyOr, TableCPD
from plausible.models import BayesianNetwork


class EnumeratedDevice:
    """Worlds with `weights`, of which it is known what each shows: the cost of any plan is a sum over them.

    Attributes
    ----------
    num_parts
        The parts are p0, p1, ...
    num_alarms
        The tests are a0, a1, ...
    weights
        The probabilities of worlds in which the device fails, up to a factor.
    """

    def broken(self, repaired):
        """World x part -> whether it is faulty after repairs."""
        raise NotImplementedError

    def works(self, repaired):
        """World -> whether the device works after repairs."""
        raise NotImplementedError

    def shown(self, name, repaired):
        """World -> the state of a part or test after repairs."""
        raise NotImplementedError

    def seen(self, step, repaired):
        """What each world shows: of a step of the library, as its outcomes."""
        return self.works(repaired | {int(step.name[1:])}) if step.kind == "repair" else self.shown(step.name, repaired)

    def best_cost(self, repair, observe, service):
        """The least expected cost of any plan, by recursion over sets of worlds."""
        known = {}

        def split(weights, labels):
            for label in np.unique(labels):
                yield label, weights * (labels == label)

        def cost(weights, repaired):
            if weights.sum() <= 1e-15:
                return 0.0
            key = ((weights > 0).tobytes(), repaired)
            if key not in known:
                known[key] = choices(weights, repaired)
            return known[key]

        def choices(weights, repaired):
            total = weights.sum()
            options = [] if service is None else [service * total]
            may_be_broken = [
                part
                for part in range(self.num_parts)
                if part not in repaired and (weights @ self.broken(repaired)[:, part]) > 1e-12 * total
            ]
            helps = self.works(repaired | set(range(self.num_parts)))
            if service is None and not (may_be_broken and (weights @ helps) > 1e-12 * total):
                return 0.0
            for part in may_be_broken:
                after = repaired | {part}
                options.append(repair[f"p{part}"] * total + cost(weights * ~self.works(after), after))
            for name in observe:
                labels = self.shown(name, repaired)
                if len({label for label, w in split(weights, labels) if w.sum() > 1e-12 * total}) > 1:
                    options.append(observe[name] * total + sum(cost(w, repaired) for _, w in split(weights, labels)))
            return min(options)

        return cost(self.weights / self.weights.sum(), frozenset())

    def followed_cost(self, session, check=lambda *_: None):
        """The expected cost of following a session's advice, outcomes weighted by the worlds that show them."""

        def cost(session, weights):
            step = session.next_step()
            if step is None:
                return 0.0
            total = weights.sum()
            if step.kind == "call":
                return step.cost * total
            repaired = frozenset(int(name[1:]) for name in session.repaired)
            labels = self.seen(step, repaired)
            check(session, step, {label: weights[labels == label].sum() / total for label in np.unique(labels)})
            paid = step.cost * total
            for label in np.unique(labels):
                part = weights * (labels == label)
                if part.sum() > 1e-12 * total:
                    outcome = bool(label) if step.kind == "repair" else str(label)
                    paid += cost(session.after(step, outcome), part)
            return paid

        return cost(session, self.weights / self.weights.sum())


class GateDevice(EnumeratedDevice):
    """Parts with priors; the device fails where a broken part's gate is open; alarms are further gates with leaks.

    A world is a setting of all parts and gates. `weights` are the probabilities of worlds in which the device fails.
    """

    def __init__(self, priors, gates, alarms, leaks, goal_leak=0.0):
        self.priors, self.gates, self.alarms, self.leaks, self.goal_leak = priors, gates, alarms, leaks, goal_leak
        chances = [*priors, *gates, goal_leak]
        for row, leak in zip(alarms, leaks, strict=True):
            chances += [*row, leak]
        self.worlds = np.array(list(cartesian((0, 1), repeat=len(chances))), dtype=bool)
        each = np.where(self.worlds, np.array(chances), 1 - np.array(chances))
        self.weights = each.prod(axis=1) * ~self.works(frozenset())

    @property
    def num_parts(self):
        return len(self.priors)

    @property
    def num_alarms(self):
        return len(self.alarms)

    def broken(self, repaired):
        parts = self.worlds[:, : self.num_parts].copy()
        parts[:, list(repaired)] = False
        return parts

    def works(self, repaired):
        gates = self.worlds[:, self.num_parts : 2 * self.num_parts]
        leak = self.worlds[:, 2 * self.num_parts]
        return ~((self.broken(repaired) & gates).any(axis=1) | leak)

    def alarm(self, number, repaired):
        start = 2 * self.num_parts + 1 + number * (self.num_parts + 1)
        gates, leak = self.worlds[:, start : start + self.num_parts], self.worlds[:, start + self.num_parts]
        return (self.broken(repaired) & gates).any(axis=1) | leak

    def shown(self, name, repaired):
        number = int(name[1:])
        if name.startswith("p"):
            return np.where(self.broken(repaired)[:, number], "bad", "ok")
        return np.where(self.alarm(number, repaired), "on", "off")

    def network(self):
        parts = [f"p{number}" for number in range(self.num_parts)]
        return BayesianNetwork(
            *(TableCPD(name, [1 - p, p], states=["ok", "bad"]) for name, p in zip(parts, self.priors, strict=True)),
            NoisyOr("fails", parts, self.gates, leak=self.goal_leak),
            *(
                NoisyOr(f"a{number}", parts, row, leak=leak, states=["off", "on"])
                for number, (row, leak) in enumerate(zip(self.alarms, self.leaks, strict=True))
            ),
        )


class FaultDevice(EnumeratedDevice):
    """Parts with several faults each, which a common cause brings about, and a test of that cause.

    Parameters
    ----------
    causes
        P(cause).
    parts
        For each part, P(state | cause); the first state is no fault.
    fails
        Whether the device fails, by the states of all parts.
    test
        P(state of the test a0 | cause).
    """

    def __init__(self, causes, parts, fails, test):
        self.causes, self.parts, self.fails, self.test = causes, parts, np.asarray(fails, dtype=bool), test
        self.num_parts, self.num_alarms = len(parts), 1
        tables = [np.asarray(table) for table in (*parts, test)]
        self.worlds = np.array(list(np.ndindex(len(causes), *(table.shape[1] for table in tables))))
        self.weights = np.asarray(causes)[self.worlds[:, 0]] * ~self.works(frozenset())
        for place, table in enumerate(tables, 1):
            self.weights = self.weights * table[self.worlds[:, 0], self.worlds[:, place]]

    def states(self, repaired):
        states = self.worlds[:, 1 : self.num_parts + 1].copy()
        states[:, list(repaired)] = 0
        return states

    def broken(self, repaired):
        return self.states(repaired) > 0

    def works(self, repaired):
        return ~self.fails[tuple(self.states(repaired).T)]

    def shown(self, name, repaired):
        codes = self.states(repaired)[:, int(name[1:])] if name.startswith("p") else self.worlds[:, -1]
        return np.array(["ok", "worn", "gone", "scorched"])[codes]

    def network(self):
        states = ["ok", "worn", "gone", "scorched"]
        names = [f"p{number}" for number in range(self.num_parts)]
        return BayesianNetwork(
            TableCPD("cause", self.causes),
            *(
                TableCPD(name, table, ["cause"], states=states[: len(table[0])])
                for name, table in zip(["a0", *names], [self.test, *self.parts], strict=True)
            ),
            TableCPD("fails", np.stack([~self.fails, self.fails], axis=-1) * 1.0, names, states=[False, True]),
        )


def random_fault_device(rng, num_parts=2):
    """Up to three faults a part, some of them impossible for a cause; working where all parts are, else at random."""

    def table(num_states, none_is_ok):
        rows = rng.dirichlet(np.ones(num_states), 3) * (rng.random((3, num_states)) < 0.6)
        rows[:, 0] *= 0.0 if none_is_ok else 1.0
        rows[rows.sum(axis=1) == 0, -1] = 1.0
        return (rows / rows.sum(axis=1, keepdims=True)).tolist()

    sizes = rng.integers(2, 5, num_parts).tolist()
    parts = [table(size, rng.random() < 0.7) for size in sizes]
    fails = rng.random(sizes) < 0.6
    fails.flat[0], fails.flat[-1] = False, True
    device = FaultDevice(rng.dirichlet(np.ones(3)).tolist(), parts, fails, table(2, False))
    return device if device.weights.sum() > 0 else random_fault_device(rng, num_parts)


def random_device(rng, num_parts=2, num_alarms=1):
    """With gates that are always or never open, and leaks or none."""

    def chances(size):
        return np.where(rng.random(size) < 0.25, rng.integers(0, 2, size), rng.random(size)).tolist()

    gates = chances(num_parts)
    gates[0] = max(gates[0], 0.1)
    alarms = [chances(num_parts) for _ in range(num_alarms)]
    leaks = [float(rng.choice([0.0, 0.2])) for _ in range(num_alarms)]
    return GateDevice(rng.uniform(0.05, 0.6, num_parts).tolist(), gates, alarms, leaks, float(rng.choice([0.0, 0.1])))


def random_costs(rng, device):
    """Repair and observation costs, some parts without the latter, and a service call or none."""
    repair = {f"p{part}": float(rng.uniform(1, 20)) for part in range(device.num_parts)}
    observe = {f"p{part}": float(rng.uniform(0, 8)) for part in range(device.num_parts) if rng.random() < 0.7}
    observe |= {f"a{number}": float(rng.uniform(0, 4)) for number in range(device.num_alarms)}
    return repair, observe, None if rng.random() < 0.5 else float(rng.uniform(5, 60))
