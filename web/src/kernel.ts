// The client of a notebook: questions and answers are traits of an anywidget.

import { type Client, Line, type Told } from "./client";
import type { Question } from "./question";
import type { Answer, Scene } from "./scene";

/** What anywidget gives: the model of a widget. */
export interface Model {
  get(name: string): unknown;
  set(name: string, value: unknown): void;
  save_changes(): void;
  send(content: unknown): void;
  on(event: string, callback: (...told: never[]) => void): void;
  off(event: string, callback: (...told: never[]) => void): void;
}

interface SavedPicture {
  kind: string;
  svg?: string;
  message?: string;
}

const QUESTION = ["evidence", "do", "focus"] as const;
const WATCHED = [...QUESTION, "_scene", "_answer"];

export class KernelClient implements Client {
  private readonly line = new Line((question) => this.send(question));
  private readonly listeners = new Set<(told: Told) => void>();
  private asked = 0;

  constructor(private readonly model: Model) {
    for (const name of WATCHED) model.on(`change:${name}`, this.heard);
  }

  watch(listener: (told: Told) => void): () => void {
    this.listeners.add(listener);
    listener(this.told());
    return () => this.listeners.delete(listener);
  }

  ask(question: Question): void {
    this.line.ask(question);
    this.tell();
  }

  picture(): Promise<string> {
    return new Promise((resolve, reject) => {
      const heard = (content: SavedPicture) => {
        if (content.kind !== "picture") return;
        this.model.off("msg:custom", heard);
        if (content.svg === undefined) reject(new Error(content.message));
        else resolve(content.svg);
      };
      this.model.on("msg:custom", heard);
      this.model.send({ kind: "picture" });
    });
  }

  /** Stop listening: the page no longer shows the widget. */
  close(): void {
    for (const name of WATCHED) this.model.off(`change:${name}`, this.heard);
    this.listeners.clear();
  }

  private told(): Told {
    const [evidence, settings, focus] = QUESTION.map((name) => this.model.get(name));
    const question = this.line.next ?? ({ evidence, do: settings, focus } as Question);
    const scene = this.model.get("_scene") as Scene;
    const answer = this.model.get("_answer") as Answer;
    return { scene, question, answer, isWaiting: !this.line.isOpen };
  }

  private send(question: Question): void {
    this.asked = (this.model.get("_asked") as number) + 1;
    for (const name of QUESTION) this.model.set(name, question[name]);
    this.model.set("_asked", this.asked);
    this.model.save_changes();
  }

  private heard = (): void => {
    const { asked } = this.model.get("_answer") as { asked: number };
    if (!this.line.isOpen && asked >= this.asked) this.line.answered();
    this.tell();
  };

  private tell(): void {
    for (const listener of this.listeners) listener(this.told());
  }
}
