import { exitCodes } from './command-error.ts'

/** The part of the process that signals come through. */
interface SignalSource {
  on(signal: NodeJS.Signals, listener: () => void): unknown
  exit(code: number): never
}

/**
 * The first Ctrl-C (or SIGTERM, or the terminal closing) asks the command to end; the second one does not ask.
 * A command that lives on without its terminal takes SIGHUP for itself with `onHangup`.
 */
export function listenForSignals(source: SignalSource): {
  signal: AbortSignal
  onHangup(handler: () => void): void
} {
  const controller = new AbortController()
  const end = () => {
    if (controller.signal.aborted) source.exit(exitCodes.interrupted)
    controller.abort()
  }
  let hangUp = end
  source.on('SIGINT', end)
  source.on('SIGTERM', end)
  source.on('SIGHUP', () => hangUp())
  return {
    signal: controller.signal,
    onHangup(handler) {
      hangUp = handler
    },
  }
}
