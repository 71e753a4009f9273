import type { GraphReply } from '../../../src/protocol/memory.ts'
import type { Kind } from './memory-list.tsx'

/** The same as numbers: what a picture is made from. */
export interface Graph {
  ids: readonly string[]
  kinds: readonly Kind[]
  labels: readonly string[]
  edges: Uint32Array<ArrayBuffer>
}

/** Edges whose other end is not among the nodes are left out. */
export function toGraph({ nodes, edges }: GraphReply): Graph {
  const numbers = new Map(nodes.map(({ id }, index) => [id, index]))
  const pairs = edges.flatMap(({ source_id, target_id }) => {
    const from = numbers.get(source_id)
    const to = numbers.get(target_id)
    return from === undefined || to === undefined ? [] : [from, to]
  })
  return {
    ids: nodes.map(({ id }) => id),
    kinds: nodes.map(({ kind }) => kind),
    labels: nodes.map(({ title, text }) => title ?? text),
    edges: Uint32Array.from(pairs),
  }
}

/** The nodes that a node is joined to, each once. */
export function joinedTo({ edges }: Graph, node: number): number[] {
  const found = new Set<number>()
  for (let edge = 0; edge + 1 < edges.length; edge += 2) {
    if (edges[edge] === node) found.add(edges[edge + 1] ?? node)
    if (edges[edge + 1] === node) found.add(edges[edge] ?? node)
  }
  found.delete(node)
  return [...found]
}

/** The visible part of the plane: the point in the center, and the size of a unit in pixels. */
export interface GraphView {
  x: number
  y: number
  scale: number
}

export interface Size {
  width: number
  height: number
}

interface Point {
  x: number
  y: number
}

const smallest = 0.02
const largest = 8
const margin = 1.1

/** The point of the picture at which it is zoomed stays where it is. */
export function zoomAt(view: GraphView, size: Size, point: Point, factor: number): GraphView {
  const scale = Math.min(largest, Math.max(smallest, view.scale * factor))
  const before = toPlane(view, size, point)
  const after = toPlane({ ...view, scale }, size, point)
  return { x: view.x + before.x - after.x, y: view.y + before.y - after.y, scale }
}

/** By so much of the picture. */
export function panBy(view: GraphView, dx: number, dy: number): GraphView {
  return { ...view, x: view.x - dx / view.scale, y: view.y - dy / view.scale }
}

export function toPlane({ x, y, scale }: GraphView, { width, height }: Size, point: Point): Point {
  return { x: x + (point.x - width / 2) / scale, y: y + (point.y - height / 2) / scale }
}

/** Fits all nodes, with room at the right for the last label. */
export function fit(positions: Float32Array, { width, height }: Size, besidePixels = 0): GraphView {
  let [left, right, top, bottom] = [Infinity, -Infinity, Infinity, -Infinity]
  for (let index = 0; index + 1 < positions.length; index += 2) {
    const [x = 0, y = 0] = [positions[index], positions[index + 1]]
    left = Math.min(left, x)
    right = Math.max(right, x)
    top = Math.min(top, y)
    bottom = Math.max(bottom, y)
  }
  if (left > right) return { x: 0, y: 0, scale: 1 }
  const room = width - besidePixels
  const wanted = Math.min(room / ((right - left) * margin + 40), height / ((bottom - top) * margin + 40), 2)
  const scale = Math.max(smallest, wanted)
  return { x: (left + right + besidePixels / scale) / 2, y: (top + bottom) / 2, scale }
}

/** The nearest node within reach, or none. */
export function nodeAt(positions: Float32Array, place: Point, reach: number): number | undefined {
  let best: number | undefined
  let least = reach * reach
  for (let node = 0; node * 2 + 1 < positions.length; node += 1) {
    const dx = (positions[node * 2] ?? 0) - place.x
    const dy = (positions[node * 2 + 1] ?? 0) - place.y
    const square = dx * dx + dy * dy
    if (square > least) continue
    least = square
    best = node
  }
  return best
}

export interface GraphDrawing {
  kinds: readonly Kind[]
  labels: readonly string[]
  edges: Uint32Array
  positions: Float32Array
  chosen: number | undefined
  hovered: number | undefined
}

/** The token of each kind's color. */
export const kindColors: Record<Kind, string> = {
  fact: '--accent',
  episode: '--good',
  commitment: '--warn',
  note: '--ink',
  chunk: '--soft',
}

