import { z } from 'zod'
import type { ChangedBy, CorrectionOutcome } from '../../memory/corrections.ts'
import type { Memory, MemoryKind } from '../../memory/memory.ts'
import { defineTool, failed, succeeded } from '../define-tool.ts'
import type { Tool, ToolContext, ToolOutcome } from '../tool.ts'
import type { MemoryNeeds } from './memory-needs.ts'
import { citeMemory, formatDate, noSuchMemory, readMemoryId } from './memory-text.ts'
import { takesAlso } from './takes-also.ts'
import { consentToForget, forgetQuestion } from './users-consent.ts'
import { shareOf, tellingWordsOf } from './users-words.ts'

const looked = 20
const sameShare = 0.8
const lastChanges = 50

type Needs = Pick<MemoryNeeds, 'memories' | 'recall' | 'corrections' | 'timeZone'>
type Forgotten = Extract<CorrectionOutcome, { ok: true }>

/** What agents made goes at once; what the user wrote goes on their word alone, and they are told of every attempt. */
export function createMemoryForget(needs: Needs): Tool {
  const { memories, recall, corrections, timeZone } = needs
  const tool = defineTool({
    name: 'memory_forget',
    description: 'Forget or delete one memory by its id or exact title. Can be undone for 30 days.',
    input: z.object({ id: z.string().min(1) }),
    effect: 'idempotent',
    aliases: ['delete_memory'],
    async run({ id }, context) {
      const wanted = readMemoryId(id)
      const known = await memories.get(context.userId, wanted)
      let by: ChangedBy = known ? await changedBy(known, context) : 'agent'
      let outcome = await corrections.forget(context.userId, wanted, by)
      if (!outcome.ok && outcome.reason === 'users_own' && !known) {
        // It was named by its title.
        by = await changedBy(outcome.memory, context)
        outcome = await corrections.forget(context.userId, outcome.memory.id, by)
      }
      if (outcome.ok) return await tellForgotten(outcome, by, context)
      if (outcome.reason === 'users_own') return refuse(outcome.memory, context)
      const changes = await corrections.changes(context.userId, lastChanges)
      const earlier = changes.find((change) => change.action === 'forgotten' && change.memoryId === wanted)
      if (!earlier) return failed(noSuchMemory(wanted))
      return succeeded(`Forgotten on ${formatDate(earlier.at, timeZone)} ${citeMemory(wanted)}`)
    },
  })
  return takesAlso(tool, { memory_title: 'id', title: 'id' })

  async function changedBy(memory: Memory, context: ToolContext): Promise<ChangedBy> {
    const consent = consentToForget(context, memory, timeZone)
    if (consent.given === 'exactly') return 'user'
    if (consent.given === 'no') return 'agent'
    return (await isOnlyOne(memory, consent.words, context)) ? 'user' : 'agent'
  }

  /** Nothing else of the user's answers to the words that they named it by. What merely repeats it does not count. */
  async function isOnlyOne(memory: Memory, words: readonly string[], context: ToolContext): Promise<boolean> {
    const found = await search(words.join(' '), ['note', 'fact', 'episode', 'commitment'], context)
    return found.every((other) => {
      if (other.id === memory.id || shareOf(words, `${other.content} ${other.title ?? ''}`) < 1) return true
      return tells(other, memory) || tells(memory, other)
    })
  }

  function refuse(memory: Memory, { userText }: ToolContext): ToolOutcome {
    const refusal = `Not forgotten: ${citeMemory(memory.id)} is the user's own, and only they can have it forgotten.`
    // An automated message has nobody who could answer.
    if (userText.trim() === '') return failed(refusal)
    return { ...succeeded(`${refusal} They are asked.`), question: forgetQuestion(memory, timeZone) }
  }

  /** What was read from a note goes with it; where what was read goes, the user is asked about the note. */
  async function tellForgotten(outcome: Forgotten, by: ChangedBy, context: ToolContext): Promise<ToolOutcome> {
    const { memory, alsoForgotten } = outcome
    const derived = memory.kind === 'note' ? await forgetDerived(memory, by, context) : []
    const others = alsoForgotten.length + derived.length
    const also = others > 0 ? `, with ${others} that repeat it` : ''
    const text = `Forgot ${citeMemory(memory.id)}${also}. memory_undo brings it back for 30 days.`
    const note = memory.source === 'extracted' ? await noteTelling(memory, context) : undefined
    if (!note) return succeeded(text)
    return {
      ...succeeded(`${text} The user's own note ${citeMemory(note.id)} says it too.`),
      ...(context.userText.trim() !== '' && { question: forgetQuestion(note, timeZone) }),
    }
  }

  async function forgetDerived(note: Memory, by: ChangedBy, context: ToolContext): Promise<Memory[]> {
    const gone: Memory[] = []
    for (const fact of await search(note.content, ['fact'], context)) {
      const isFromIt = fact.source === 'extracted' && fact.turnId === note.turnId && tells(note, fact)
      // One that says only little of the note may well be known from elsewhere.
      if (!isFromIt || shareOf(tellingWordsOf(note.content), fact.content) <= 0.5) continue
      const outcome = await corrections.forget(fact.userId, fact.id, by)
      if (outcome.ok) gone.push(outcome.memory)
    }
    return gone
  }

  async function noteTelling(memory: Memory, context: ToolContext): Promise<Memory | undefined> {
    const notes = await search(memory.content, ['note'], context)
    return notes.find((note) => note.label === 'owner' && tells(note, memory))
  }

  async function search(text: string, kinds: MemoryKind[], { userId, signal }: ToolContext): Promise<Memory[]> {
    return (await recall.recall({ userId, text, kinds, limit: looked, signal })).map(({ memory }) => memory)
  }
}

/** All that the other says, or nearly. */
function tells(memory: Memory, other: Memory): boolean {
  return shareOf(tellingWordsOf(other.content), memory.content) >= sameShare
}
