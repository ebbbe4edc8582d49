"""Links that may exist or not, against enumeration; and what they tell of the objects at their ends."""

import itertools
import math

import numpy as np
import pytest

import plausible as pb
from plausible.errors import InvalidArgument, InvalidModel, TooLarge

KEYS = {"cites.citing": "paper", "cites.cited": "paper"}
TOPICS = ["AI", "DB"]
TOPIC = np.array([0.7, 0.3])
EXISTS = np.array([[[0.4, 0.6], [0.9, 0.1]], [[0.8, 0.2], [0.3, 0.7]]])  # citing, cited, exists
WORD = np.array([[0.8, 0.2], [0.4, 0.6]])


def corpus():
    schema = pb.Schema(
        {"paper": {}, "cites": {}}, keys=KEYS, existence="cites",
        variables={"paper.topic": TOPICS, "paper.word": ["no", "yes"]},
    )  # fmt: skip
    return pb.RelationalModel(
        schema,
        [
            pb.TableCPD("paper.topic", TOPIC, states=TOPICS),
            pb.TableCPD("paper.word", WORD, ["paper.topic"], states=["no", "yes"]),
            pb.TableCPD("cites.exists", EXISTS, ["cites.citing.topic", "cites.cited.topic"], states=[False, True]),
        ],
    )


PAPERS = {"id": ["a", "b", "c"], "topic": [None, "DB", None], "word": ["yes", None, "no"]}
LINKS = {"citing": ["a", "b", "c"], "cited": ["b", "c", "a"], "exists": [True, True, None]}


def worlds():
    """(topics, word of b, whether c cites a) and probability, of all that agrees with the tables."""
    for topics in itertools.product(range(2), repeat=3):
        if topics[1] != 1:
            continue
        for word, link in itertools.product(range(2), repeat=2):
            p = math.prod(TOPIC[t] for t in topics) * WORD[topics[0], 1] * WORD[topics[1], word] * WORD[topics[2], 0]
            seen = {(0, 1): 1, (1, 2): 1, (2, 0): link, (1, 0): 0, (0, 2): 0, (2, 1): 0}
            for (i, j), exists in seen.items():
                p *= EXISTS[topics[i], topics[j], exists]
            yield (topics, word, link), p


def test_links_and_what_they_tell_equal_enumeration():
    """Posteriors of topics, words and links, and P(tables), with links that exist, that do not, and that may."""
    model, tables = corpus(), {"paper": PAPERS, "cites": LINKS}
    listed = list(worlds())
    total = sum(p for _, p in listed)
    assert float(model.log_likelihood(tables)) == pytest.approx(math.log(total))
    assert model.ground(tables).log_probability(model.evidence(tables)) == pytest.approx(math.log(total))
    topic = sum(p for (topics, _, _), p in listed if topics[0] == 1) / total
    beliefs = model.predict_proba(tables, "paper.topic")
    assert beliefs.loc["a", "DB"] == pytest.approx(topic)
    assert beliefs.loc["b", "DB"] == 1.0
    link = sum(p for (_, _, link), p in listed if link) / total
    answer = model.query("cites[c,a].exists", tables=tables)
    np.testing.assert_allclose(answer.values, [1 - link, link])
    assert model.predict_proba(tables, "cites.exists").loc[("c", "a"), :].to_list() == pytest.approx([1 - link, link])
    word = sum(p for (_, word, _), p in listed if word) / total
    assert model.query("paper[b].word", tables=tables).values[1] == pytest.approx(word)


def test_learned_links_are_counted_over_all_pairs():
    """P(exists | topics) is the share of linked pairs among all pairs of different papers with these topics."""
    rng = np.random.default_rng(0)
    topics = rng.integers(2, size=12).tolist()
    papers = {"id": list(range(12)), "topic": [TOPICS[t] for t in topics], "word": ["no", "yes"] * 6}
    pairs = [(i, j) for i in range(12) for j in range(12) if i != j and rng.random() < EXISTS[topics[i], topics[j], 1]]
    tables = {"paper": papers, "cites": {"citing": [i for i, _ in pairs], "cited": [j for _, j in pairs]}}
    parents = {"cites.exists": ["cites.citing.topic", "cites.cited.topic"]}
    fit = pb.learn.relational(corpus().schema, tables, parents, prior=pb.K2())
    learned = next(cpd for cpd in fit.model.cpds if cpd.variable.name == "cites.exists").values
    for s, t in itertools.product(range(2), repeat=2):
        among = [(i, j) for i in range(12) for j in range(12) if i != j and (topics[i], topics[j]) == (s, t)]
        linked = sum(pair in pairs for pair in among)
        assert learned[s, t, 1] == pytest.approx((linked + 1) / (len(among) + 2))


