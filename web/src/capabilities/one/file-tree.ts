export interface TreeLine {
  path: string
  name: string
  depth: number
  isFolder: boolean
}

/** Paths as the lines of a tree: each folder once, before what lies in it. */
export function fileTree(paths: readonly string[]): TreeLine[] {
  const lines = new Map<string, TreeLine>()
  for (const path of paths.toSorted(inTree)) {
    const steps = path.split('/')
    for (const [depth, name] of steps.entries()) {
      const place = steps.slice(0, depth + 1).join('/')
      if (!lines.has(place)) lines.set(place, { path: place, name, depth, isFolder: depth < steps.length - 1 })
    }
  }
  return [...lines.values()]
}

/** Files before the folders beside them. */
function inTree(one: string, other: string): number {
  const left = one.split('/')
  const right = other.split('/')
  const apart = left.findIndex((step, index) => step !== right[index])
  if (apart < 0) return left.length - right.length
  const isLeftFile = apart === left.length - 1
  if (isLeftFile !== (apart === right.length - 1)) return isLeftFile ? -1 : 1
  return (left[apart] ?? '').localeCompare(right[apart] ?? '')
}
