// Keys on a node.

import type { Gesture } from "./question";

export type Command = { gesture: Gesture } | { move: number | "first" | "last" } | { act: "retract" | "around" | "select" | "close" };

const MOVES: Record<string, number | "first" | "last"> = { ArrowDown: 1, ArrowUp: -1, Home: "first", End: "last" };

/** What a key asks for; null for keys that are the page's. `gesture` is what Enter and clicks do. */
export function commandOf(event: KeyboardEvent, gesture: Gesture): Command | null {
  if (event.ctrlKey || event.metaKey) return null;
  const move = MOVES[event.key];
  if (move !== undefined) return { move };
  switch (event.key) {
    case "Enter":
    case " ":
      return { gesture: gestureOf(event, gesture) };
    case "d":
    case "D":
      return { gesture: "set" };
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
