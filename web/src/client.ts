// How a page asks: one interface, behind which a notebook's kernel or a server answers.

import type { Question } from "./question";
import type { Answer, Marks, Scene } from "./scene";

/** What is known at the moment. */
export interface Told {
  scene: Scene;
  question: Question;
  answer: Answer;
  /** Whether the answer is to an earlier question than this one. */
  isWaiting: boolean;
  /** What is brought out. */
  marks?: Marks;
  /** What can be done about an answer that is missing, or is no exact one. */
  offers?: Offers;
  /** Whether nodes stand where somebody has put them. */
  isPlaced?: boolean;
}

export interface Offers {
  /** Why there are some, where no message says so. */
  text: string;
  choices: { label: string; act: () => void }[];
}

export interface Client {
  /** Call back at once and whenever something changes; the function returned ends that. */
  watch(listener: (told: Told) => void): () => void;
  ask(question: Question): void;
  /** The picture as the text of an SVG file. */
  picture(): Promise<string>;
  /** Somebody points at a node as a whole, perhaps beside others; where a page does nothing with that there is none. */
  select?(name: string, isMore: boolean): void;
  /** Put the centre of a node elsewhere, in the picture's measure; where places can't be kept there is none. */
  move?(name: string, x: number, y: number): Promise<void>;
  /** Lay nodes out anew that were put somewhere. */
  tidy?(): Promise<void>;
}

/** One question at a time: while one is on its way, only the newest of all others waits. */
export class Line {
  private isBusy = false;
  private waiting: Question | null = null;

  constructor(private readonly send: (question: Question) => void) {}

  /** The newest question that has not been sent. */
  get next(): Question | null {
    return this.waiting;
  }

  get isOpen(): boolean {
    return !this.isBusy;
  }

  ask(question: Question): void {
    if (this.isBusy) {
      this.waiting = question;
      return;
    }
    this.isBusy = true;
    this.send(question);
  }

  /** The question on its way has its answer. */
  answered(): void {
    this.isBusy = false;
    const next = this.waiting;
    this.waiting = null;
    if (next) this.ask(next);
  }
}
