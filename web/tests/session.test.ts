import { expect, test } from "vitest";
import type { Told } from "../src/client";
import { after } from "../src/question";
import type { Fields, Server } from "../src/studio/server";
import { Refusal } from "../src/studio/server";
import { type Outline, Session } from "../src/studio/session.svelte";

const outline = (model: string): Outline => ({
  model,
  name: "a",
  title: "a",
  description: "",
  kind: "network",
  numSteps: 0,
  canBePlaced: true,
  isPlaced: false,
  variables: ["X", "Y", "Z"].map((name) => ({ name, states: ["0", "1"], numStates: 2, isContinuous: false })),
  decisions: [],
  utilities: [],
});

/** A server that answers when it is told to, with what it was asked. */
class SlowServer {
  asked: { question: string; fields: Fields; answer: (told?: object) => Promise<void>; refuse: () => Promise<void> }[] = [];

  ask(question: string, fields: Fields): Promise<unknown> {
    return new Promise((resolve, reject) => {
      const settled = () => new Promise<void>((done) => setTimeout(done));
      const answer = (told: object = { scene: { of: fields.model }, answer: { ...fields, findings: [] } }) => {
        resolve(question === "beliefs" ? { answer: { ...fields, findings: [] } } : told);
        return settled();
      };
      const refuse = () => {
        reject(new Refusal("no", "InvalidEvidence"));
        return settled();
      };
      this.asked.push({ question, fields, answer, refuse });
    });
  }

  get last() {
    return this.asked.at(-1)!;
  }
}

async function opened(): Promise<{ session: Session; server: SlowServer; told: () => Told }> {
  const server = new SlowServer();
  const session = new Session(server as unknown as Server);
  void session.open(outline("m1"));
  await server.last.answer();
  let news: Told | undefined;
  session.watch((told) => (news = told));
  return { session, server, told: () => news! };
}

test("what is clicked while an answer is on its way adds to what was asked", async () => {
  const { session, server, told } = await opened();
  session.ask(after(told().question, "X", 0, 2, "see"));
  session.ask(after(told().question, "Y", 1, 2, "see"));
  session.ask(after(told().question, "Z", 1, 2, "see"));
  expect(told().isWaiting).toBe(true);
  expect(server.asked.length).toBe(2);
  await server.last.answer();
  expect(server.last.fields.evidence).toEqual({ X: [0], Y: [1], Z: [1] });
  await server.last.answer();
  expect(session.question.evidence).toEqual({ X: [0], Y: [1], Z: [1] });
  expect(told().isWaiting).toBe(false);
});

test("a question that is refused leaves what was known before", async () => {
  const { session, server, told } = await opened();
  session.ask(after(told().question, "X", 0, 2, "see"));
  await server.last.answer();
  session.ask(after(told().question, "Y", 0, 2, "see"));
  await server.last.refuse();
  expect(told().question.evidence).toEqual({ X: [0] });
  expect(session.problem).toBe("no");
});

test("an answer about a model that was edited meanwhile is not shown beside the new one", async () => {
  const { session, server, told } = await opened();
  session.ask(after(told().question, "X", 0, 2, "see"));
  const late = server.last;
  const edited = session.edit("rename", {});
  await Promise.resolve();
  await new Promise((done) => setTimeout(done));
  await server.last.answer(outline("m2"));
  expect(server.last.fields).toMatchObject({ model: "m2", evidence: { X: [0] } });
  await server.last.answer();
  await edited;
  await late.answer();
  expect((told().answer as unknown as Fields).model).toBe("m2");
  expect(told().question.evidence).toEqual({ X: [0] });
  expect(told().isWaiting).toBe(false);
});

test("changes are made one after the other, and steps back come after them", async () => {
  const { session, server } = await opened();
  void session.edit("first", {});
  void session.edit("second", {});
  const back = session.undo();
  await new Promise((done) => setTimeout(done));
  expect(server.asked.map(({ question }) => question)).toEqual(["scene", "edit"]);
  await server.last.answer(outline("m2"));
  await server.last.answer();
  expect(server.last.fields.action).toBe("second");
  await server.last.answer(outline("m3"));
  await server.last.answer();
  expect(server.last.fields.model).toBe("m2");
  await server.last.answer();
  await back;
  expect(session.outline?.model).toBe("m2");
});

test("where it takes too long there are offers at their price", async () => {
  const { session, server, told } = await opened();
  const refused = { problem: "TooLarge", seconds: 41.6, findings: [] };
  void session.again("quick");
  server.last.answer();
  void session.edit("a", {});
  await new Promise((done) => setTimeout(done));
  await server.last.answer(outline("m2"));
  await server.last.answer({ scene: {}, answer: refused });
  expect(told().offers?.choices.map((choice) => choice.label)).toEqual(["compute anyway (about 42 s)", "approximate"]);
  told().offers?.choices[1]?.act();
  expect(server.last.fields.effort).toBe("approximate");
  await server.last.answer();
  expect(told().offers?.choices.map((choice) => choice.label)).toEqual(["only what is quick"]);
});
