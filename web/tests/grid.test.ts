import { expect, test } from "vitest";
import { cellsOf, combinations, complemented, freeNumbersOf, normalised, numbersOf, pasted, uniform } from "../src/studio/grid";

test("an empty cell is the rest of its row", () => {
  expect(numbersOf([["0.25", ""], ["0,5", "0.5"]])).toEqual([
    [0.25, 0.75],
    [0.5, 0.5],
  ]);
  expect(() => numbersOf([["", ""]])).toThrow("Row 1 has 2 empty cells");
  expect(() => numbersOf([["0.5", "half"]])).toThrow("half is no number");
  expect(() => numbersOf([["1.5", ""]])).toThrow("nothing is left");
});

test("what a spreadsheet copies is laid over the grid, and nothing beyond it", () => {
  expect(pasted([["1", "2"], ["3", "4"]], "7\t8\t9\r\n0,5\t1\r\n", 1, 0)).toEqual([
    ["1", "2"],
    ["7", "8"],
  ]);
});

test("rows are divided by their sums, or made alike", () => {
  expect(normalised([["1", "3"], ["0", "0"]])).toEqual([
    ["0.25", "0.75"],
    ["0", "0"],
  ]);
  expect(uniform([["1", "0", "0", "0"]])).toEqual([["0.25", "0.25", "0.25", "0.25"]]);
  expect(cellsOf([[0.1 + 0.2]])).toEqual([["0.3"]]);
});

test("the last parent changes first", () => {
  expect(combinations([{ states: ["a", "b"] }, { states: ["x", "y"] }])).toEqual([
    ["a", "x"],
    ["a", "y"],
    ["b", "x"],
    ["b", "y"],
  ]);
  expect(combinations([])).toEqual([[]]);
});

test("a cell of each row can be made the rest of it", () => {
  expect(complemented([["0,3", "0.1", ""], ["0.9", "0.2", "7"], ["", "", ""]], 2)).toEqual([
    ["0,3", "0.1", "0.6"],
    ["0.9", "0.2", "7"],
    ["", "", "1"],
  ]);
});

test("utilities are any numbers, but none is left out", () => {
  expect(freeNumbersOf([["−80", "1e3"], ["0", "2,5"]])).toEqual([
    [-80, 1000],
    [0, 2.5],
  ]);
  expect(() => freeNumbersOf([["1", ""]])).toThrow("an empty cell is no number");
});
