import { parentPort, workerData } from 'node:worker_threads'
import { systemClock } from '../../base/clock.ts'
import { createFileTree, realFolder } from './file-tree.ts'
import { createPathSearch, type FinderAnswer, type FinderRequest, type FinderThreadData } from './fuzzy-search.ts'

// The thread of one root: it scans the tree and answers in between.

const { root, closed, maxFiles } = workerData as FinderThreadData
const clock = systemClock()
const tree = createFileTree({ root: realPath(root), closed: new Set(closed.map(realPath)), now: clock.now, maxFiles })
let search = createPathSearch(tree.store)
let searched = tree.store

function realPath(folder: string): string {
  return realFolder(folder) ?? folder
}

const sliceMs = 8
/** The first question waits this long for a complete answer: most trees are small. */
const firstLookMs = 150
/** The minimum pause between scans, extended to ten times the duration of the last one. */
const freshMs = 1_000

let looking: Promise<void> | undefined
let lookedAt = Number.NEGATIVE_INFINITY
let tookMs = 0
let isComplete = false

function look(): Promise<void> {
  looking ??= walk().finally(() => {
    looking = undefined
  })
  return looking
}

async function walk(): Promise<void> {
  const startedAt = clock.now()
  let sliceEnd = startedAt + sliceMs
  for (const _step of tree.look()) {
    if (clock.now() < sliceEnd) continue
    await new Promise(setImmediate)
    sliceEnd = clock.now() + sliceMs
  }
  lookedAt = clock.now()
  tookMs = lookedAt - startedAt
  isComplete = true
}

async function answer(request: FinderRequest): Promise<Omit<FinderAnswer, 'id'>> {
  if (request.kind === 'refresh') {
    // A running scan may have missed later changes.
    await looking
    await look()
  } else if (!isComplete) {
    await Promise.race([look(), new Promise<void>((resolve) => clock.after(firstLookMs, resolve))])
  }
  if (searched !== tree.store) {
    search = createPathSearch(tree.store)
    searched = tree.store
  }
  const found = request.kind === 'find' ? search.search(request.query, request.limit) : { matches: [], total: 0 }
  const reply = { ...found, isIndexing: !isComplete, isCut: tree.isCut }
  if (clock.now() - lookedAt > Math.max(freshMs, tookMs * 10)) void look()
  return reply
}

parentPort?.on('message', async (request: FinderRequest) => {
  parentPort?.postMessage({ id: request.id, ...(await answer(request)) } satisfies FinderAnswer)
})
