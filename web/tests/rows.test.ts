import { expect, test } from "vitest";
import { folded, percentage, rest } from "../src/rows";

test("few states all have rows", () => {
  expect(folded([0.5, 0.5], [], 6)).toEqual([
    { state: 0, count: 1 },
    { state: 1, count: 1 },
  ]);
});

test("of many states those marked and the likeliest have rows, in their order, and one row has the others", () => {
  const probabilities = [0.05, 0.3, 0.1, 0.2, 0.0, 0.25, 0.1];
  const rows = folded(probabilities, [4], 4);
  expect(rows.map((row) => row.state)).toEqual([1, 4, 5, null]);
  expect(rows[3]?.count).toBe(4);
  expect(rest(probabilities, rows)).toBeCloseTo(0.45);
});

test("percentages are those of still pictures", () => {
  const shown = [0.4887, 0.05, 0.0625, 0.0545, 0.0575, 1e-5, 0.0, 0.99999, 1.0].map(percentage);
  expect(shown).toEqual(["48.9%", "5.0%", "6.2%", "5.5%", "5.8%", "0+", "0%", "100−", "100%"]);
});
