import { type ChildProcess, fork } from 'node:child_process'
import { fileURLToPath } from 'node:url'

/** A model's process, as its one user sees it. */
export interface ModelChild<Sent> {
  readonly pid: number | undefined
  send(message: Sent): void
  /** While it is at work the program waits for it; otherwise it keeps nobody from ending. */
  setBusy(isBusy: boolean): void
  /** Kills it; resolves when it is gone. */
  end(): Promise<void>
}

export interface ModelChildEvents<Told> {
  onMessage(message: Told): void
  /** Once, however it ended. */
  onEnd(reason: string): void
}

// Measured: the weights are nearly all that such a process holds, and it needs next to no heap.
const flags = [
  '--max-semi-space-size=2',
  '--v8-pool-size=1',
  '--no-node-snapshot',
  '--disable-warning=ExperimentalWarning',
]

/** Starts a program of ours that holds a model. It inherits nothing, and ends with this process however that ends. */
export function startModelChild<Sent extends object, Told>(
  command: { program: URL; args: readonly string[]; environment?: Readonly<Record<string, string>> },
  { onMessage, onEnd }: ModelChildEvents<Told>,
): ModelChild<Sent> {
  const child = fork(fileURLToPath(command.program), command.args, {
    env: { MALLOC_ARENA_MAX: '1', ...command.environment },
    execArgv: flags,
    serialization: 'advanced',
    stdio: ['ignore', 'ignore', 'ignore', 'ipc'],
  })
  const ended = Promise.withResolvers<void>()
  function end(reason: string): void {
    ended.resolve()
    onEnd(reason)
  }
  child.on('message', (message) => onMessage(message as Told))
  child.once('exit', (code, signal) => end(signal ? `ended by ${signal}` : `ended with exit code ${code}`))
  child.on('error', (error) => {
    // Only where it could not even start is there no exit to come.
    if (child.pid === undefined) end(error.message)
  })
  return {
    pid: child.pid,
    send(message) {
      // A child that is gone has said so, or is about to: its end is what counts.
      child.send(message, () => undefined)
    },
    setBusy: (isBusy) => setReferenced(child, isBusy),
    end() {
      // Whoever waits for its end must live to see it.
      setReferenced(child, true)
      child.kill('SIGKILL')
      return ended.promise
    },
  }
}

function setReferenced(child: ChildProcess, isReferenced: boolean): void {
  if (isReferenced) child.ref()
  else child.unref()
  if (isReferenced) child.channel?.ref()
  else child.channel?.unref()
}
