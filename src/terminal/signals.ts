import { inspect } from 'node:util'
import { FamiliarError } from '../protocol/errors.ts'
import { CommandError, exitCodes, messageOf } from './command.ts'
import type { Output } from './output.ts'

/** For people on stderr; with `--json` also on stdout, so that a script never has to read prose. */
export function reportError(error: unknown, options: { output: Output; json: boolean; debug: boolean }): void {
  const { output } = options
  const { message, code, hint } = describe(error)
  if (options.json) output.printJson({ error: message, code, ...(hint && { hint }) })
  if (message) output.fail(message, hint, exitCodes.failed)
  if (options.debug) output.note(inspect(error))
}

function describe(error: unknown): { message: string; code: string; hint?: string | undefined } {
  if (error instanceof CommandError) return error
  if (error instanceof FamiliarError) return { message: error.message, code: error.code }
  return { message: messageOf(error), code: 'internal', hint: 'This is a bug. FAMILIAR_LOG=debug prints details.' }
}

/** The part of the process that signals come through. */
interface SignalSource {
  on(signal: NodeJS.Signals, listener: () => void): unknown
  exit(code: number): never
}

/** A person's second Ctrl-C comes later than this; the same one passed on by a parent process comes sooner. */
const sameSignalMs = 300

/**
 * The first Ctrl-C (or SIGTERM, or the terminal closing) asks the command to end; a second Ctrl-C does not ask. A second
 * SIGTERM is only the first one again: service managers send it to every process of a group, and launchers pass it on.
 */
export function listenForSignals(source: SignalSource, now: () => number = () => performance.now()) {
  const controller = new AbortController()
  let hangUp: (() => 'end' | 'go on') | undefined
  let askedAt = 0
  const end = () => {
    if (!controller.signal.aborted) askedAt = now()
    controller.abort()
  }
  source.on('SIGINT', () => {
    if (controller.signal.aborted && now() - askedAt > sameSignalMs) source.exit(exitCodes.interrupted)
    end()
  })
  source.on('SIGTERM', end)
  source.on('SIGHUP', () => {
    if (!hangUp || hangUp() === 'end') end()
  })
  return {
    /** Aborts when the command is asked to end. */
    signal: controller.signal,
    /** Sets the handler of SIGHUP. It returns 'end' if the terminal is closed and the command ends with it. */
    onHangup(handler: () => 'end' | 'go on'): void {
      hangUp = handler
    },
    /** The reader of our output has left. True if the command should end. */
    readerLeft(): boolean {
      if (!hangUp) controller.abort()
      return !hangUp
    },
  }
}
