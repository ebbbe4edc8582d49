import { expect, test } from "vitest";
import { nearest } from "../src/names";

test("a name is meant by itself before others that it begins, whatever its case", () => {
  const names = ["HRSAT", "HR", "HRBP", "hr", "SAO2"];
  expect(nearest("HR", names)).toBe("HR");
  expect(nearest("hr", names)).toBe("hr");
  expect(nearest(" hrb", names)).toBe("HRBP");
  expect(nearest("o2", names)).toBe("SAO2");
  expect(nearest("PRESS", names)).toBeUndefined();
});
