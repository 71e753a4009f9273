import { dayOf, formatDay } from '../../base/calendar.ts'
import { truncateText } from '../../base/text.ts'
import { readBundledText } from '../../base/text-file.ts'
import type { Memory, MemoryKind } from '../memory.ts'
import type { AskModel } from './ask-model.ts'

export const synthesisStyles = ['structured', 'narrative', 'factual'] as const
export type SynthesisStyle = (typeof synthesisStyles)[number]

const prompts = {
  narrative: readBundledText(new URL('./prompts/narrative.md', import.meta.url)),
  factual: readBundledText(new URL('./prompts/factual.md', import.meta.url)),
}
const longestMemory = 1_000
const sections: readonly [MemoryKind, string][] = [
  ['commitment', 'Commitments'],
  ['fact', 'Facts'],
  ['note', 'Notes'],
  ['episode', 'What happened'],
  ['chunk', 'Passages'],
]

export interface Synthesis {
  /** The one that the text is written in. */
  style: SynthesisStyle
  text: string
  /** Why it is not the one that was asked for. */
  note?: string
}

/** Sums up what was found. `structured` asks no model; the others fall back to it, and say so. */
export type Synthesise = (request: {
  userId: string
  sessionId: string | null
  question: string
  memories: readonly Memory[]
  style: SynthesisStyle
  signal: AbortSignal
}) => Promise<Synthesis>

export function createSynthesis({ askModel, timeZone }: { askModel: AskModel; timeZone: string }): Synthesise {
  return async ({ userId, sessionId, question, memories, style, signal }) => {
    const structured = describeMemories(memories, timeZone)
    if (style === 'structured' || memories.length === 0) return { style: 'structured', text: structured }
    const answer = await askModel({
      userId,
      sessionId,
      purpose: 'synthesis',
      system: prompts[style],
      text: `QUESTION: ${oneLine(question)}\n\nMEMORIES:\n${structured}`,
      signal,
    })
    const text = answer.ok ? answer.text.trim() : ''
    if (text !== '') return { style, text }
    const reason = answer.ok ? 'the model said nothing' : answer.message
    return { style: 'structured', text: structured, note: `Not written as ${style}: ${reason}` }
  }
}

/** By kind, in the order found, each with its day and its citation. */
function describeMemories(memories: readonly Memory[], timeZone: string): string {
  const told = sections.flatMap(([kind, title]) => {
    const ofKind = memories.filter((memory) => memory.kind === kind)
    if (ofKind.length === 0) return []
    return [[`${title}:`, ...ofKind.map((memory) => `- ${describe(memory, timeZone)}`)].join('\n')]
  })
  return told.length > 0 ? told.join('\n\n') : 'Nothing found.'
}

function describe({ id, content, createdAt, speaker, label }: Memory, timeZone: string): string {
  const who = speaker === null ? '' : `${speaker}: `
  const text = oneLine(truncateText(content, longestMemory))
  // What is not to be trusted is quoted, and cannot end the quotation.
  const said = label === 'untrusted' ? `(untrusted) “${text.replaceAll(/[“”]/g, '"')}”` : text
  return `${formatDay(dayOf(createdAt, timeZone))} ${who}${said} [memory:${id}]`
}

function oneLine(text: string): string {
  return text.replaceAll(/\s+/g, ' ').trim()
}
