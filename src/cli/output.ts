import { displayWidth, fitWidth } from '../base/display-width.ts'
import { toDisplayText } from '../base/text.ts'
import type { ExitCode } from './command-error.ts'
import { createStyles, type Style } from './styles.ts'

/** The part of a stream that output needs. */
interface OutputStream {
  write(text: string): unknown
  isTTY?: boolean | undefined
  columns?: number | undefined
}

/**
 * What a command prints. All text is made harmless on the way: replies, names and errors come from models, pages and
 * files. Colours are there only where somebody looks.
 */
export interface Output {
  readonly isTerminal: boolean
  /** A line to standard output. */
  print(text?: string): void
  /** To standard error, so that a pipe gets only what was asked for. */
  note(text: string): void
  printTable(rows: readonly (readonly string[])[], options?: { header?: readonly string[] }): void
  /** The same value for a program, whatever characters it holds; readable on a terminal, one line in a pipe. */
  printJson(value: unknown): void
  /** Says what went wrong and what to do; answers the exit code, for the command to return. */
  fail(message: string, hint: string | undefined, exitCode: ExitCode): ExitCode
  /** For text that is then printed here; shown as it is where there are no colours. */
  style(style: Style, text: string): string
}

export function createOutput(options: {
  stdout: OutputStream
  stderr: OutputStream
  env: Readonly<Record<string, string | undefined>>
}): Output {
  const { stdout, stderr, env } = options
  const { style, render } = createStyles()
  const write = (stream: OutputStream, text: string) => void stream.write(`${render(text, hasColours(stream, env))}\n`)

  return {
    isTerminal: stdout.isTTY === true,
    style,
    print: (text = '') => write(stdout, text),
    note: (text) => write(stderr, text),
    printTable(rows, { header = [] } = {}) {
      const heading = header.length > 0 ? [header.map((text) => style('bold', text))] : []
      const plain = (cell: string) => render(cell, false)
      const lines = layOut([...heading, ...rows], { plain, columns: stdout.isTTY ? stdout.columns : undefined })
      for (const line of lines) write(stdout, line)
    },
    printJson(value) {
      const text = JSON.stringify(value, null, stdout.isTTY ? 2 : 0) ?? 'null'
      stdout.write(`${escapeForDisplay(text)}\n`)
    },
    fail(message, hint, exitCode) {
      write(stderr, `${style('red', 'Error:')} ${message}`)
      if (hint) write(stderr, style('dim', hint))
      return exitCode
    },
  }
}

/** NO_COLOR and FORCE_COLOR as everywhere else; otherwise a terminal that is not dumb. */
export function hasColours(stream: OutputStream, env: Readonly<Record<string, string | undefined>>): boolean {
  if (env.NO_COLOR) return false
  if (env.FORCE_COLOR) return env.FORCE_COLOR !== '0' && env.FORCE_COLOR !== 'false'
  return stream.isTTY === true && env.TERM !== 'dumb'
}

/** Columns as wide as their widest cell; on a terminal the last one gives way. */
function layOut(
  rows: readonly (readonly string[])[],
  { plain, columns }: { plain: (cell: string) => string; columns: number | undefined },
): string[] {
  const cells = rows.map((row) => row.map((cell) => cell.replace(/\s+/g, ' ').trim()))
  const widths: number[] = []
  for (const row of cells)
    for (const [column, cell] of row.entries())
      widths[column] = Math.max(widths[column] ?? 0, displayWidth(plain(cell)))

  return cells.map((row) => {
    const last = row.length - 1
    const room =
      (columns ?? Number.POSITIVE_INFINITY) - widths.slice(0, last).reduce((sum, width) => sum + width + 2, 0)
    const line = row.map((cell, column) => {
      const width = displayWidth(plain(cell))
      if (column < last) return cell + ' '.repeat((widths[column] ?? 0) - width + 2)
      return width <= room ? cell : fitWidth(plain(cell), Math.max(10, room))
    })
    return line.join('')
  })
}

/** JSON escapes only the oldest control characters itself; the others mean the same when written as \uXXXX. */
function escapeForDisplay(json: string): string {
  if (toDisplayText(json) === json) return json
  const lower = json.replace(/(?<=\p{M}{8})\p{M}/gu, escapeCharacter)
  return lower.replace(/[^\n\t -~]/gu, (character) =>
    toDisplayText(character) === character ? character : escapeCharacter(character),
  )
}

function escapeCharacter(character: string): string {
  const units = character.split('').map((unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`)
  return units.join('')
}
