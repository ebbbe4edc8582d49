// Findings kept under names, for as long as the model is open, or in a file.

import { saveAs } from "../download";
import type { Question } from "../question";
import type { Session } from "./session.svelte";

/** What the files of cases end with. */
export const ENDING = ".cases.json";

/** So many stand side by side. */
const MOST = 8;

export interface Case extends Pick<Question, "evidence" | "do"> {
  name: string;
  /** What is known in it, in words. */
  findings: string[];
}

export class Cases {
  kept = $state.raw<Case[]>([]);
  /** Those that stand side by side. */
  chosen = $state.raw<string[]>([]);

  constructor(private readonly session: Session) {}

  /** Those that stand side by side, in their order. */
  get compared(): Case[] {
    return this.kept.filter((one) => this.chosen.includes(one.name));
  }

  /** Keep what is known now; a case of the same name is replaced. */
  keep(name: string): void {
    const { evidence, do: settings } = this.session.question;
    this.put([{ name, evidence, do: settings, findings: this.session.findings }]);
  }

  /** Make known again what a case says. */
  show({ evidence, do: settings }: Case): void {
    this.session.ask({ ...this.session.question, evidence, do: settings });
  }

  compare(name: string, isWanted: boolean): void {
    const others = this.chosen.filter((other) => other !== name);
    this.chosen = isWanted ? [...others, name].slice(-MOST) : others;
  }

  forget(name: string): void {
    this.kept = this.kept.filter((one) => one.name !== name);
    this.compare(name, false);
  }

  clear(): void {
    [this.kept, this.chosen] = [[], []];
  }

  async save(): Promise<void> {
    const saved = await this.session.about<{ name: string; text: string }>("write-cases", { cases: this.kept });
    if (saved) saveAs(saved.name, new Blob([saved.text], { type: "application/json" }));
  }

  /** The cases of a file; what the model does not have is told, and left out. */
  async read(file: File): Promise<void> {
    const told = await this.session.about<{ cases: Case[]; missing: string[] }>("read-cases", { text: await file.text() });
    if (!told) return;
    this.put(told.cases);
    this.session.panel = "Cases";
    this.session.problem = told.missing.join("\n");
  }

  private put(cases: Case[]): void {
    this.kept = [...new Map([...this.kept, ...cases].map((one) => [one.name, one])).values()];
    this.chosen = [...new Set([...this.chosen, ...cases.map((one) => one.name)])].slice(-MOST);
  }
}
