// What the page has open: a model with its past and its future, what is known, and what the picture shows of it.

import { untrack } from "svelte";
import { type Client, Line, type Told } from "../client";
import { cleared, type Question } from "../question";
import type { Answer, Marks, Scene } from "../scene";
import { type Fields, Refusal, type Server, Superseded } from "./server";

export interface VariableOutline {
  name: string;
  states: string[];
  numStates: number;
  isContinuous: boolean;
}

/** What the server tells of a model. */
export interface Outline {
  model: string;
  name: string;
  title: string;
  description: string;
  kind: "network" | "markov" | "diagram" | "dynamic";
  numSteps: number;
  variables: VariableOutline[];
  decisions: string[];
  utilities: string[];
}

/** What an answer may cost. */
export type Effort = "quick" | "patient" | "approximate";

const NOTHING_KNOWN: Question = { evidence: {}, do: {}, focus: "auto" };

export class Session implements Client {
  outline = $state.raw<Outline | null>(null);
  question = $state.raw<Question>(NOTHING_KNOWN);
  effort = $state<Effort>("quick");
  /** The nodes that somebody points at, in that order. */
  selection = $state.raw<string[]>([]);
  /** What a panel brings out in the picture. */
  private brought = $state.raw<Marks | null>(null);
  /** What went wrong last, in words. */
  problem = $state("");
  private past = $state.raw<Outline[]>([]);
  private future = $state.raw<Outline[]>([]);
  private scene = $state.raw<Scene | null>(null);
  private answer = $state.raw<Answer | null>(null);
  private readonly line = new Line((question) => void this.send(question));
  private readonly listeners = new Set<(told: Told) => void>();
  /** What the scene at hand shows. */
  private seen = "";

  /** The rows that were dropped last, by the number that the server knows them by. */
  rows = $state.raw<{ table: string; name: string } | null>(null);
  /** The panel that is open. */
  panel = $state<string | null>(location.search === "?tour" ? "Tour" : null);

  constructor(readonly server: Server) {}

  /** A file of rows, or of a model, by its ending. */
  async openFile(file: File): Promise<void> {
    if (/\.(csv|tsv|parquet|arrow|feather)$/i.test(file.name)) {
      const rows = await this.told(() => this.server.send<{ table: string }>("rows", file));
      if (!rows) return;
      this.rows = { table: rows.table, name: file.name };
      this.panel = "Learn";
      return;
    }
    const outline = await this.told(() => this.server.send<Outline>("open", file));
    if (outline) await this.open(outline);
  }

  get canUndo(): boolean {
    return this.past.length > 0;
  }

  get canRedo(): boolean {
    return this.future.length > 0;
  }

  /** Begin with a model. */
  async open(outline: Outline): Promise<void> {
    [this.past, this.future] = [[], []];
    await this.show(outline, NOTHING_KNOWN);
  }

  /** The model after an edit, which can be undone. */
  async edited(outline: Outline): Promise<void> {
    if (this.outline) this.past = [...this.past, this.outline];
    this.future = [];
    await this.show(outline, this.question);
  }

  async undo(): Promise<void> {
    const before = this.past.at(-1);
    if (!before || !this.outline) return;
    this.future = [this.outline, ...this.future];
    this.past = this.past.slice(0, -1);
    await this.show(before, this.question);
  }

  async redo(): Promise<void> {
    const [next, ...rest] = this.future;
    if (!next || !this.outline) return;
    this.past = [...this.past, this.outline];
    this.future = rest;
    await this.show(next, this.question);
  }

  /** Ask the server about the model at hand; what goes wrong is told on the page, and there is no answer. */
  async about<Answer>(question: string, fields: Fields = {}): Promise<Answer | null> {
    if (!this.outline) return null;
    return this.told(() => this.server.ask<Answer>(question, { model: this.outline?.model, ...fields }));
  }

  /** What comes of asking; null where that goes wrong, which is told on the page. */
  async told<Answer>(asked: () => Promise<Answer>): Promise<Answer | null> {
    try {
      const answer = await asked();
      this.problem = "";
      return answer;
    } catch (error) {
      if (!(error instanceof Superseded)) this.problem = (error as Error).message;
      if (error instanceof Refusal && error.cycle.length) this.bringOut(marksOfCycle(error.cycle));
      return null;
    }
  }

  /** Change the model: `action` says how. */
  async edit(action: string, fields: Fields): Promise<boolean> {
    const outline = await this.about<Outline>("edit", { action, ...fields });
    if (outline) await this.edited(outline);
    return outline !== null;
  }

