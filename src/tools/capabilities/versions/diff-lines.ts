/** A line of both sides, of the old one alone, or of the new one alone. */
export interface LineChange {
  kind: 'same' | 'removed' | 'added'
  line: string
}

// Past so many changes the shortest way is not worth its time: everything between the ends counts as replaced.
const mostChanges = 1_000

/** How one list of lines becomes the other, by the shortest way (Myers), in order. */
export function diffLines(before: readonly string[], after: readonly string[]): LineChange[] {
  let start = 0
  while (start < Math.min(before.length, after.length) && before[start] === after[start]) start += 1
  let end = 0
  const most = Math.min(before.length, after.length) - start
  while (end < most && before[before.length - 1 - end] === after[after.length - 1 - end]) end += 1
  const old = before.slice(start, before.length - end)
  const young = after.slice(start, after.length - end)
  return [
    ...before.slice(0, start).map(same),
    ...(shortestWay(old, young) ?? [...old.map(removed), ...young.map(added)]),
    ...before.slice(before.length - end).map(same),
  ]
}

/** For each number of changes, how far along every diagonal one gets. Undefined past the bound. */
function shortestWay(old: readonly string[], young: readonly string[]): LineChange[] | undefined {
  const bound = Math.min(old.length + young.length, mostChanges)
  const reached = new Int32Array(2 * bound + 3)
  const middle = bound + 1
  const steps: Int32Array[] = []
  for (let changes = 0; changes <= bound; changes += 1) {
    steps.push(reached.slice())
    for (let diagonal = -changes; diagonal <= changes; diagonal += 2) {
      let x = comesFromAbove(reached, middle, diagonal, changes)
        ? at(reached, middle + diagonal + 1)
        : at(reached, middle + diagonal - 1) + 1
      while (x < old.length && x - diagonal < young.length && old[x] === young[x - diagonal]) x += 1
      reached[middle + diagonal] = x
      if (x >= old.length && x - diagonal >= young.length) return walkBack(steps, middle, old, young)
    }
  }
  return undefined
}

function walkBack(steps: readonly Int32Array[], middle: number, old: readonly string[], young: readonly string[]) {
  const way: LineChange[] = []
  let x = old.length
  let y = young.length
  for (let changes = steps.length - 1; changes >= 0; changes -= 1) {
    const reached = steps[changes] ?? new Int32Array()
    const diagonal = x - y
    const before = comesFromAbove(reached, middle, diagonal, changes) ? diagonal + 1 : diagonal - 1
    const fromX = changes === 0 ? 0 : at(reached, middle + before)
    const fromY = changes === 0 ? 0 : fromX - before
    while (x > fromX && y > fromY) {
      way.push(same(old[x - 1] ?? ''))
      x -= 1
      y -= 1
    }
    if (changes === 0) break
    way.push(x === fromX ? added(young[y - 1] ?? '') : removed(old[x - 1] ?? ''))
    x = fromX
    y = fromY
  }
  return way.reverse()
}

function comesFromAbove(reached: Int32Array, middle: number, diagonal: number, changes: number): boolean {
  if (diagonal === -changes) return true
  return diagonal !== changes && at(reached, middle + diagonal - 1) < at(reached, middle + diagonal + 1)
}

function at(reached: Int32Array, index: number): number {
  return reached[index] ?? 0
}

const same = (line: string): LineChange => ({ kind: 'same', line })
const removed = (line: string): LineChange => ({ kind: 'removed', line })
const added = (line: string): LineChange => ({ kind: 'added', line })
