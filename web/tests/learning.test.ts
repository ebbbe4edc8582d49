import { expect, test } from "vitest";
import { type ColumnPlan, cutting, told } from "../src/studio/panels/learning";

const column = (isUsed: boolean, tier: string, more: Partial<ColumnPlan> = {}): ColumnPlan => ({
  isUsed,
  tier,
  method: "",
  bins: 3,
  cuts: "",
  target: "ill",
  ...more,
});

test("a plan is told by the columns that are used, tiers in the order of their numbers", () => {
  const columns = { id: column(false, "1"), age: column(true, "10", { method: "quantile" }), ill: column(true, "2"), x: column(true, "") };
  expect(told({ columns, required: [["age", "ill"]], forbidden: [], method: "ges" })).toEqual({
    columns: ["age", "ill", "x"],
    intervals: { age: { method: "quantile", bins: 3 } },
    tiers: [["ill"], ["age"]],
    required: [["age", "ill"]],
    forbidden: [],
    method: "ges",
  });
});

test("a column is cut by a method, by another column, or where somebody says", () => {
  expect(cutting(column(true, ""))).toBeNull();
  expect(cutting(column(true, "", { method: "mdl" }))).toEqual({ method: "mdl", target: "ill" });
  expect(cutting(column(true, "", { method: "at", cuts: " 18; 65,5;−3 " }))).toEqual({ method: "at", cuts: [18, 65.5, -3] });
});