  /** What is known, as fields of a question. */
  get known(): Fields {
    return { evidence: this.question.evidence, do: this.question.do };
  }

  // --- the client of the picture ---

  get isReady(): boolean {
    return this.scene !== null && this.answer !== null;
  }

  watch(listener: (told: Told) => void): () => void {
    this.listeners.add(listener);
    if (this.isReady) listener(this.now());
    return () => this.listeners.delete(listener);
  }

  ask(question: Question): void {
    this.line.ask(question);
    this.tell();
  }

  select(name: string, isMore: boolean): void {
    const others = this.selection.filter((other) => other !== name);
    const isSelected = others.length < this.selection.length;
    this.selection = isMore ? (isSelected ? others : [...others, name]) : isSelected && !others.length ? [] : [name];
    this.tell();
  }

  /** Bring out nodes and edges; null for none but what is selected. */
  bringOut(marks: Marks | null): void {
    this.brought = marks;
    this.tell();
  }

  async picture(): Promise<string> {
    const fields = { ...this.known, focus: this.question.focus };
    const { svg } = await this.server.ask<{ svg: string }>("picture", { model: this.outline?.model, ...fields });
    return svg;
  }

  /** Answer the question at hand once more, at another price. */
  async again(effort: Effort): Promise<void> {
    this.effort = effort;
    this.seen = "";
    this.ask(this.question);
  }

  private now(): Told {
    const question = this.line.next ?? this.question;
    const selected = Object.fromEntries(this.selection.map((name) => [name, "selected" as const]));
    const marks = { nodes: { ...this.brought?.nodes, ...selected }, edges: this.brought?.edges ?? [] };
    return { scene: this.scene!, question, answer: this.answer!, isWaiting: !this.line.isOpen, marks };
  }

  private async show(outline: Outline, question: Question): Promise<void> {
    this.outline = outline;
    const names = new Set([...outline.variables.map((variable) => variable.name), ...outline.utilities]);
    this.selection = this.selection.filter((name) => names.has(name));
    this.brought = null;
    this.effort = "quick";
    this.seen = "";
    await this.send(fitting(question, outline));
  }

  private async send(question: Question): Promise<void> {
    const model = this.outline?.model;
    const wanted = JSON.stringify([model, question.focus, this.effort]);
    const fields = { model, effort: this.effort, ...question };
    try {
      if (wanted !== this.seen) {
        const told = await this.server.ask<{ scene: Scene; answer: Answer }>("scene", fields);
        [this.scene, this.answer, this.seen] = [told.scene, told.answer, wanted];
      } else {
        this.answer = (await this.server.ask<{ answer: Answer }>("beliefs", fields)).answer;
      }
      this.question = question;
      this.problem = "";
    } catch (error) {
      if (error instanceof Refusal) this.problem = error.message;
    }
    if (!this.line.isOpen) this.line.answered();
    this.tell();
  }

  /** Tell all who watch; a panel that makes something known does not depend on what it makes. */
  private tell(): void {
    untrack(() => {
      if (!this.isReady) return;
      for (const listener of this.listeners) listener(this.now());
    });
  }
}

function marksOfCycle(cycle: string[]): Marks {
  const ends = cycle.map((name, place): [string, string] => [name, cycle[(place + 1) % cycle.length] ?? name]);
  return {
    nodes: Object.fromEntries(cycle.map((name) => [name, "blocks"])),
    edges: ends.map((pair) => ({ ends: pair, mark: "blocked" })),
  };
}

/** What is known, as far as another model has the variables and states that it is about. */
export function fitting(question: Question, outline: Outline): Question {
  const variables = new Map(outline.variables.map((variable) => [variable.name, variable]));
  const kept = (findings: Question["evidence"]) =>
    Object.fromEntries(
      Object.entries(findings).filter(([name, finding]) => {
        const variable = variables.get(name);
        if (!variable) return false;
        if (typeof finding === "number") return variable.isContinuous;
        if (Array.isArray(finding)) return finding.every((state) => state < variable.numStates);
        return finding.weights.length === variable.numStates;
      }),
    );
  const focus = Array.isArray(question.focus) ? question.focus.filter((name) => variables.has(name)) : question.focus;
  const fits = { evidence: kept(question.evidence), do: kept(question.do) };
  return { ...cleared(question), ...fits, focus: Array.isArray(focus) && !focus.length ? "auto" : focus };
}
