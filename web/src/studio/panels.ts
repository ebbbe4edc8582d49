// What the right side of the page offers, in order; each for the kinds of models that it is about.

import type { Component } from "svelte";
import Cases from "./panels/Cases.svelte";
import Causes from "./panels/Causes.svelte";
import Decide from "./panels/Decide.svelte";
import Edit from "./panels/Edit.svelte";
import Explanations from "./panels/Explanations.svelte";
import FilePanel from "./panels/FilePanel.svelte";
import Impact from "./panels/Impact.svelte";
import Influence from "./panels/Influence.svelte";
import Learn from "./panels/Learn.svelte";
import Relevance from "./panels/Relevance.svelte";
import Separation from "./panels/Separation.svelte";
import Time from "./panels/Time.svelte";
import Tour from "./panels/Tour.svelte";
import type { Outline, Session } from "./session.svelte";

export interface Panel {
  name: string;
  /** What it is for, in a few words. */
  title: string;
  fits: (outline: Outline | null) => boolean;
  view: Component<{ session: Session }>;
}

export const PANELS: Panel[] = [
  {
    name: "Tour",
    title: "a few steps through this page",
    fits: () => location.search === "?tour",
    view: Tour,
  },
  {
    name: "Decide",
    title: "what to do, and what would be worth knowing before",
    fits: (outline) => outline?.kind === "diagram",
    view: Decide,
  },
  {
    name: "Impact",
    title: "which finding moved a belief, and by how much",
    fits: (outline) => outline !== null,
    view: Impact,
  },
  {
    name: "Explanations",
    title: "the most probable states of all variables together",
    fits: (outline) => outline !== null,
    view: Explanations,
  },
  {
    name: "Cases",
    title: "findings kept under a name, and beliefs under several of them side by side",
    fits: (outline) => outline !== null,
    view: Cases,
  },
  {
    name: "Separation",
    title: "which variables tell something about which, and what blocks the ways between them",
    fits: (outline) => outline !== null && outline.kind !== "markov",
    view: Separation,
  },
  {
    name: "Relevance",
    title: "which distributions and findings a belief depends on, and which not",
    fits: (outline) => outline?.kind === "network" || outline?.kind === "dynamic",
    view: Relevance,
  },
  {
    name: "Influence",
    title: "what a belief hangs on, and what to observe next",
    fits: (outline) => outline !== null && outline.kind !== "diagram",
    view: Influence,
  },
  {
    name: "Causes",
    title: "effects of interventions, if arrows are causes",
    fits: (outline) => outline?.kind === "network" || outline?.kind === "dynamic",
    view: Causes,
  },
  {
    name: "Time",
    title: "steps, and how a belief goes from one to the next",
    fits: (outline) => outline?.kind === "dynamic",
    view: Time,
  },
  {
    name: "Edit",
    title: "change variables, states, arcs and tables",
    fits: (outline) => outline?.kind === "network" || outline?.kind === "diagram",
    view: Edit,
  },
  {
    name: "Learn",
    title: "learn a graph and its numbers from rows, and check them",
    fits: (outline) => outline?.kind !== "diagram",
    view: Learn,
  },
  {
    name: "File",
    title: "pictures, a report, a comparison with another file",
    fits: (outline) => outline !== null,
    view: FilePanel,
  },
];
