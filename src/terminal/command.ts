import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline/promises'
import { addAbortSignal, type Readable } from 'node:stream'
import { toDisplayText } from '../base/text.ts'
import { createOutput, type Output } from './output.ts'

/** The parts of the process that a command may use. */
export interface CommandContext {
  /** Absolute. */
  homePath: string
  env: Readonly<Record<string, string | undefined>>
  /** For everything that is printed, except lines that are redrawn. */
  output: Output
  stdin: NodeJS.ReadStream
  stdout: NodeJS.WriteStream
  stderr: NodeJS.WriteStream
  /** Aborts with the first Ctrl-C or SIGTERM. */
  signal: AbortSignal
  /** Handles SIGHUP. The command ends unless the handler returns 'go on'. */
  onHangup(handler: () => 'end' | 'go on'): void
}

interface CommonInput {
  json?: boolean
}

/** Runs one command. Undefined is success; errors are thrown, and `main` prints them. */
export type CommandHandler<Input> = (
  context: CommandContext,
  input: Input & CommonInput,
) => Promise<ExitCode | undefined>

/** Exit codes. Scripts rely on these numbers. */
export const exitCodes = { fine: 0, failed: 1, usage: 2, unreachable: 3, interrupted: 130 } as const

export type ExitCode = (typeof exitCodes)[keyof typeof exitCodes]

/** A command that failed: what went wrong, and what to do about it. */
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

/** Ctrl-C: there is nothing to print. */
export function interrupted(): CommandError {
  return new CommandError('', { exitCode: exitCodes.interrupted, code: 'interrupted' })
}

/** A typed line, trimmed. Without a terminal it fails and says what to do instead. */
export async function askUser(context: CommandContext, question: string, instead: string): Promise<string> {
  const { stdin, stderr, signal } = context
  if (!stdin.isTTY || !stderr.isTTY) throw usageError(`Not a terminal: ${instead}`)
  // On stderr, so that what is piped away is only the answer.
  const prompt = createInterface({ input: stdin, output: stderr })
  try {
    return (await prompt.question(`${toDisplayText(question)} `, { signal })).trim()
  } catch (error) {
    // Ctrl-C or Ctrl-D at the question.
    if (error instanceof Error && error.name === 'AbortError') throw interrupted()
    throw error
  } finally {
    prompt.close()
  }
}

/** Asks before something that is not easily undone. Without a terminal, `--yes` is required. */
export async function confirm(
  context: CommandContext,
  question: string,
  options: { byDefault: boolean } = { byDefault: false },
): Promise<boolean> {
  const choices = options.byDefault ? '[Y/n]' : '[y/N]'
  const answer = await askUser(context, `${question} ${choices}`, 'pass --yes to confirm')
  return answer === '' ? options.byDefault : /^y(es)?$/i.test(answer)
}

/** True with `--yes` or after a confirmation. Otherwise the user reads that nothing was changed. */
export async function isConfirmed(
  context: CommandContext,
  input: { yes?: boolean },
  question: string,
  otherwise = 'Nothing was changed.',
): Promise<boolean> {
  const isWanted = input.yes === true || (await confirm(context, question))
  if (!isWanted) context.output.note(otherwise)
  return isWanted
}

export async function readStandardInput({ stdin, signal }: { stdin: Readable; signal: AbortSignal }): Promise<Buffer> {
  return Buffer.concat(await Array.fromAsync(addAbortSignal(signal, stdin), (chunk) => Buffer.from(chunk)))
}

/** The text, or all of standard input for `-`. */
export async function textOrInput(context: CommandContext, text: string): Promise<string> {
  return text === '-' ? (await readStandardInput(context)).toString() : text
}

export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}

/** The only entry with this id or beginning of an id, or the id itself if there is none. */
export function idStartingWith(known: readonly { id: string }[], named: string, what: string, list: string): string {
  if (known.some(({ id }) => id === named)) return named
  const [first, ...more] = known.filter(({ id }) => id.startsWith(named))
  if (more.length === 0) return first?.id ?? named
  throw new CommandError(`Several ${what} start with ${JSON.stringify(named)}.`, {
    code: 'bad_request',
    hint: `Give the whole id: ${list}`,
  })
}

export function whyUnreadable(cause: NodeJS.ErrnoException): string {
  const reasons: Record<string, string> = {
    ENOENT: 'there is no such file.',
    EACCES: 'no permission to read it.',
    EISDIR: 'it is not a file.',
  }
  return reasons[cause.code ?? ''] ?? cause.message
}

export async function openEditor({ env, stdin, stdout }: CommandContext, path: string): Promise<void> {
  const editor = env.VISUAL || env.EDITOR
  if (!stdin.isTTY || !stdout.isTTY) throw usageError('Not a terminal: no editor can be opened.')
  if (!editor) throw usageError('No editor is set.', 'Set EDITOR, for example: export EDITOR=nano')
  // Through the shell, since the variable may hold options.
  const child = spawn(`${editor} "${path}"`, { shell: true, stdio: 'inherit' })
  const [code] = await once(child, 'close')
  if (code !== 0) throw new CommandError(`The editor (${editor}) failed with ${code}. Nothing was changed.`)
}

/** Prints values one to a line, on a terminal too: a stream of them is for programs. */
export function jsonLines({ stdout, stderr, env }: CommandContext): (value: unknown) => void {
  return createOutput({ stdout: { write: (text) => stdout.write(text) }, stderr, env }).printJson
}