def test_drawn_links_are_tables_again():
    """A sample has the rows of the links that exist, and the same probability when it is read back."""
    model = corpus()
    drawn = model.sample({"paper": PAPERS, "cites": {"citing": [], "cited": []}}, seed=3)
    assert drawn["cites"]["exists"].all()
    network, evidence = model.ground(drawn), model.evidence(drawn)
    assert len(evidence) == 3 + 3 + 6
    assert model.log_likelihood(drawn) == pytest.approx(network.log_probability(evidence))
    pairs = set(zip(drawn["cites"]["citing"], drawn["cites"]["cited"], strict=True))
    for i, j in itertools.permutations("abc", 2):
        assert evidence[f"cites[{i},{j}].exists"] == ((i, j) in pairs)


def test_links_make_related_papers_better_told_than_words_alone():
    """Half of the topics are hidden: links between papers, inferred together, gain ten points over a flat classifier.

    So Getoor et al. (2001) report of two corpora, 75 -> 85 and 74 -> 82. Which papers are cited tells of topics, too,
    where it is given how many are.
    """
    rng = np.random.default_rng(1)
    num, topics, words = 150, 3, 8
    topic = rng.integers(topics, size=num)
    shares = 0.5 + 0.2 * rng.choice([-1, 1], size=(topics, words))
    papers = {"id": list(range(num)), "topic": [f"t{t}" for t in topic]}
    papers |= {f"word{w}": (rng.random(num) < shares[topic, w]).tolist() for w in range(words)}
    same = topic[:, None] == topic
    linked = (rng.random((num, num)) < np.where(same, 0.035, 0.005)) & ~np.eye(num, dtype=bool)
    citing, cited = np.nonzero(linked)
    hidden = rng.random(num) < 0.5
    seen = {**papers, "topic": [None if h else t for t, h in zip(papers["topic"], hidden, strict=True)]}
    links = {"citing": citing, "cited": cited}
    flat = pb.Schema(paper=papers)
    schema = pb.Schema({"paper": papers, "cites": links}, keys=KEYS, existence="cites")
    by_topic = {f"paper.word{w}": ["paper.topic"] for w in range(words)}
    by_links = by_topic | {"cites.exists": ["cites.citing.topic", "cites.cited.topic"]}
    among = ~hidden[citing] & ~hidden[cited]
    known = {name: [cell for cell, h in zip(cells, hidden, strict=True) if not h] for name, cells in papers.items()}
    taught = {"paper": known, "cites": {"citing": citing[among], "cited": cited[among]}}
    words_alone = pb.learn.relational(flat, {"paper": known}, by_topic, prior=pb.BDeu(4)).model
    together = pb.learn.relational(schema, taught, by_links, prior=pb.BDeu(4)).model
    truth = np.array(papers["topic"])[hidden]
    alone = (words_alone.predict({"paper": seen}, "paper.topic").to_numpy()[hidden] == truth).mean()
    linked_up = (together.predict({"paper": seen, "cites": links}, "paper.topic").to_numpy()[hidden] == truth).mean()
    assert 0.6 < alone < 0.8
    assert linked_up >= alone + 0.1
    given = pb.Schema({"paper": papers, "cites": links}, keys=KEYS)
    chosen = {"cites.cited": {"partition": ["paper.topic"], "parents": ["cites.citing.topic"]}}
    choosing = pb.learn.relational(given, taught, by_topic, references=chosen, prior=pb.BDeu(4)).model
    picked = (choosing.predict({"paper": seen, "cites": links}, "paper.topic").to_numpy()[hidden] == truth).mean()
    assert picked >= alone + 0.1


def test_links_that_cannot_be_are_told():
    """Links of an object to itself, twice the same, to nothing; attributes of links; walks over them; too many."""
    model = corpus()
    for links, message in (
        ({"citing": ["a"], "cited": ["a"]}, "link of a, a, is from an object to itself"),
        ({"citing": ["a", "a"], "cited": ["b", "b"]}, "Row 1 of 'cites', the link of a, b, stands twice"),
        ({"citing": ["a"], "cited": [None]}, "refers to nothing by 'cited'"),
    ):
        with pytest.raises(InvalidArgument, match=message):
            model.read({"paper": PAPERS, "cites": links})
    with pytest.raises(InvalidModel, match="such links have no 'year'"):
        pb.Schema({"paper": {}, "cites": {}}, keys=KEYS, existence="cites", variables={"cites.year": 3})
    with pytest.raises(InvalidModel, match="two slots"):
        pb.Schema({"paper": {}, "cites": {}}, keys={"cites.citing": "paper"}, existence="cites")
    with pytest.raises(InvalidModel, match="may exist or not, so that nobody knows"):
        pb.RelationalModel(
            model.schema, [pb.TableCPD("paper.fame", np.eye(2), ["exists(paper.cites~cited)"], states=["no", "yes"])]
        )
    with pytest.raises(TooLarge, match="25,000,000 links"):
        model.read({"paper": {"id": list(range(5000))}, "cites": {"citing": [], "cited": []}})
