// Keys on a node, and among things beside each other.

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

const STEPS: Record<string, number | "first" | "last"> = { ArrowRight: 1, ArrowLeft: -1, ...MOVES };

/**
 * Arrows, Home and End bring the focus from one of several things beside each other to another, from the last to the
 * first, as people know it of tabs and radio buttons. The one that has it then; null for other keys.
 */
export function roved(event: KeyboardEvent): HTMLElement | null {
  const step = STEPS[event.key];
  if (step === undefined || event.ctrlKey || event.metaKey || event.altKey || event.shiftKey) return null;
  const here = event.currentTarget as HTMLElement;
  const all = [...(here.parentElement?.children ?? [])] as HTMLElement[];
  const wanted = typeof step === "number" ? all.indexOf(here) + step : step === "first" ? 0 : -1;
  const next = all.at(wanted % all.length) ?? null;
  event.preventDefault();
  next?.focus();
  return next;
}
