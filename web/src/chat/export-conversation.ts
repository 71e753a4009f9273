import type { StreamedEvent } from '../../../src/protocol/events.ts'
import { call } from '../api/call.ts'
import { t } from '../strings/strings.ts'
import { addEvent, emptyConversation, type Item } from './conversation.ts'

/** A message or reply for a file. */
interface ExportedMessage {
  role: 'user' | 'assistant'
  text: string
  attachments?: string[]
  tools?: string[]
}

export type ExportFormat = 'md' | 'json'

function exportedMessages(items: readonly Item[]): ExportedMessage[] {
  return items.flatMap((item): ExportedMessage[] => {
    if (item.kind === 'note') return []
    if (item.kind === 'message') {
      const attachments = item.media.map(({ name }) => name)
      return [{ role: 'user', text: item.text, ...(attachments.length > 0 && { attachments }) }]
    }
    const text = item.parts.flatMap((part) => (part.kind === 'text' || part.kind === 'said' ? [part.text] : []))
    const tools = item.parts.flatMap((part) => (part.kind === 'tool' ? [part.name] : []))
    return [{ role: 'assistant', text: text.join('\n\n'), ...(tools.length > 0 && { tools }) }]
  })
}

export function writeExport(format: ExportFormat, title: string, items: readonly Item[]): string {
  const messages = exportedMessages(items)
  if (format === 'json') return `${JSON.stringify({ title, messages }, null, 2)}\n`
  const parts = messages.map(({ role, text, attachments = [] }) => {
    const files = attachments.map((name) => `*${name}*`)
    return [`## ${role === 'user' ? t.chat.you.replace(':', '') : t.common.familiar}`, text, ...files].join('\n\n')
  })
  return `${[`# ${title}`, ...parts].join('\n\n')}\n`
}

const pageSize = 1_000

/** Downloads the chosen branch of a conversation. */
export async function exportConversation(session: { id: string; title: string }, format: ExportFormat): Promise<void> {
  const events: StreamedEvent[] = []
  for (let before: number | null | undefined; before !== null; ) {
    const page = await call('page.turnEvents', { id: session.id, limit: pageSize, ...(before && { before }) })
    events.unshift(...page.events)
    before = page.before
  }
  const { items } = events.reduce(addEvent, emptyConversation)
  const type = format === 'md' ? 'text/markdown' : 'application/json'
  const address = URL.createObjectURL(new Blob([writeExport(format, session.title, items)], { type }))
  const link = document.createElement('a')
  link.href = address
  link.download = `${session.title.replaceAll(/[^\p{L}\p{N} ._-]/gu, '_')}.${format}`
  link.click()
  URL.revokeObjectURL(address)
}
