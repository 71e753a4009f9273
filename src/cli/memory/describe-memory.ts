import { displayWidth, fitWidth } from '../../base/display-width.ts'
import { formatTime, oneLine } from '../../base/format.ts'
import type { MemoryReply } from '../../protocol/memory-api.ts'
import type { Output } from '../output.ts'

const longestText = 200

/** The day, in local time. */
export function formatDay(time: string): string {
  return formatTime(time).slice(0, 10)
}

/** In a few words, on one line. */
export function shortText({ title, content }: Pick<MemoryReply, 'title' | 'content'>): string {
  return oneLine(title ? `${title}: ${content}` : content, longestText)
}

/** One line, no wider than the terminal; in a pipe as long as it is. */
export function fitLine(line: string, { columns }: { columns?: number | undefined }): string {
  return columns !== undefined && displayWidth(line) > columns ? fitWidth(line, columns) : line
}

/** Where it came from, in words. */
export function describeOrigin(memory: MemoryReply): string {
  const { source, speaker, session_id: session, file, kind } = memory
  if (file) return `a file, ${memory.citation}`
  const said = speaker === 'user' ? 'you said it' : `${speaker ?? 'somebody'} said it`
  const from = kind === 'chunk' ? said : origins[source]
  const where = session === null ? '' : ` in session ${session}`
  return `${from}${where}, ${formatTime(memory.created_at)}${memory.label === 'untrusted' ? ', not to be trusted' : ''}`
}

const origins: Record<MemoryReply['source'], string> = {
  user: 'you wrote it',
  agent: 'Familiar stored it',
  extracted: 'learnt from a conversation',
  tool: 'a tool stored it',
  import: 'imported',
}

/** Rows of a name and a value; those without a value are left out. */
export function printFields(output: Output, fields: readonly (readonly [string, string | null | undefined])[]): void {
  const rows = fields.flatMap(([name, value]) => (value ? [[output.style('dim', name), value]] : []))
  output.printTable(rows)
}
