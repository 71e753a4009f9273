/** What the shell is told. Scripts rely on these numbers. */
export const exitCodes = { fine: 0, failed: 1, usage: 2, unreachable: 3, interrupted: 130 } as const

export type ExitCode = (typeof exitCodes)[keyof typeof exitCodes]

/** A command that ends without having done what was asked: what was wrong, and what to do about it. */
export class CommandError extends Error {
  readonly exitCode: ExitCode
  readonly code: string
  /** The next step, as a sentence or a command line. */
  readonly hint: string | undefined

  constructor(
    message: string,
    options: { exitCode?: ExitCode; code?: string; hint?: string | undefined; cause?: unknown } = {},
  ) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause })
    this.name = 'CommandError'
    this.exitCode = options.exitCode ?? exitCodes.failed
    this.code = options.code ?? (this.exitCode === exitCodes.usage ? 'usage' : 'failed')
    this.hint = options.hint
  }
}

export function usageError(message: string, hint?: string): CommandError {
  return new CommandError(message, { exitCode: exitCodes.usage, hint })
}

/** Ctrl-C: nothing is left to say. */
export function interrupted(): CommandError {
  return new CommandError('', { exitCode: exitCodes.interrupted, code: 'interrupted' })
}
