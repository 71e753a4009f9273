import { randomUUID } from 'node:crypto'
import { displayWidth, fitWidth, formatDuration, formatTime, oneLine, toDisplayText } from '../base/text.ts'
import type { ToolCallReply } from '../protocol/tools.ts'
import type { ExitCode } from './command.ts'

/** The part of a stream that output needs. */
interface OutputStream {
  write(text: string): unknown
  isTTY?: boolean | undefined
  columns?: number | undefined
}

/** A list for people. */
interface Table {
  header?: readonly string[]
  rows: readonly (readonly string[])[]
  /** Printed if there are no rows. */
  empty?: string
  /** Printed to standard error below the rows. */
  note?: string | undefined
}

/** A text or table for people. */
export type Shown = string | Table

export type Output = ReturnType<typeof createOutput>

/**
 * The output of a command. Control characters are removed from all text, because replies, names and errors come from
 * models, pages and files. Colors are used only on a terminal.
 */
export function createOutput(options: {
  stdout: OutputStream
  stderr: OutputStream
  env: Readonly<Record<string, string | undefined>>
}) {
  const { stdout, stderr, env } = options
  /** A command that the user can paste here; `main` knows its home. */
  const commandLine = (words: string) => `familiar ${words}`
  const { style, render } = createStyles()
  const write = (stream: OutputStream, text: string) => void stream.write(`${render(text, hasColours(stream, env))}\n`)
  const print = (text = '') => write(stdout, text)
  /** To standard error, so that a pipe gets only the requested output. */
  const note = (text: string) => write(stderr, text)

  function printTable(rows: Table['rows'], { header = [] }: Pick<Table, 'header'> = {}): undefined {
    const heading = header.length > 0 ? [header.map((text) => style('bold', text))] : []
    const plain = (cell: string) => render(cell, false)
    const lines = layOut([...heading, ...rows], { plain, columns: stdout.isTTY ? stdout.columns : undefined })
    for (const line of lines) write(stdout, line)
  }

  /** Names and values, one to a line; those without a value are left out. */
  function printFields(fields: readonly (readonly [string, string | null | undefined])[]): undefined {
    printTable(fields.flatMap(([name, value]) => (value ? [[style('dim', name), value]] : [])))
  }

  /** The same value for a program, whatever characters it holds; readable on a terminal, one line in a pipe. */
  function printJson(value: unknown): undefined {
    const text = JSON.stringify(value, null, stdout.isTTY ? 2 : 0) ?? 'null'
    stdout.write(`${escapeForDisplay(text)}\n`)
  }

  function show(shown: Shown): undefined {
    if (typeof shown === 'string') return print(shown)
    if (shown.rows.length === 0) return print(shown.empty)
    printTable(shown.rows, shown)
    if (shown.note) note(shown.note)
  }

  /** The end of most commands: `value` for a program, or a text or table for people; a function may print by itself. */
  function report(json: boolean | undefined, value: unknown, shown: Shown | (() => Shown | undefined)): undefined {
    if (json) return printJson(value)
    const made = typeof shown === 'function' ? shown() : shown
    if (made !== undefined) show(made)
  }

  /** Prints the problem and what to do; returns the exit code for the command. */
  function fail(message: string, hint: string | undefined, exitCode: ExitCode): ExitCode {
    note(`${style('red', 'Error:')} ${message}`)
    if (hint) note(style('dim', hint))
    return exitCode
  }

  const isTerminal = stdout.isTTY === true
  return { isTerminal, style, commandLine, print, note, printTable, printFields, printJson, report, fail }
}

/** Respects NO_COLOR and FORCE_COLOR; otherwise colors on a terminal that is not dumb. */
export function hasColours(stream: OutputStream, env: Readonly<Record<string, string | undefined>>): boolean {
  if (env.NO_COLOR) return false
  if (env.FORCE_COLOR) return env.FORCE_COLOR !== '0' && env.FORCE_COLOR !== 'false'
  return stream.isTTY === true && env.TERM !== 'dumb'
}

/** Columns as wide as their widest cell; on a terminal the last one is cut. */
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

type Style = 'bold' | 'dim' | 'red' | 'green' | 'yellow' | 'cyan'

const codes: Record<Style, [on: number, off: number]> = {
  bold: [1, 22],
  dim: [2, 22],
  red: [31, 39],
  green: [32, 39],
  yellow: [33, 39],
  cyan: [36, 39],
}

/** Styles inside text, rendered or dropped when the target stream is known. */
function createStyles() {
  // A secret mark, so that text from a model, a page or a file cannot contain a style.
  const mark = `<${randomUUID()}:`
  const marked = new RegExp(`(${mark}\\d+>)`)
  return {
    /** Styles text that is printed here; without colors it is printed unchanged. */
    style: (style: Style, text: string) => `${mark}${codes[style][0]}>${text}${mark}${codes[style][1]}>`,
    /** The text made harmless, with colors or without. */
    render(text: string, colours: boolean): string {
      const parts = text.split(marked).map((part) => {
        if (!part.startsWith(mark)) return toDisplayText(part)
        return colours ? `\u001b[${part.slice(mark.length, -1)}m` : ''
      })
      return parts.join('')
    },
  }
}

/** The text with the command at its end as it works here. */
export function runnableHere({ commandLine }: Output, text: string): string {
  return text.replace(/(?<=^|: )familiar (\S.*)$/, (_, words) => commandLine(words))
}

/** Past calls of a tool or capability by any caller, newest first. */
export function callTable({ style }: Output, name: string, calls: readonly ToolCallReply[]): Shown {
  return {
    empty: `${name} has no calls yet.`,
    header: ['When', 'By', 'Outcome', 'Took', 'Sandbox', ''],
    rows: calls.map(({ at, caller, outcome, duration_ms, driver, error, topic }) => [
      formatTime(at),
      caller,
      outcome === 'succeeded' ? outcome : style('red', outcome),
      formatDuration(duration_ms),
      driver ?? '',
      oneLine(error ?? topic, 200),
    ]),
  }
}
