/** Nodes are numbers from 0; edges are pairs of them, one after the other. */
export interface LayoutInput {
  count: number
  edges: Uint32Array
}

interface Layout {
  /** x and y of every node, one after the other. */
  positions: Float32Array
  step(): void
  isSettled(): boolean
}

const springLength = 40
const springStrength = 0.08
const pushStrength = 900
/** Nodes farther apart do not repel each other, so only near ones are compared. */
const pushReach = 160
const pullToMiddle = 0.004
const coolest = 0.004

/**
 * Puts what is joined near each other and everything else apart: edges are springs, nodes push each other away, and all are
 * drawn to the middle a little. The same input gives the same picture.
 */
export function createLayout({ count, edges }: LayoutInput): Layout {
  const positions = spiral(count)
  const force = new Float32Array(count * 2)
  const degrees = countDegrees(count, edges)
  let heat = 1

  function push(): void {
    const cells = new Map<number, number[]>()
    for (let node = 0; node < count; node += 1) {
      const key = cellOf(at(positions, node * 2), at(positions, node * 2 + 1))
      const cell = cells.get(key)
      if (cell) cell.push(node)
      else cells.set(key, [node])
    }
    for (const [key, nodes] of cells) {
      for (const beside of neighborCells) {
        const others = cells.get(key + beside)
        if (others) for (const node of nodes) pushFrom(node, others)
      }
    }
  }

  function pushFrom(node: number, others: readonly number[]): void {
    const x = at(positions, node * 2)
    const y = at(positions, node * 2 + 1)
    for (const other of others) {
      if (other === node) continue
      // Two in one place are parted by their numbers.
      const dx = x - at(positions, other * 2) || (node - other) * 0.01
      const dy = y - at(positions, other * 2 + 1)
      const square = dx * dx + dy * dy
      if (square > pushReach * pushReach) continue
      const strength = pushStrength / Math.max(square, 16)
      add(force, node * 2, dx * strength)
      add(force, node * 2 + 1, dy * strength)
    }
  }

  function pull(): void {
    for (let edge = 0; edge < edges.length; edge += 2) {
      const from = at(edges, edge)
      const to = at(edges, edge + 1)
      const dx = at(positions, to * 2) - at(positions, from * 2)
      const dy = at(positions, to * 2 + 1) - at(positions, from * 2 + 1)
      const distance = Math.hypot(dx, dy) || 1
      // A node with many links is not pulled by each of them.
      const strength = (springStrength * (distance - springLength)) / distance
      add(force, from * 2, (dx * strength) / Math.sqrt(at(degrees, from)))
      add(force, from * 2 + 1, (dy * strength) / Math.sqrt(at(degrees, from)))
      add(force, to * 2, (-dx * strength) / Math.sqrt(at(degrees, to)))
      add(force, to * 2 + 1, (-dy * strength) / Math.sqrt(at(degrees, to)))
    }
  }

  function move(): void {
    const farthest = 30 * heat
    for (let node = 0; node < count; node += 1) {
      const dx = at(force, node * 2) - at(positions, node * 2) * pullToMiddle
      const dy = at(force, node * 2 + 1) - at(positions, node * 2 + 1) * pullToMiddle
      const length = Math.hypot(dx, dy)
      const share = length > farthest ? farthest / length : 1
      add(positions, node * 2, dx * share)
      add(positions, node * 2 + 1, dy * share)
    }
  }

  return {
    positions,
    step() {
      force.fill(0)
      push()
      pull()
      move()
      heat *= 0.985
    },
    isSettled: () => heat < coolest || count < 2,
  }
}

const rows = 100_003
const neighborCells = [-1, 0, 1].flatMap((row) => [-1, 0, 1].map((column) => row * rows + column))

function cellOf(x: number, y: number): number {
  return Math.floor(y / pushReach) * rows + Math.floor(x / pushReach)
}

/** Like the seeds of a sunflower: apart, in a circle. */
function spiral(count: number): Float32Array {
  const positions = new Float32Array(count * 2)
  const turn = Math.PI * (3 - Math.sqrt(5))
  for (let node = 0; node < count; node += 1) {
    const radius = 12 * Math.sqrt(node + 0.5)
    positions[node * 2] = radius * Math.cos(node * turn)
    positions[node * 2 + 1] = radius * Math.sin(node * turn)
  }
  return positions
}

function countDegrees(count: number, edges: Uint32Array): Float32Array {
  const degrees = new Float32Array(count).fill(1)
  for (const node of edges) add(degrees, node, 1)
  return degrees
}

function at(list: Float32Array | Uint32Array, index: number): number {
  return list[index] ?? 0
}

function add(list: Float32Array, index: number, value: number): void {
  list[index] = at(list, index) + value
}
