import { expect, test } from "vitest";
import { drawnAround, meets } from "../src/view";

const PICTURE = { width: 10_000, height: 2_000 };

test("what is drawn holds what is seen, and stays while the view moves a little", () => {
  let changes = 0;
  let last = "";
  for (let left = 0; left + 800 <= PICTURE.width; left += 10) {
    const view = { left, top: 300, width: 800, height: 600 };
    const drawn = drawnAround(view, PICTURE);
    expect(drawn.left).toBeLessThanOrEqual(view.left);
    expect(drawn.left + drawn.width).toBeGreaterThanOrEqual(view.left + view.width);
    expect(drawn.left).toBeGreaterThanOrEqual(0);
    expect(drawn.left + drawn.width).toBeLessThanOrEqual(PICTURE.width);
    expect(drawn.width).toBeLessThanOrEqual(2.1 * view.width);
    const now = JSON.stringify(drawn);
    if (now !== last) changes += 1;
    last = now;
  }
  expect(changes).toBeLessThan(30);
});

test("a picture smaller than the view is drawn as a whole", () => {
  expect(drawnAround({ left: 0, top: 0, width: 3000, height: 4000 }, { width: 900, height: 700 })).toEqual({
    left: 0,
    top: 0,
    width: 900,
    height: 700,
  });
});

test("boxes meet a part where they share more than an edge with it", () => {
  const part = { left: 0, top: 0, width: 100, height: 100 };
  expect(meets(part, { x: 99, y: 99, width: 50, height: 50 })).toBe(true);
  expect(meets(part, { x: 100, y: 0, width: 50, height: 50 })).toBe(false);
});
