// Probabilities as a tree: splits by the states of a parent, and a row of probabilities in each leaf.

import { cellsOf, numbersOf } from "./grid";

/** What the server tells and is told: leaves and splits depth first, with the places of parents and states. */
export type Node = { probabilities: number[] } | { parent: number; branches: number[][] };

export interface Leaf {
  cells: string[];
}
export interface Fork {
  parent: number;
  branches: { states: number[]; below: Tree }[];
}
export type Tree = Leaf | Fork;

export function grown(nodes: Node[]): Tree {
  let place = 0;
  const next = (): Tree => {
    const node = nodes[place++]!;
    if ("probabilities" in node) return leafOf(node.probabilities);
    return { parent: node.parent, branches: node.branches.map((states) => ({ states, below: next() })) };
  };
  return next();
}

export function leafOf(probabilities: number[]): Leaf {
  return { cells: cellsOf([probabilities])[0] ?? [] };
}

/** The nodes of a tree; what is wrong with a leaf is an error in words. */
export function nodesOf(tree: Tree, path: (parent: number, states: number[]) => string, where = "The row"): Node[] {
  if ("cells" in tree) {
    try {
      return [{ probabilities: numbersOf([tree.cells])[0] ?? [] }];
    } catch (error) {
      throw new Error((error as Error).message.replace("Row 1", where));
    }
  }
  const below = tree.branches.flatMap((one) => nodesOf(one.below, path, path(tree.parent, one.states)));
  return [{ parent: tree.parent, branches: tree.branches.map((one) => one.states) }, ...below];
}

/** A leaf split by a parent: below each of its states what was there. */
export function split({ cells }: Leaf, parent: number, numStates: number): Fork {
  return { parent, branches: Array.from({ length: numStates }, (_, state) => ({ states: [state], below: { cells: [...cells] } })) };
}

/** A branch together with the next one; where no other is left, there is no split any more. */
export function joined({ parent, branches }: Fork, at: number): Tree {
  const both = { states: [...branches[at]!.states, ...branches[at + 1]!.states], below: branches[at]!.below };
  const others = [...branches.slice(0, at), both, ...branches.slice(at + 2)];
  return others.length > 1 ? { parent, branches: others } : both.below;
}
