import { parseAnyJson } from '../../base/json.ts'
import type { FoundRecord, NumberedLine } from './numbered-line.ts'

/** Every line that is not blank is a record. */
export async function* readJsonLines(lines: AsyncIterable<NumberedLine>): AsyncGenerator<FoundRecord> {
  for await (const { line, text } of lines) {
    if (text.trim() === '') continue
    const parsed = parseAnyJson(text)
    yield parsed.ok ? { line, value: parsed.value } : { line, problem: parsed.message }
  }
}
