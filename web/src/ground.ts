// Large pictures on a canvas: edges, and nodes as simply as their size allows.

import type { Told } from "./client";
import { kindOf } from "./question";
import { folded, rest } from "./rows";
import { frameOf, type Item, markOfEdge, type Node, own, type Path, type Scene } from "./scene";
import { meets, type View } from "./view";

/** What a picture is made of once, so that it can be painted often. */
export interface Ground {
  nodes: { node: Node; outline: Path2D }[];
  edges: { edge: Scene["edges"][number]; lines: Stroke[]; box: ReturnType<typeof boxOf> }[];
}

interface Stroke {
  path: Path2D;
  item: Path;
}

/** Text smaller than this can't be read, rows lower than this can't be told apart: neither is painted. */
const LEAST_TEXT = 4;
const LEAST_ROW = 3.5;
/** How much is left of what is dimmed; `.dimmed` in the style sheet says the same. */
const DIMMED = 0.25;

export function groundOf(scene: Scene): Ground {
  const edges = scene.edges.map((edge) => {
    const items = edge.items.filter((item): item is Path => "points" in item);
    return { edge, box: boxOf(items), lines: items.map((item) => ({ item, path: pathOf(item) })) };
  });
  return { edges, nodes: scene.nodes.map((node) => ({ node, outline: outlineOf(node) })) };
}

/** Paint what meets a part of the picture onto a canvas that shows that part. */
export function paint(
  context: CanvasRenderingContext2D,
  ground: Ground,
  told: Told,
  part: View,
  scale: { x: number; y: number },
  hasNodes: boolean,
  isDark: boolean,
): void {
  const { scene, question, marks } = told;
  const colour = (name: string | null) => (name ? (scene.colours[name]?.[isDark ? 1 : 0] ?? name) : null);
  context.setTransform(1, 0, 0, 1, 0, 0);
  context.clearRect(0, 0, context.canvas.width, context.canvas.height);
  context.setTransform(scale.x, 0, 0, scale.y, -part.left * scale.x, -part.top * scale.y);
  const thinnest = 0.7 / Math.min(scale.x, scale.y);
  for (const { edge, lines, box } of ground.edges) {
    if (!meets(part, box)) continue;
    const mark = markOfEdge(marks, edge);
    const isCut = edge.into !== null && Object.hasOwn(question.do, edge.into);
    const own = isCut ? "faint" : null;
    const accent = mark ? { active: "bar", added: "set", blocked: "bad", dimmed: own }[mark] : own;
    context.globalAlpha = mark === "dimmed" ? DIMMED : 1;
    for (const { item, path } of lines) {
      context.setLineDash(item.is_dashed || mark === "blocked" || isCut ? [5, 4] : []);
      context.lineWidth = Math.max(mark && mark !== "dimmed" ? 3 : item.thickness, thinnest);
      if (item.fill) context.fillStyle = colour(accent ?? item.fill)!;
      if (item.stroke) context.strokeStyle = colour(accent ?? item.stroke)!;
      if (item.fill) context.fill(path);
      else context.stroke(path);
    }
  }
  context.setLineDash([]);
  context.globalAlpha = 1;
  if (!hasNodes) return;
  const hasText = scene.measures.small * scale.x >= LEAST_TEXT;
  const hasRows = scene.measures.row * scale.y >= LEAST_ROW;
  for (const { node, outline } of ground.nodes) {
    const frame = frameOf(node);
    if (!meets(part, frame)) continue;
    const kind = kindOf(question, node.name);
    const mark = own(marks?.nodes ?? {}, node.name);
    const accent = mark && { blocks: "bad", added: "set", selected: "bar", on: "bar", dimmed: null }[mark];
    context.globalAlpha = mark === "dimmed" ? DIMMED : 1;
    context.fillStyle = colour(kind === "set" ? "set-light" : kind ? "seen-light" : frame.fill) ?? "transparent";
    context.strokeStyle = colour(accent ?? (kind === "set" ? "set" : kind ? "seen" : frame.stroke)) ?? "transparent";
    context.lineWidth = Math.max(accent ? 3 : frame.thickness, thinnest);
    context.fill(outline);
    context.stroke(outline);
    if (hasRows) paintRows(context, node, told, colour);
    if (hasText) paintTexts(context, node.items, scene, colour);
  }
  context.globalAlpha = 1;
}

