import { parseJson } from '../../base/json.ts'
import { type FoundRecord, type NumberedLine, numberLines } from './numbered-line.ts'
import { readJsonLines } from './read-json-lines.ts'
import { readMarkdown } from './read-markdown.ts'
import { headerSchema, type TransferHeader } from './record.ts'

export interface RecognisedFile {
  /** `plain`: not from an export; a list of notes from anywhere. */
  format: 'json' | 'markdown' | 'plain'
  header: TransferHeader | undefined
  /** Without the header. */
  lines: AsyncGenerator<NumberedLine>
}

/** Tells by its first line that is not blank what a file is. */
export async function recogniseFile(
  given: AsyncIterable<string> | Iterable<string>,
  signal?: AbortSignal,
): Promise<RecognisedFile> {
  const lines = numberLines(given, signal)
  const blank: NumberedLine[] = []
  for (;;) {
    const { value: first, done } = await lines.next()
    if (done) return { format: 'plain', header: undefined, lines: joined(blank, lines) }
    if (first.text.trim() === '') {
      if (blank.length < mostBlank) blank.push(first)
      continue
    }
    const comment = /^<!-- (\{.*\}) -->\s*$/.exec(first.text)?.[1]
    const parsed = parseJson(comment ?? first.text, headerSchema)
    const header = parsed.ok ? parsed.value : undefined
    if (header) return { format: comment === undefined ? 'json' : 'markdown', header, lines }
    const format = first.text.trimStart().startsWith('{') ? 'json' : 'plain'
    return { format, header, lines: joined([...blank, first], lines) }
  }
}

/** Blank lines at the beginning mean nothing; a file of nothing else must not fill the memory. */
const mostBlank = 1_000

export function readRecords({ format, lines }: RecognisedFile): AsyncGenerator<FoundRecord> {
  return format === 'markdown' ? readMarkdown(lines) : readJsonLines(lines)
}

async function* joined(first: NumberedLine[], rest: AsyncGenerator<NumberedLine>): AsyncGenerator<NumberedLine> {
  yield* first
  yield* rest
}
