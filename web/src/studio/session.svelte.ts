// What the page has open: a model with its past and its future, what is known, and what the picture shows of it.

import { untrack } from "svelte";
import { type Client, Line, type Offers, type Told } from "../client";
import { cleared, type Question } from "../question";
import type { Answer, Marks, Scene } from "../scene";
import { Cases, ENDING } from "./cases.svelte";
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
  /** Whether nodes can be put elsewhere, and whether some have been. */
  canBePlaced: boolean;
  isPlaced: boolean;
  variables: VariableOutline[];
  decisions: string[];
  utilities: string[];
}

/** What an answer may cost. */
export type Effort = "quick" | "patient" | "approximate";

/** Nobody is offered to wait longer than this, in seconds: the server gives up then. */
const LONGEST = 600;

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
  private readonly line = new Line((question) => void this.sendInLine(question));
  /** Changes of the model are made one after the other. */
  private lastChange: Promise<unknown> = Promise.resolve();
  private numChanging = 0;
  /** What was asked last; it may have no answer yet. */
  private asked: Question = NOTHING_KNOWN;
  private readonly listeners = new Set<(told: Told) => void>();
  /** What the scene at hand shows, and what it was laid out around. */
  private seen = "";
  private around: string[] = [];
  /** Findings that were kept under a name. */
  readonly cases = new Cases(this);

  /** The rows that were dropped last, by the number that the server knows them by. */
  rows = $state.raw<{ table: string; name: string } | null>(null);
  /** The panel that is open. */
  panel = $state<string | null>(null);

  constructor(
    readonly server: Server,
    panel: string | null = null,
  ) {
    this.panel = panel;
  }

  /** A file of rows, of cases, or of a model, by its ending. */
  async openFile(file: File): Promise<void> {
    if (file.name.endsWith(ENDING)) return this.cases.read(file);
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
    this.cases.clear();
    await this.show(outline, NOTHING_KNOWN);
  }

  /** The model after an edit, which can be undone. */
  async edited(outline: Outline): Promise<void> {
    if (this.outline) this.past = [...this.past, this.outline];
    this.future = [];
    await this.show(outline, this.asked);
  }

  undo(): Promise<void> {
    return this.inTurn(async () => {
      const before = this.past.at(-1);
      if (!before || !this.outline) return;
      this.future = [this.outline, ...this.future];
      this.past = this.past.slice(0, -1);
      await this.show(before, this.asked);
    });
  }

  redo(): Promise<void> {
    return this.inTurn(async () => {
      const [next, ...rest] = this.future;
      if (!next || !this.outline) return;
      this.past = [...this.past, this.outline];
      this.future = rest;
      await this.show(next, this.asked);
    });
  }

  /** Change the model after all changes that began before. */
  private async inTurn<Result>(change: () => Promise<Result>): Promise<Result> {
    this.numChanging += 1;
    this.tell();
    const changed = this.lastChange.then(change);
    this.lastChange = changed.catch(() => undefined);
    try {
      return await changed;
    } finally {
      this.numChanging -= 1;
      this.tell();
    }
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
  edit(action: string, fields: Fields): Promise<boolean> {
    return this.change("edit", { action, ...fields });
  }

  private change(question: string, fields: Fields): Promise<boolean> {
    return this.inTurn(async () => {
      const outline = await this.about<Outline>(question, fields);
      if (outline) await this.edited(outline);
      return outline !== null;
    });
  }

  /** What is known, as fields of a question. */
  get known(): Fields {
    return { evidence: this.question.evidence, do: this.question.do };
  }

  // --- the client of the picture ---

  /** What is known, in words. */
  get findings(): string[] {
    return this.answer?.findings.map((finding) => finding.text) ?? [];
  }

  get isReady(): boolean {
    return this.scene !== null && this.answer !== null;
  }

  watch(listener: (told: Told) => void): () => void {
    this.listeners.add(listener);
    untrack(() => this.isReady && listener(this.now()));
    return () => this.listeners.delete(listener);
  }

  ask(question: Question): void {
    this.asked = question;
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

  /** Put a node elsewhere, where the model keeps places. */
  get move(): Client["move"] {
    return this.outline?.canBePlaced ? (name, x, y) => this.rearranged("move", { name, x, y }) : undefined;
  }

  tidy(): Promise<void> {
    return this.rearranged("tidy", {});
  }

  private async rearranged(question: string, fields: Fields): Promise<void> {
    const { focus } = this.question;
    await this.change(question, { ...fields, focus, around: this.around, effort: this.effort });
  }

  async picture(): Promise<string> {
    const fields = { ...this.known, focus: this.question.focus };
    const { svg } = await this.server.ask<{ svg: string }>("picture", { model: this.outline?.model, ...fields });
    return svg;
  }

  /** Answer the question at hand once more, at another price. */
  async again(effort: Effort): Promise<void> {
    this.effort = effort;
    this.ask(this.asked);
  }

  private now(): Told {
    const selected = Object.fromEntries(this.selection.map((name) => [name, "selected" as const]));
    const { nodes, edges, states } = this.brought ?? { nodes: {}, edges: [] };
    return {
      scene: this.scene!,
      question: this.asked,
      answer: this.answer!,
      isWaiting: !this.line.isOpen || this.numChanging > 0,
      marks: { nodes: { ...nodes, ...selected }, edges, ...(states && { states }) },
      isPlaced: this.outline?.isPlaced ?? false,
      ...(this.offers && { offers: this.offers }),
    };
  }

  /** What can be done about an answer that nobody waited for, and how to get back from there. */
  private get offers(): Offers | null {
    const { problem, seconds } = this.answer!;
    const at = (label: string, effort: Effort) => ({ label, act: () => void this.again(effort) });
    if (problem === "TooLarge") {
      const canWait = this.effort !== "patient" && seconds != null && seconds <= LONGEST;
      const patient = canWait ? [at(`compute anyway (about ${Math.max(1, Math.round(seconds))} s)`, "patient")] : [];
      return { text: "", choices: [...patient, ...(this.effort === "approximate" ? [] : [at("approximate", "approximate")])] };
    }
    if (this.effort === "quick") return null;
    const text = this.effort === "patient" ? "Exact, however long it takes." : "Approximate where exact takes too long.";
    return { text, choices: [at("only what is quick", "quick")] };
  }

  private async show(outline: Outline, question: Question): Promise<void> {
    this.outline = outline;
    const names = new Set([...outline.variables.map((variable) => variable.name), ...outline.utilities]);
    this.selection = this.selection.filter((name) => names.has(name));
    this.brought = null;
    this.effort = "quick";
    this.asked = fitting(question, outline);
    await this.send(this.asked);
    this.tell();
  }

  private async sendInLine(question: Question): Promise<void> {
    await this.send(question);
    this.line.answered();
    this.tell();
  }

  private async send(question: Question): Promise<void> {
    const model = this.outline?.model;
    const wanted = JSON.stringify([model, question.focus, this.effort]);
    const fields = { model, effort: this.effort, ...question };
    try {
      const told =
        wanted === this.seen
          ? await this.server.ask<{ answer: Answer; scene?: Scene }>("beliefs", { ...fields, around: this.around })
          : await this.server.ask<{ answer: Answer; scene?: Scene }>("scene", fields);
      if (model !== this.outline?.model) return; // the model was edited meanwhile, and is asked about anew
      this.answer = told.answer;
      if (told.scene) {
        [this.scene, this.seen] = [told.scene, wanted];
        this.around = [...Object.keys(question.do), ...Object.keys(question.evidence)];
      }
      this.question = question;
      this.problem = "";
    } catch (error) {
      if (error instanceof Refusal) this.problem = error.message;
      if (this.asked === question) this.asked = this.question;
    }
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
