import { expect, test } from "vitest";
import { grown, joined, leafOf, nodesOf, split, type Tree } from "../src/studio/tree";

const path = (parent: number, states: number[]) => `${parent} = ${states.join(" or ")}`;

test("a tree is told as it was", () => {
  const nodes = [
    { parent: 1, branches: [[0, 2], [1]] },
    { probabilities: [0.9, 0.1] },
    { parent: 0, branches: [[0], [1]] },
    { probabilities: [0.7, 0.3] },
    { probabilities: [0.1, 0.9] },
  ];
  expect(nodesOf(grown(nodes), path)).toEqual(nodes);
});

test("leaves are split and branches joined, what was there staying", () => {
  const fork = split(leafOf([0.25, 0.75]), 2, 3);
  const leaf = { probabilities: [0.25, 0.75] };
  expect(nodesOf(fork, path)).toEqual([{ parent: 2, branches: [[0], [1], [2]] }, leaf, leaf, leaf]);
  const two = joined(fork, 1);
  expect(nodesOf(two, path)).toEqual([{ parent: 2, branches: [[0], [1, 2]] }, leaf, leaf]);
  expect(joined(two as typeof fork, 0)).toEqual({ cells: ["0.25", "0.75"] });
});

test("a leaf that is wrong is told by its path", () => {
  const tree: Tree = { parent: 0, branches: [{ states: [0], below: { cells: ["1", ""] } }, { states: [1], below: { cells: ["x", "1"] } }] };
  expect(() => nodesOf(tree, path)).toThrow("0 = 1: x is no number");
});
