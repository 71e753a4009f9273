import type { Kind } from '../words.ts'
import type { Size, View } from './view.ts'

export interface Drawing {
  kinds: readonly Kind[]
  labels: readonly string[]
  edges: Uint32Array
  positions: Float32Array
  chosen: number | undefined
  hovered: number | undefined
}

/** The token of each kind's colour. */
export const kindColours: Record<Kind, string> = {
  fact: '--accent',
  episode: '--good',
  commitment: '--warn',
  note: '--ink',
  chunk: '--soft',
}

const edgeOpacity = 0.35
const fewEnoughForLabels = 40

export function drawGraph(context: CanvasRenderingContext2D, drawing: Drawing, view: View, size: Size): void {
  const { kinds, positions, chosen, hovered } = drawing
  const colours = getComputedStyle(context.canvas)
  const colour = (name: string) => colours.getPropertyValue(name)
  context.clearRect(0, 0, size.width, size.height)
  context.save()
  context.translate(size.width / 2, size.height / 2)
  context.scale(view.scale, view.scale)
  context.translate(-view.x, -view.y)
  const radius = radiusAt(view.scale) / view.scale

  drawEdges(context, drawing, { line: colour('--soft'), accent: colour('--accent') }, view.scale)
  // One path for all of a kind: thousands of nodes are five strokes of the brush.
  for (const [kind, token] of Object.entries(kindColours)) {
    context.beginPath()
    for (const [node, own] of kinds.entries()) {
      if (own !== kind) continue
      const [x = 0, y = 0] = [positions[node * 2], positions[node * 2 + 1]]
      context.moveTo(x + radius, y)
      context.arc(x, y, radius, 0, 2 * Math.PI)
    }
    context.fillStyle = colour(token)
    context.fill()
  }
  for (const node of new Set([chosen, hovered])) {
    if (node === undefined) continue
    context.beginPath()
    context.arc(positions[node * 2] ?? 0, positions[node * 2 + 1] ?? 0, radius + 3 / view.scale, 0, 2 * Math.PI)
    context.strokeStyle = colour('--accent')
    context.lineWidth = 2 / view.scale
    context.stroke()
  }
  context.restore()
  drawLabels(context, drawing, view, size, { ink: colour('--ink'), ground: colour('--ground') })
}

function drawEdges(
  context: CanvasRenderingContext2D,
  { edges, positions, chosen }: Drawing,
  colours: { line: string; accent: string },
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
  context.strokeStyle = colours.line
  context.globalAlpha = edgeOpacity
  of(false)
  context.globalAlpha = 1
  if (chosen === undefined) return
  context.lineWidth = 1.5 / scale
  context.strokeStyle = colours.accent
  of(true)
}

/** Of all where few are in sight, otherwise of the one that is pointed at or chosen. */
function drawLabels(
  context: CanvasRenderingContext2D,
  { labels, positions, chosen, hovered }: Drawing,
  view: View,
  size: Size,
  colours: { ink: string; ground: string },
): void {
  const all = labels.flatMap((_, node) => {
    const x = ((positions[node * 2] ?? 0) - view.x) * view.scale + size.width / 2
    const y = ((positions[node * 2 + 1] ?? 0) - view.y) * view.scale + size.height / 2
    return x > 0 && y > 0 && x < size.width && y < size.height ? [{ node, x, y }] : []
  })
  const shown = all.length <= fewEnoughForLabels ? all : all.filter(({ node }) => node === chosen || node === hovered)
  context.font = `12px ${getComputedStyle(context.canvas).fontFamily}`
  context.lineWidth = 3
  context.strokeStyle = colours.ground
  context.fillStyle = colours.ink
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
