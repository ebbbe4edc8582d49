// Keys on a node.

import type { Gesture } from "./question";

export type Command =
  | { gesture: Gesture }
  | { move: number | "first" | "last" }
  | { push: [number, number] }
  | { act: "retract" | "around" | "select" | "close" };

const MOVES: Record<string, number | "first" | "last"> = { ArrowDown: 1, ArrowUp: -1, Home: "first", End: "last" };

/** How far a key pushes a node. */
const STEP = 24;
const PUSHES: Record<string, [number, number]> = {
  ArrowDown: [0, STEP],
  ArrowUp: [0, -STEP],
  ArrowLeft: [-STEP, 0],
  ArrowRight: [STEP, 0],
};

/** What a key asks for; null for keys that are the page's. `gesture` is what Enter and clicks do. */
export function commandOf(event: KeyboardEvent, gesture: Gesture): Command | null {
  if (event.ctrlKey || event.metaKey) return null;
  const push = PUSHES[event.key];
  if (push && event.shiftKey) return { push };
  const move = MOVES[event.key];
  if (move !== undefined) return { move };
  switch (event.key) {
    case "Enter":
    case " ":
      return { gesture: gestureOf(event, gesture) };
    case "d":
    case "D":
      return { gesture: "set" };
    case "w":
    case "W":
      return { gesture: "weigh" };
    case "Delete":
    case "Backspace":
      return { act: "retract" };
    case "f":
    case "F":
      return { act: "around" };
    case "s":
    case "S":
      return { act: "select" };
    case "Escape":
      return { act: "close" };
  }
  return null;
}

/** Shift says "not this", Alt sets; else it is what is chosen. */
export function gestureOf(event: { shiftKey: boolean; altKey: boolean }, chosen: Gesture): Gesture {
  return event.shiftKey ? "deny" : event.altKey ? "set" : chosen;
}
