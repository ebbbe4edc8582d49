import { expect, test } from "vitest";
import { commandOf, gestureOf, roved } from "../src/keyboard";

const key = (name: string, more = {}) =>
  ({ key: name, shiftKey: false, altKey: false, ctrlKey: false, metaKey: false, ...more }) as KeyboardEvent;

test("keys have their commands; those of the browser are left to it", () => {
  expect(commandOf(key("Enter"), "see")).toEqual({ gesture: "see" });
  expect(commandOf(key("Enter"), "set")).toEqual({ gesture: "set" });
  expect(commandOf(key("Enter", { shiftKey: true }), "see")).toEqual({ gesture: "deny" });
  expect(commandOf(key("d"), "see")).toEqual({ gesture: "set" });
  expect(commandOf(key("ArrowDown"), "see")).toEqual({ move: 1 });
  expect(commandOf(key("End"), "see")).toEqual({ move: "last" });
  expect(commandOf(key("w"), "see")).toEqual({ gesture: "weigh" });
  expect(commandOf(key("ArrowLeft", { shiftKey: true }), "see")).toEqual({ push: [-24, 0] });
  expect(commandOf(key("Delete"), "see")).toEqual({ act: "retract" });
  expect(commandOf(key("d", { ctrlKey: true }), "see")).toBeNull();
  expect(commandOf(key("Tab"), "see")).toBeNull();
});

test("modifiers win over what is chosen", () => {
  expect(gestureOf({ shiftKey: false, altKey: true }, "see")).toBe("set");
  expect(gestureOf({ shiftKey: true, altKey: false }, "set")).toBe("deny");
});

test("arrows go round among things beside each other", () => {
  const all = ["a", "b", "c"].map((name) => ({ name, focus: () => (reached = name), parentElement: null as unknown }));
  let reached = "";
  all.forEach((one) => (one.parentElement = { children: all }));
  const press = (name: string, at: number, more = {}) => {
    reached = "";
    const event = { ...key(name, more), currentTarget: all[at], preventDefault: () => undefined };
    roved(event as unknown as KeyboardEvent);
    return reached;
  };
  expect([press("ArrowRight", 0), press("ArrowDown", 2), press("ArrowLeft", 0), press("ArrowUp", 1)]).toEqual(["b", "a", "c", "a"]);
  expect([press("Home", 2), press("End", 0)]).toEqual(["a", "c"]);
  expect([press("Enter", 0), press("ArrowRight", 0, { shiftKey: true })]).toEqual(["", ""]);
});
