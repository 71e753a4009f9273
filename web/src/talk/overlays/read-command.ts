export interface CommandOutcome {
  /** Such as "exit code 0, 0.1 s". */
  end: string
  output: string
  errors: string
}

/** What `exec` answers; undefined where it is not that. */
export function readCommand(text: string): CommandOutcome | undefined {
  const [, end, rest = ''] = /^\[([^\]\n]{1,200})\](?:\n([\s\S]*))?$/.exec(text) ?? []
  if (end === undefined) return undefined
  const mark = '[stderr]\n'
  const place = rest.startsWith(mark) ? 0 : rest.lastIndexOf(`\n${mark}`)
  if (place < 0) return { end, output: rest, errors: '' }
  return { end, output: rest.slice(0, place), errors: rest.slice(place).replace(/^\n/, '').slice(mark.length) }
}
