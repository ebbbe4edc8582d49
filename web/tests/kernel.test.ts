import { expect, test } from "vitest";
import type { Told } from "../src/client";
import { KernelClient, type Model } from "../src/kernel";
import type { Question } from "../src/question";

/** A kernel that answers when it is told to. */
class SlowModel implements Model {
  state: Record<string, unknown> = { evidence: {}, do: {}, focus: "auto", _asked: 0, _scene: {}, _answer: { asked: 0 } };
  sent: unknown[] = [];
  messages: unknown[] = [];
  private heard: Record<string, ((...told: never[]) => void)[]> = {};

  get = (name: string) => this.state[name];
  set(name: string, value: unknown) {
    this.state[name] = value;
    this.tell(`change:${name}`);
  }
  save_changes = () => void this.sent.push(this.state.evidence);
  send = (content: unknown) => void this.messages.push(content);
  on(event: string, callback: (...told: never[]) => void) {
    (this.heard[event] ??= []).push(callback);
  }
  off(event: string, callback: (...told: never[]) => void) {
    this.heard[event] = (this.heard[event] ?? []).filter((other) => other !== callback);
  }
  tell(event: string, ...told: unknown[]) {
    for (const callback of [...(this.heard[event] ?? [])]) callback(...(told as never[]));
  }
  answer = () => this.set("_answer", { asked: this.state._asked });
}

const seen = (state: number): Question => ({ evidence: { X: [state] }, do: {}, focus: "auto" });

test("while a question is on its way, only the newest waits", () => {
  const model = new SlowModel();
  const client = new KernelClient(model);
  let told: Told | undefined;
  client.watch((news) => (told = news));
  for (const state of [0, 1, 2]) client.ask(seen(state));
  expect(model.sent).toEqual([{ X: [0] }]);
  expect(told?.question.evidence).toEqual({ X: [2] });
  expect(told?.isWaiting).toBe(true);
  model.answer();
  expect(model.sent).toEqual([{ X: [0] }, { X: [2] }]);
  model.answer();
  expect(told?.isWaiting).toBe(false);
  expect(model.sent.length).toBe(2);
});

test("what Python changes is told; after the end nothing is", () => {
  const model = new SlowModel();
  const client = new KernelClient(model);
  const told: unknown[] = [];
  client.watch((news) => told.push(news.question.evidence));
  model.set("evidence", { Y: [1] });
  expect(told).toEqual([{}, { Y: [1] }]);
  client.close();
  model.set("evidence", {});
  expect(told.length).toBe(2);
});

test("a picture comes as a message, and so does why there is none", async () => {
  const model = new SlowModel();
  const client = new KernelClient(model);
  const picture = client.picture();
  model.tell("msg:custom", { kind: "picture", svg: "<svg/>" });
  expect(await picture).toBe("<svg/>");
  const refused = client.picture();
  model.tell("msg:custom", { kind: "picture", message: "impossible" });
  await expect(refused).rejects.toThrow("impossible");
});
