import workerAddress from './highlight-worker.ts?worker&url'

/** A piece of a line with its color on light and on dark ground. */
export interface CodePiece {
  text: string
  light: string | undefined
  dark: string | undefined
}

export interface HighlightQuestion {
  id: number
  code: string
  language: string
}

type Colored = CodePiece[][] | undefined

interface ScriptPolicy {
  createScriptURL(address: string): string
}

// The page's policy starts a worker only from an address that a Trusted Types policy returns.
const { trustedTypes } = globalThis as unknown as {
  trustedTypes?: { createPolicy(name: string, rules: ScriptPolicy): ScriptPolicy }
}
const rules: ScriptPolicy = { createScriptURL: () => workerAddress }
const policy = trustedTypes?.createPolicy('familiar-highlight', rules) ?? rules

const longest = 30_000
const maxWaitMs = 20_000
const maxKept = 200

const kept = new Map<string, Promise<Colored>>()
const waiting = new Map<number, (lines: Colored) => void>()
let worker: Worker | undefined
let count = 0

/**
 * The lines of a program in pieces of one color; undefined where the language is unknown or it takes too long. A block is worked out
 * once, in a worker: grammars are slow on text that is made for it.
 */
export function highlight(code: string, language: string): Promise<Colored> {
  if (code.length > longest) return Promise.resolve(undefined)
  const key = `${language}\n${code}`
  const known = kept.get(key)
  if (known) return known
  const made = ask(code, language)
  const oldest = kept.keys().next()
  if (kept.size >= maxKept && !oldest.done) kept.delete(oldest.value)
  kept.set(key, made)
  return made
}

async function ask(code: string, language: string): Promise<Colored> {
  worker ??= start()
  const asked = worker
  const id = ++count
  const { promise, resolve } = Promise.withResolvers<Colored>()
  waiting.set(id, resolve)
  asked.postMessage({ id, code, language } satisfies HighlightQuestion)
  const timer = setTimeout(() => giveUp(asked), maxWaitMs)
  return await promise.finally(() => {
    clearTimeout(timer)
    waiting.delete(id)
  })
}

function start(): Worker {
  const started = new Worker(policy.createScriptURL(workerAddress), { type: 'module' })
  started.onmessage = ({ data }: MessageEvent<{ id: number; lines: Colored }>) => waiting.get(data.id)?.(data.lines)
  started.onerror = () => giveUp(started)
  return started
}

function giveUp(stuck: Worker): void {
  stuck.terminate()
  if (worker === stuck) worker = undefined
  for (const resolve of waiting.values()) resolve(undefined)
}
