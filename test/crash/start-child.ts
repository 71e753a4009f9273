import { once } from 'node:events'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import type { StepName } from '../../src/agent/next-step.ts'
import { spawnOwned } from './spawn-owned.ts'

const program = join(import.meta.dirname, 'child.ts')

export interface CrashPoint {
  step: StepName
  /** The how manieth time it is passed, from 1. */
  passing: number
}

export interface End {
  code: number | null
  signal: NodeJS.Signals | null
  errors: string
}

/** A daemon in a process of its own. */
export interface Child {
  pid: number | undefined
  /** Resolves with true when it serves, with false when it ended before that. */
  ready: Promise<boolean>
  ended: Promise<End>
  kill(): Promise<End>
  /** Asks it to stop and returns how often it passed each step. */
  stop(): Promise<Record<StepName, number>>
}

export function startChild(options: { env: Record<string, string>; crashAt?: CrashPoint | undefined }): Child {
  const { crashAt } = options
  const point = crashAt ? { CRASH_STEP: crashAt.step, CRASH_PASSING: String(crashAt.passing) } : {}
  const child = spawnOwned([program], { ...options.env, ...point })
  const lines: string[] = []
  let errors = ''
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    errors += text
  })
  const ended = once(child, 'close').then(([code, signal]): End => ({ code, signal, errors }))
  const reader = createInterface(child.stdout).on('line', (line) => lines.push(line))
  const ready = Promise.race([once(reader, 'line').then(() => true), ended.then(() => false)])
  return {
    pid: child.pid,
    ready,
    ended,
    kill() {
      child.kill('SIGKILL')
      return ended
    },
    async stop() {
      child.kill('SIGTERM')
      const end = await ended
      if (end.code !== 0) throw new Error(`The daemon did not stop cleanly: ${JSON.stringify(end)}`)
      return JSON.parse(lines.at(-1) ?? '{}').passings
    },
  }
}
