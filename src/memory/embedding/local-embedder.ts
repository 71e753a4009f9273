import { join } from 'node:path'
import type { Clock } from '../../base/clock.ts'
import { runtimeFolder } from '../../base/files.ts'
import { type ModelChild, type ModelChildEvents, startModelChild } from '../../base/processes.ts'
import { FamiliarError } from '../../protocol/errors.ts'
import type { Embedder, EmbeddingUse } from './embedders.ts'

/** To the child with the model: one text at a time, the next one after the answer. */
export interface ToEmbeddingProcess {
  text: string
}

/** From the child: first whether it can work, then an answer per text. */
export type FromEmbeddingProcess =
  | { type: 'ready' }
  /** It ends by itself after this. */
  | { type: 'unusable'; message: string }
  | { type: 'embedded'; vector: Float32Array }

/** The folder in which `scripts/launcher/embedding-model.cjs` puts the model. */
export const localModelFolder = join(runtimeFolder, 'models', 'bge-small-en-v1.5')

export const modelFiles = { weights: 'model_quantized.onnx', tokenizer: 'tokenizer.json' } as const

/** Changes whenever the same text would give another result: other weights, another tokenization. */
export const localEmbeddingModel = 'bge-small-en-v1.5-int8/1'
const dimensions = 384

const idleMs = 5 * 60_000
/** Loading takes half a second, the longest text a quarter: a process that takes this long hangs. */
const patienceMs = 60_000
/** A missing model is not checked again at every turn. */
const unusableMs = 60_000

interface Batch {
  texts: readonly string[]
  vectors: Float32Array[]
  /** How often the process died on the next text. */
  losses: number
  resolve(vectors: Float32Array[]): void
  reject(reason: unknown): void
}

/**
 * bge-small-en-v1.5 (English) from the files in `folder`, in a separate process that is started by the first text,
 * stopped after five idle minutes and replaced when it dies. One text at a time; a question goes before all waiting
 * memories.
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

  function receive(message: Exclude<FromEmbeddingProcess, { type: 'unusable' }>): void {
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
        batch.reject(
          new FamiliarError('unavailable', `The process of the local embedding model ${reason}, twice in a row`),
        )
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

  /** One timer at a time: for the start, for the current text, for idleness. */
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
    model: localEmbeddingModel,
    dimensions,
    async embed(texts, use, signal) {
      signal?.throwIfAborted()
      if (isClosed) throw closed()
      if (unusable && clock.now() < unusable.until) throw unusable.error
      if (texts.length === 0) return []
      const { promise, resolve, reject } = Promise.withResolvers<Float32Array[]>()
      // The authors recommend a prefix for questions. It costs a fifth of the time, and recall finds no more with it.
      const batch: Batch = { texts, vectors: [], losses: 0, resolve, reject }
      const onAbort = () => {
        // The current text is finished; its vector is ignored.
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
  return new FamiliarError('unavailable', 'The local embedding model was closed')
}

function describeUnusable(problem: string): FamiliarError {
  const what = problem.includes('ENOENT') ? 'is not installed' : `cannot be used (${problem})`
  return new FamiliarError('unavailable', `The local embedding model ${what}. To download it: \`familiar setup\``)
}

export type EmbeddingChild = ModelChild<ToEmbeddingProcess>

export type StartChild = (folder: string, events: ModelChildEvents<FromEmbeddingProcess>) => EmbeddingChild

export const startChild: StartChild = (folder, events) =>
  startModelChild({ program: new URL('./embedding-child.ts', import.meta.url), args: [folder] }, events)
