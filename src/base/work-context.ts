import { AsyncLocalStorage } from 'node:async_hooks'

/** A place in a trace: of the span that is under way here, or of one in another program that this work belongs to. */
export interface SpanContext {
  /** 32 and 16 small hex digits, neither all zero. */
  traceId: string
  spanId: string
  isSampled: boolean
}

/** What is being worked on. Ids alone: all of it may stand in a log. */
export interface Work {
  request?: string
  session?: string
  turn?: string
  span?: SpanContext | undefined
}

/**
 * What is being worked on at this place in the code. It follows calls, promises and timers by itself, so that a line of the log
 * or a span knows where it belongs without being told.
 */
export interface WorkContext {
  current(): Work
  /** Runs the task with this laid over what is known. */
  within<T>(more: Work, task: () => T): T
  /** Runs the task with this and nothing of what surrounds it: for work that was only begun here. */
  apart<T>(work: Work, task: () => T): T
}

const nothing: Work = {}

export function createWorkContext(): WorkContext {
  const storage = new AsyncLocalStorage<Work>()
  const current = () => storage.getStore() ?? nothing
  return {
    current,
    within: (more, task) => storage.run({ ...current(), ...more }, task),
    apart: (work, task) => storage.run(work, task),
  }
}

/** As every line of the log carries it. */
export function logFieldsOf({ request, session, turn, span }: Work): Record<string, string> {
  return {
    ...(request !== undefined && { request }),
    ...(session !== undefined && { session }),
    ...(turn !== undefined && { turn }),
    ...(span?.isSampled && { trace: span.traceId }),
  }
}
