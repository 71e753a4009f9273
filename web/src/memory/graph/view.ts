/** What of the plane is looked at: the point in the middle of the picture, and how large a unit is drawn. */
export interface View {
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
export function zoomAt(view: View, size: Size, point: Point, factor: number): View {
  const scale = Math.min(largest, Math.max(smallest, view.scale * factor))
  const before = toPlane(view, size, point)
  const after = toPlane({ ...view, scale }, size, point)
  return { x: view.x + before.x - after.x, y: view.y + before.y - after.y, scale }
}

/** By so much of the picture. */
export function panBy(view: View, dx: number, dy: number): View {
  return { ...view, x: view.x - dx / view.scale, y: view.y - dy / view.scale }
}

export function toPlane({ x, y, scale }: View, { width, height }: Size, point: Point): Point {
  return { x: x + (point.x - width / 2) / scale, y: y + (point.y - height / 2) / scale }
}

/** All nodes in the picture, with room at the right for what stands beside the last of them. */
export function fit(positions: Float32Array, { width, height }: Size, besidePixels = 0): View {
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
