import type { Clock } from '../../../base/clock.ts'
import { FamiliarError } from '../../../protocol/error.ts'
import type { Embedder, EmbeddingUse } from '../embedder.ts'
import type { FromChild } from './child-messages.ts'
import { type EmbeddingChild, type StartChild, startChild } from './start-child.ts'

/** Another number where the same text would come out differently: other weights, another way to cut it into pieces. */
export const localModel = 'bge-small-en-v1.5-int8/1'
const dimensions = 384

const idleMs = 5 * 60_000
/** Loading takes half a second, the longest text a quarter: whoever takes this long hangs. */
const patienceMs = 60_000
/** A model that is not there does not come by asking at every turn. */
const unusableMs = 60_000

/** Texts that were given together: answered together, in their order. */
interface Batch {
  texts: readonly string[]
  vectors: Float32Array[]
  /** How often the process went down over the text that comes next. */
  losses: number
  resolve(vectors: Float32Array[]): void
  reject(reason: unknown): void
}

/**
 * bge-small-en-v1.5 (English) from the files in `folder`, in a process of its own that is started by the first text, ended
 * after five idle minutes and replaced when it dies. One text at a time; a question goes before all memories that wait.
 */
export function createLocalEmbedder(options: { folder: string; clock: Clock; start?: StartChild }): Embedder {
  const { folder, clock, start = startChild } = options
  const waiting: Record<EmbeddingUse, Set<Batch>> = { question: new Set(), memory: new Set() }
  let child: { process: EmbeddingChild; isReady: boolean } | undefined
  let running: Batch | undefined
  let unusable: { error: FamiliarError; until: number } | undefined
  let isClosed = false
  let ending = Promise.resolve()
  let stopTimer = () => {}

  function advance(): void {
    if (running) return
    const [batch] = waiting.question.size > 0 ? waiting.question : waiting.memory
    child?.process.setBusy(batch !== undefined)
    if (!batch) {
      if (child?.isReady) setTimer(idleMs, endChild)
    } else if (!child) startProcess()
    else if (child.isReady) {
      running = batch
      // Its end is noticed like any other.
      setTimer(patienceMs, () => void child?.process.end())
      child.process.send({ text: batch.texts[batch.vectors.length] ?? '' })
    }
  }

  function startProcess(): void {
    let problem: string | undefined
    const own = {
      isReady: false,
      process: start(folder, {
        onMessage(message) {
          if (message.type === 'unusable') problem = message.message
          else if (child === own) receive(message)
        },
        onEnd(reason) {
          if (child === own) replace(own.isReady ? undefined : (problem ?? reason), reason)
        },
      }),
    }
    child = own
    setTimer(patienceMs, () => void own.process.end())
  }

  function receive(message: Exclude<FromChild, { type: 'unusable' }>): void {
    if (message.type === 'ready') {
      if (child) child.isReady = true
    } else if (running) {
      const batch = running
      running = undefined
      batch.losses = 0
      batch.vectors.push(message.vector)
      if (batch.vectors.length === batch.texts.length) {
        remove(batch)
        batch.resolve(batch.vectors)
      }
    }
    advance()
  }

  /** The process is gone. With `problem` there is no use in starting another one now. */
  function replace(problem: string | undefined, reason: string): void {
    const batch = running
    child = undefined
    running = undefined
    stopTimer()
    if (problem !== undefined) {
      unusable = { error: describeUnusable(problem), until: clock.now() + unusableMs }
      rejectAll(unusable.error)
    } else if (batch) {
      batch.losses += 1
      if (batch.losses > 1) {
        remove(batch)
        batch.reject(new FamiliarError('unavailable', `The process of the local embedding ${reason}, twice in a row`))
      }
    }
    advance()
  }

  function endChild(): void {
    stopTimer()
    const process = child?.process
    child = undefined
    if (process) ending = process.end()
  }

  /** One at a time: for the start, for the text under way, for idleness. */
  function setTimer(delayMs: number, task: () => void): void {
    stopTimer()
    stopTimer = clock.after(delayMs, task)
  }

  function remove(batch: Batch): void {
    waiting.question.delete(batch)
    waiting.memory.delete(batch)
  }

  function rejectAll(error: FamiliarError): void {
    const batches = [...waiting.question, ...waiting.memory]
    for (const batch of batches) {
      remove(batch)
      batch.reject(error)
    }
  }

  return {
    model: localModel,
    dimensions,
    async embed(texts, use, signal) {
      signal?.throwIfAborted()
      if (isClosed) throw closed()
      if (unusable && clock.now() < unusable.until) throw unusable.error
      if (texts.length === 0) return []
      const { promise, resolve, reject } = Promise.withResolvers<Float32Array[]>()
      // The makers recommend words before a question. They cost a fifth of the time, and recall as a whole finds no more.
      const batch: Batch = { texts, vectors: [], losses: 0, resolve, reject }
      const onAbort = () => {
        // The text under way is let finish; nobody takes its vector.
        remove(batch)
        reject(signal?.reason)
      }
      signal?.addEventListener('abort', onAbort, { once: true })
      waiting[use].add(batch)
      advance()
      try {
        return await promise
      } finally {
        signal?.removeEventListener('abort', onAbort)
      }
    },
    async close() {
      isClosed = true
      rejectAll(closed())
      const last = ending
      endChild()
      await Promise.all([last, ending])
    },
  }
}

function closed(): FamiliarError {
  return new FamiliarError('unavailable', 'The local embedding was closed')
}

function describeUnusable(problem: string): FamiliarError {
  const what = problem.includes('ENOENT') ? 'is not there' : `cannot be used (${problem})`
  return new FamiliarError('unavailable', `The local embedding model ${what}. \`familiar setup\` fetches it.`)
}
