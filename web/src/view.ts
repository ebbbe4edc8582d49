// Which part of a large picture is in sight, and what of it is worth drawing in full.

import { type Box, frameOf, type Node, type Scene } from "./scene";

/** A part of a picture, in the picture's own measure. */
export interface View {
  left: number;
  top: number;
  width: number;
  height: number;
}

/** Pictures with more nodes have those in sight in the page, over a canvas with all else. */
const MOST_IN_PAGE = 150;
/** Nodes that are shown smaller than this are drawn on the canvas only. */
const NEAR = 0.6;

export const isLarge = (scene: Scene): boolean => scene.nodes.length > MOST_IN_PAGE;
export const isNear = (scale: number): boolean => scale >= NEAR;

/**
 * What to draw around what is seen: a part that stays the same while the view moves within it, in steps of half a view,
 * and never reaches beyond the picture.
 */
export function drawnAround(view: View, picture: { width: number; height: number }): View {
  const [left, width] = stretched(view.left, view.width, picture.width);
  const [top, height] = stretched(view.top, view.height, picture.height);
  return { left, top, width, height };
}

function stretched(start: number, length: number, whole: number): [number, number] {
  const step = Math.max(length / 2, 1);
  const first = Math.max(0, Math.floor(start / step) * step - step / 2);
  const last = Math.min(whole, Math.floor(start / step) * step + length + step * 1.5);
  return [first, Math.max(last - first, 1)];
}

export function meets(view: View, box: { x: number; y: number; width: number; height: number }): boolean {
  return (
    box.x < view.left + view.width &&
    view.left < box.x + box.width &&
    box.y < view.top + view.height &&
    view.top < box.y + box.height
  );
}

/** The node at a point of the picture. */
export function nodeAt(nodes: Node[], x: number, y: number): Node | undefined {
  return nodes.find((node) => isIn(frameOf(node), x, y));
}

function isIn(box: Box, x: number, y: number): boolean {
  return box.x <= x && x <= box.x + box.width && box.y <= y && y <= box.y + box.height;
}