/** The bars of the states that stand in a box. */
function paintRows(
  context: CanvasRenderingContext2D,
  node: Node,
  { answer, question, scene: { measures } }: Told,
  colour: (name: string) => string | null,
): void {
  const belief = own(answer.beliefs, node.name);
  if (!belief) return;
  const frame = frameOf(node);
  const start = frame.x + frame.width - measures.pad - measures.number - measures.bar;
  const bar = { set: "set", seen: "seen", soft: "bar" }[kindOf(question, node.name) ?? "soft"];
  folded(belief.now, [], measures.mostStates).forEach(({ state }, row, rows) => {
    const share = state === null ? rest(belief.now, rows) : (belief.now[state] ?? 0);
    const top = frame.y + measures.header + measures.row * (row + 0.5) - measures.barHeight / 2;
    context.fillStyle = colour("track")!;
    context.fillRect(start, top, measures.bar, measures.barHeight);
    context.fillStyle = colour(bar)!;
    context.fillRect(start, top, measures.bar * share, measures.barHeight);
  });
}

function paintTexts(
  context: CanvasRenderingContext2D,
  items: Item[],
  scene: Scene,
  colour: (name: string) => string | null,
): void {
  for (const item of items) {
    if (!("text" in item)) continue;
    context.font = `${item.is_bold ? "bold " : ""}${item.size}px ${scene.fonts.join(", ")}`;
    context.textAlign = item.anchor === "middle" ? "center" : item.anchor;
    context.fillStyle = colour(item.colour)!;
    context.fillText(item.text, item.x, item.y);
  }
}

function pathOf({ points, is_curved, fill }: Path): Path2D {
  const path = new Path2D();
  const [first, ...others] = points;
  if (!first) return path;
  path.moveTo(...first);
  if (is_curved) {
    for (let place = 0; place + 2 < others.length; place += 3) {
      const [near, far, end] = others.slice(place, place + 3) as [number, number][];
      path.bezierCurveTo(...near!, ...far!, ...end!);
    }
  } else for (const point of others) path.lineTo(...point);
  if (fill) path.closePath();
  return path;
}

function outlineOf(node: Node): Path2D {
  const { x, y, width, height, radius, shape } = frameOf(node);
  const path = new Path2D();
  const [middle, centre] = [x + width / 2, y + height / 2];
  if (shape === "oval") path.ellipse(middle, centre, width / 2, height / 2, 0, 0, 2 * Math.PI);
  else if (shape === "rhombus") {
    path.moveTo(middle, y);
    path.lineTo(x + width, centre);
    path.lineTo(middle, y + height);
    path.lineTo(x, centre);
    path.closePath();
  } else path.roundRect(x, y, width, height, radius);
  return path;
}

function boxOf(items: Path[]): { x: number; y: number; width: number; height: number } {
  const points = items.flatMap((item) => item.points);
  const [across, down] = [points.map(([x]) => x), points.map(([, y]) => y)];
  const [x, y] = [Math.min(...across), Math.min(...down)];
  return { x, y, width: Math.max(...across) - x + 1, height: Math.max(...down) - y + 1 };
}

/** Whether text stands out brightly from its ground: the page is dark. */
export function isDarkAround(element: Element): boolean {
  const [red, green, blue] = (getComputedStyle(element).color.match(/[\d.]+/g) ?? []).map(Number);
  return 0.3 * (red ?? 0) + 0.6 * (green ?? 0) + 0.1 * (blue ?? 0) > 128;
}
