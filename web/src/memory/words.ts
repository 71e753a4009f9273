import type { MemoryReply } from '../../../src/protocol/memory-api.ts'
import type { Choice } from '../components/field.tsx'

export type Kind = MemoryReply['kind']

/** What the parts of a memory are called here. */
export const kindNames: Record<Kind, string> = {
  note: 'Note',
  fact: 'Fact',
  episode: 'Episode',
  commitment: 'Commitment',
  chunk: 'Passage',
}
export const sourceNames: Record<MemoryReply['source'], string> = {
  user: 'You wrote it',
  agent: 'Familiar wrote it',
  extracted: 'Learnt from a conversation',
  tool: 'From a tool',
  import: 'Imported',
}
export const tierNames: Record<MemoryReply['tier'], string> = { long_term: 'For long', short_term: 'For now' }

/** Familiar knows whoever talks to it as "user". */
export function shownContent({ kind, content }: Pick<MemoryReply, 'kind' | 'content'>): string {
  if (kind === 'fact') return content.replace(/^user: /, 'You: ')
  return kind === 'commitment' ? content.replace(/^user owes\b/, 'You owe') : content
}

export const kindChoices = choices(kindNames)
export const sourceChoices = choices(sourceNames)
export const tierChoices = choices(tierNames)

function choices(names: Record<string, string>): Choice[] {
  return [{ value: '', label: 'Any' }, ...Object.entries(names).map(([value, label]) => ({ value, label }))]
}
