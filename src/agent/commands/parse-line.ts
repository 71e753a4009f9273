export interface ParsedLine {
  /** Without its slash, in lower case. */
  name: string
  argument: string
  /** Where the argument begins in the line. */
  start: number
}

const pattern = /^(\s*\/([^\s/]*))(\s*)([\s\S]*)$/

/** `/name argument`; undefined for what is no command: `//` begins a message that starts with a slash. */
export function parseLine(line: string): ParsedLine | undefined {
  const [, head, name, gap, rest] = pattern.exec(line) ?? []
  if (head === undefined || name === undefined || gap === undefined || rest === undefined) return undefined
  // "/etc/passwd" is a path that somebody writes about.
  if (rest !== '' && gap === '') return undefined
  return { name: name.toLowerCase(), argument: rest.trim(), start: head.length + gap.length }
}
