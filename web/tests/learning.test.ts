import { expect, test } from "vitest";
import { told } from "../src/studio/panels/learning";

test("a plan is told by the columns that are used, tiers in the order of their numbers", () => {
  const column = (isUsed: boolean, tier: string, intervals: number | null = null) => ({ isUsed, tier, intervals });
  const columns = { id: column(false, "1"), age: column(true, "10", 3), ill: column(true, "2"), x: column(true, "") };
  expect(told({ columns, required: [["age", "ill"]], forbidden: [], method: "ges" })).toEqual({
    columns: ["age", "ill", "x"],
    intervals: { age: 3 },
    tiers: [["ill"], ["age"]],
    required: [["age", "ill"]],
    forbidden: [],
    method: "ges",
  });
});