const edgeOpacity = 0.35
const fewEnoughForLabels = 40

export function drawGraph(context: CanvasRenderingContext2D, drawing: GraphDrawing, view: GraphView, size: Size): void {
  const { kinds, positions, chosen, hovered } = drawing
  const colors = getComputedStyle(context.canvas)
  const color = (name: string) => colors.getPropertyValue(name)
  context.clearRect(0, 0, size.width, size.height)
  context.save()
  context.translate(size.width / 2, size.height / 2)
  context.scale(view.scale, view.scale)
  context.translate(-view.x, -view.y)
  const radius = radiusAt(view.scale) / view.scale

  drawEdges(context, drawing, { line: color('--soft'), accent: color('--accent') }, view.scale)
  // One path for all of a kind: thousands of nodes are five strokes of the brush.
  for (const [kind, token] of Object.entries(kindColors)) {
    context.beginPath()
    for (const [node, own] of kinds.entries()) {
      if (own !== kind) continue
      const [x = 0, y = 0] = [positions[node * 2], positions[node * 2 + 1]]
      context.moveTo(x + radius, y)
      context.arc(x, y, radius, 0, 2 * Math.PI)
    }
    context.fillStyle = color(token)
    context.fill()
  }
  for (const node of new Set([chosen, hovered])) {
    if (node === undefined) continue
    context.beginPath()
    context.arc(positions[node * 2] ?? 0, positions[node * 2 + 1] ?? 0, radius + 3 / view.scale, 0, 2 * Math.PI)
    context.strokeStyle = color('--accent')
    context.lineWidth = 2 / view.scale
    context.stroke()
  }
  context.restore()
  drawLabels(context, drawing, view, size, { ink: color('--ink'), ground: color('--ground') })
}

function drawEdges(
  context: CanvasRenderingContext2D,
  { edges, positions, chosen }: GraphDrawing,
  colors: { line: string; accent: string },
  scale: number,
): void {
  const of = (isOfChosen: boolean) => {
    context.beginPath()
    for (let edge = 0; edge < edges.length; edge += 2) {
      const [from = 0, to = 0] = [edges[edge], edges[edge + 1]]
      if ((from === chosen || to === chosen) !== isOfChosen) continue
      context.moveTo(positions[from * 2] ?? 0, positions[from * 2 + 1] ?? 0)
      context.lineTo(positions[to * 2] ?? 0, positions[to * 2 + 1] ?? 0)
    }
    context.stroke()
  }
  context.lineWidth = 1 / scale
  context.strokeStyle = colors.line
  context.globalAlpha = edgeOpacity
  of(false)
  context.globalAlpha = 1
  if (chosen === undefined) return
  context.lineWidth = 1.5 / scale
  context.strokeStyle = colors.accent
  of(true)
}

/** Labels of all nodes where few are visible, otherwise only of the hovered or selected one. */
function drawLabels(
  context: CanvasRenderingContext2D,
  { labels, positions, chosen, hovered }: GraphDrawing,
  view: GraphView,
  size: Size,
  colors: { ink: string; ground: string },
): void {
  const all = labels.flatMap((_, node) => {
    const x = ((positions[node * 2] ?? 0) - view.x) * view.scale + size.width / 2
    const y = ((positions[node * 2 + 1] ?? 0) - view.y) * view.scale + size.height / 2
    return x > 0 && y > 0 && x < size.width && y < size.height ? [{ node, x, y }] : []
  })
  const shown = all.length <= fewEnoughForLabels ? all : all.filter(({ node }) => node === chosen || node === hovered)
  context.font = `12px ${getComputedStyle(context.canvas).fontFamily}`
  context.lineWidth = 3
  context.strokeStyle = colors.ground
  context.fillStyle = colors.ink
  const beside = radiusAt(view.scale) + 5
  for (const { node, x, y } of shown) {
    const label = shorten(labels[node] ?? '', node === chosen || node === hovered ? 60 : 24)
    context.strokeText(label, x + beside, y + 4)
    context.fillText(label, x + beside, y + 4)
  }
}

/** In pixels: never too small to hit, never a blot. */
function radiusAt(scale: number): number {
  return Math.min(7, Math.max(2, 4 * scale))
}

function shorten(text: string, length: number): string {
  return text.length > length ? `${text.slice(0, length - 1)}…` : text
}
