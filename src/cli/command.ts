import type { ExitCode } from './command-error.ts'
import type { Output } from './output.ts'

/** Where a command runs: everything that it may touch of its process. */
export interface CommandContext {
  /** Absolute. */
  homePath: string
  env: Readonly<Record<string, string | undefined>>
  /** For all that is printed but what has to be drawn over. */
  output: Output
  stdin: NodeJS.ReadStream
  stdout: NodeJS.WriteStream
  stderr: NodeJS.WriteStream
  /** Aborts with the first Ctrl-C or SIGTERM. */
  signal: AbortSignal
  /** Takes SIGHUP for something else than the end. */
  onHangup(handler: () => void): void
}

/** What every command understands. */
interface CommonInput {
  json?: boolean
}

/** Does one command's work. Undefined is success; what went wrong is thrown, and `main` says it. */
export type CommandHandler<Input> = (
  context: CommandContext,
  input: Input & CommonInput,
) => Promise<ExitCode | undefined>
