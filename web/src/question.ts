// Questions as values: what is seen and set, and what clicks and keys make of that.

import { type FindingKind, own } from "./scene";

/** A weight for each state: of what was observed under it, or the belief to have in it. */
export interface Weights {
  kind: "likelihood" | "jeffrey";
  weights: number[];
}
/** Positions of states, a number, or weights. */
export type Finding = number[] | number | Weights;
export type Findings = Record<string, Finding>;

export interface Question {
  evidence: Findings;
  do: Findings;
  /** What to show of a large model: names, "auto", or null for all. */
  focus: string | string[] | null;
}

/** What a click or a key does to a state; "weigh" asks for weights of all states. */
export type Gesture = "see" | "deny" | "set" | "weigh";

/** How something is known of a variable, if it is. */
export function kindOf(question: Question, name: string): FindingKind | undefined {
  if (Object.hasOwn(question.do, name)) return "set";
  const finding = own(question.evidence, name);
  if (finding === undefined) return undefined;
  return typeof finding === "number" || (Array.isArray(finding) && finding.length === 1) ? "seen" : "soft";
}

/** Without what is known of a variable. */
export function retracted(question: Question, name: string): Question {
  const { [name]: _seen, ...evidence } = question.evidence;
  const { [name]: _set, ...settings } = question.do;
  return { ...question, evidence, do: settings };
}

/** Without anything known. */
export function cleared(question: Question): Question {
  return { ...question, evidence: {}, do: {} };
}

export function withNumber(question: Question, name: string, value: number, gesture: Gesture): Question {
  return known(retracted(question, name), name, value, gesture === "set");
}

/** The weights that were given for a variable, if any were. */
export function weightsIn(question: Question, name: string): Weights | null {
  const finding = own(question.evidence, name);
  return typeof finding === "object" && !Array.isArray(finding) ? finding : null;
}

export function withWeights(question: Question, name: string, weights: Weights): Question {
  return known(retracted(question, name), name, weights, false);
}

/** Beliefs with sum one, of weights that people gave by any measure; null where they are none. */
export function shares(weights: (number | null)[]): number[] | null {
  const total = weights.reduce<number>((sum, weight) => sum + (weight ?? 0), 0);
  if (!(total > 0) || !Number.isFinite(total) || weights.some((weight) => (weight ?? 0) < 0)) return null;
  return weights.map((weight) => (weight ?? 0) / total);
}

/** After a gesture on a state, which is retracted where it says what is known already. */
export function after(question: Question, name: string, state: number, numStates: number, gesture: Gesture): Question {
  const without = retracted(question, name);
  if (gesture === "deny") {
    const left = toggled(own(question.evidence, name), state, numStates);
    if (left.length === 0) return question;
    return left.length === numStates ? without : known(without, name, left, false);
  }
  // A variable that is set stays so: another state there is another setting.
  const isSetting = gesture === "set" || Object.hasOwn(question.do, name);
  const present = own(isSetting ? question.do : question.evidence, name);
  return isOnly(present, state) ? without : known(without, name, [state], isSetting);
}

function known(question: Question, name: string, finding: Finding, isSetting: boolean): Question {
  const which = isSetting ? "do" : "evidence";
  return { ...question, [which]: { ...question[which], [name]: finding } };
}

function isOnly(finding: Finding | undefined, state: number): boolean {
  return Array.isArray(finding) && finding.length === 1 && finding[0] === state;
}

/** The states that are left: a state that was possible is not, or is again. */
function toggled(finding: Finding | undefined, state: number, numStates: number): number[] {
  const all = Array.from({ length: numStates }, (_, place) => place);
  const possible = Array.isArray(finding) ? finding : all;
  return all.filter((place) => (place === state) !== possible.includes(place));
}
