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

/** The first Ctrl-C (or SIGTERM, or the terminal closing) asks the command to end; the second one does not ask. */
export function listenForSignals(source: SignalSource): Signals {
  const controller = new AbortController()
  let hangUp: (() => void) | undefined
  const end = () => {
    if (controller.signal.aborted) source.exit(exitCodes.interrupted)
    controller.abort()
  }
  source.on('SIGINT', end)
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
