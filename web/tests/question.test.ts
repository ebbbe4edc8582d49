import { expect, test } from "vitest";
import { after, cleared, type Question, retracted, shares, withNumber } from "../src/question";

const NOTHING: Question = { evidence: {}, do: {}, focus: "auto" };

test("a click sees a state, another moves there, again retracts", () => {
  const seen = after(NOTHING, "X", 1, 3, "see");
  expect(seen.evidence).toEqual({ X: [1] });
  expect(after(seen, "X", 2, 3, "see").evidence).toEqual({ X: [2] });
  expect(after(seen, "X", 1, 3, "see")).toEqual(NOTHING);
  expect(NOTHING.evidence).toEqual({});
});

test("not this state: the others are left, twice is nothing, and one at least stays", () => {
  const denied = after(NOTHING, "X", 1, 3, "deny");
  expect(denied.evidence).toEqual({ X: [0, 2] });
  expect(after(denied, "X", 1, 3, "deny")).toEqual(NOTHING);
  const one = after(denied, "X", 0, 3, "deny");
  expect(one.evidence).toEqual({ X: [2] });
  expect(after(one, "X", 2, 3, "deny")).toEqual(one);
  expect(after(denied, "X", 2, 3, "see").evidence).toEqual({ X: [2] });
});

test("what is set is not seen, and stays set while clicks move it", () => {
  const set = after(after(NOTHING, "X", 0, 2, "see"), "X", 1, 2, "set");
  expect(set).toEqual({ ...NOTHING, do: { X: [1] } });
  expect(after(set, "X", 0, 2, "see")).toEqual({ ...NOTHING, do: { X: [0] } });
  expect(after(set, "X", 1, 2, "see")).toEqual(NOTHING);
  expect(after(set, "X", 1, 2, "deny")).toEqual({ ...NOTHING, evidence: { X: [0] } });
});

test("beliefs have sum one, whatever people count in", () => {
  expect(shares([70, 30])).toEqual([0.7, 0.3]);
  expect(shares([null, 2])).toEqual([0, 1]);
  for (const none of [[0, 0], [null, null], [1, -1], [-1, 3], [Infinity, 1], [NaN, 1]]) expect(shares(none)).toBeNull();
});

test("numbers are seen or set; all can be retracted", () => {
  const seen = withNumber(NOTHING, "height", 170, "see");
  expect(seen.evidence).toEqual({ height: 170 });
  const set = withNumber(seen, "height", 180, "set");
  expect(set).toEqual({ ...NOTHING, do: { height: 180 } });
  expect(retracted(set, "height")).toEqual(NOTHING);
  expect(cleared({ evidence: { X: [1] }, do: { Y: [0] }, focus: ["X"] })).toEqual({ ...NOTHING, focus: ["X"] });
});

test("weights give way to a click", () => {
  const soft: Question = { ...NOTHING, evidence: { X: { kind: "likelihood", weights: [0.8, 0.1] } } };
  expect(after(soft, "X", 0, 2, "see").evidence).toEqual({ X: [0] });
});

test("names that all objects have are names like others", () => {
  const seen = after(after(NOTHING, "constructor", 1, 2, "see"), "__proto__", 0, 2, "see");
  expect(Object.entries(seen.evidence)).toEqual([["constructor", [1]], ["__proto__", [0]]]);
  expect(retracted(retracted(seen, "__proto__"), "constructor")).toEqual(NOTHING);
});
