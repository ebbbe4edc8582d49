// What Python tells a page: a scene (where everything stands) and answers (what is believed).

export interface Box {
  x: number;
  y: number;
  width: number;
  height: number;
  fill: string | null;
  stroke: string | null;
  shape: "rectangle" | "oval" | "rhombus";
  thickness: number;
  radius: number;
  is_dashed: boolean;
}

export interface Path {
  points: [number, number][];
  stroke: string | null;
  fill: string | null;
  thickness: number;
  is_curved: boolean;
  is_dashed: boolean;
}

export interface Text {
  x: number;
  y: number;
  text: string;
  size: number;
  colour: string;
  anchor: "start" | "middle" | "end";
  is_bold: boolean;
}

export type Item = Box | Path | Text;

export interface Part {
  name: string;
  title: string;
  items: Item[];
}

export interface Edge extends Part {
  /** The node that its arrow points at: an intervention there cuts it. */
  into: string | null;
  ends: [string, string];
}

/** What is brought out in a picture: nodes and edges, each by a class of the style sheet. */
export interface Marks {
  nodes: Record<string, "selected" | "on" | "blocks" | "added" | "dimmed">;
  edges: { ends: [string, string]; mark: "active" | "blocked" | "added" }[];
  /** The state of each variable that an explanation of what is seen takes. */
  states?: Record<string, number>;
}

/** Edges at a dimmed node are dimmed with it. */
export function markOfEdge(marks: Marks | undefined, edge: Edge): Marks["edges"][number]["mark"] | "dimmed" | undefined {
  if (!marks) return undefined;
  const isBetween = ({ ends }: { ends: [string, string] }) => ends.every((end) => edge.ends.includes(end));
  const isDimmed = edge.ends.some((end) => own(marks.nodes, end) === "dimmed");
  return marks.edges.find(isBetween)?.mark ?? (isDimmed ? "dimmed" : undefined);
}

export interface State {
  name: string;
  /** The name, short enough for its column. */
  label: string;
}

export interface Node extends Part {
  kind: "states" | "number" | "utility" | "still";
  states: State[];
  /** How many neighbours are not shown. */
  hidden: number;
  isDecision: boolean;
}

export interface Measures {
  pad: number;
  row: number;
  header: number;
  bar: number;
  barHeight: number;
  number: number;
  small: number;
  tag: number;
  mostStates: number;
}

export interface Scene {
  title: string;
  width: number;
  height: number;
  parts: Part[];
  edges: Edge[];
  nodes: Node[];
  notes: string[];
  /** All nodes of the model, shown or not. */
  names: string[];
  canSet: boolean;
  /** Colour -> on light paper, on dark paper. */
  colours: Record<string, [string, string]>;
  fonts: string[];
  measures: Measures;
}

export interface Belief {
  now: number[];
  /** Without the findings, where there are some. */
  before: number[] | null;
}

export type FindingKind = "seen" | "soft" | "set";

export interface Answer {
  beliefs: Record<string, Belief>;
  /** Of nodes without rows: what stands in them. */
  lines: Record<string, string[]>;
  findings: { name: string; kind: FindingKind; text: string }[];
  facts: string[];
  /** Why there is no answer, and what kind of problem that is. */
  message: string;
  problem?: string;
  /** About how long an answer would take that nobody waited for. */
  seconds?: number | null;
  isApproximate?: boolean;
}

/** What a record says of a name, which may be that of something that all objects have, such as "constructor". */
export function own<T>(record: Record<string, T>, name: string): T | undefined {
  return Object.hasOwn(record, name) ? record[name] : undefined;
}

/** The frame of a node. */
export function frameOf(node: Node): Box {
  return node.items[0] as Box;
}
