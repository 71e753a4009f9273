import { exitCodes } from './command-error.ts'

/** The part of the process that signals come through. */
interface SignalSource {
  on(signal: NodeJS.Signals, listener: () => void): unknown
  exit(code: number): never
}

export interface Signals {
  /** Aborts when the command is asked to end. */
  signal: AbortSignal
  /** For a command that lives on without its terminal: SIGHUP is the handler's from now on. */
  onHangup(handler: () => void): void
  /** Nobody reads what we write any more. True where the command is to end for it. */
  readerLeft(): boolean
}

/** A person's second Ctrl-C comes later than this; the same one passed on by a parent process comes sooner. */
const sameSignalMs = 300

/**
 * The first Ctrl-C (or SIGTERM, or the terminal closing) asks the command to end; a second Ctrl-C does not ask. A second
 * SIGTERM is only the first one again: service managers send it to every process of a group, and launchers pass it on.
 */
export function listenForSignals(source: SignalSource, now: () => number = () => performance.now()): Signals {
  const controller = new AbortController()
  let hangUp: (() => void) | undefined
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
  source.on('SIGHUP', () => (hangUp ?? end)())
  return {
    signal: controller.signal,
    onHangup(handler) {
      hangUp = handler
    },
    readerLeft() {
      if (!hangUp) controller.abort()
      return !hangUp
    },
  }
}
