import { z } from 'zod'
import type { ChangedBy, CorrectionOutcome } from '../../memory/corrections.ts'
import { factBeginning } from '../../memory/facts.ts'
import { attributeKey } from '../../memory/fold-text.ts'
import { readPlainStatements } from '../../memory/learning/plain-statements.ts'
import type { Memory } from '../../memory/memory.ts'
import { defineTool, failed, succeeded } from '../define-tool.ts'
import type { Tool, ToolContext, ToolOutcome } from '../tool.ts'
import type { MemoryNeeds } from './memory-needs.ts'
import { citeMemory, noSuchMemory, readMemoryId } from './memory-text.ts'
import { consentToEdit, editQuestion } from './users-consent.ts'
import { shareOf, tellingWordsOf } from './users-words.ts'

type Needs = Pick<MemoryNeeds, 'memories' | 'facts' | 'recall' | 'corrections' | 'clock' | 'timeZone'>

interface Change {
  by: ChangedBy
  label?: 'untrusted'
}

const looked = 20
const sameShare = 0.8

/** Like forgetting: what the user wrote changes on their word alone. What merely repeats it is corrected with it. */
export function createMemoryEdit(needs: Needs): Tool {
  const { memories, recall, corrections, timeZone } = needs
  return defineTool({
    name: 'memory_edit',
    description: 'Correct the text of a memory that is wrong. Can be undone for 30 days.',
    input: z.object({ id: z.string().min(1), content: z.string().min(1) }),
    effect: 'idempotent',
    async run({ id, content }, context) {
      const memory = await memories.get(context.userId, readMemoryId(id))
      if (!memory) return failed(noSuchMemory(id))
      const edited = (await contentFor(memory, content)) ?? content
      if (edited === memory.content) return succeeded(`It reads so already ${citeMemory(memory.id)}`)
      const by = consentToEdit(context, memory, { content, timeZone }) ? 'user' : 'agent'
      const repetitions = await repetitionsOf(memory, context)
      const change: Change = { by, ...(by === 'agent' && context.seen.untrusted && { label: 'untrusted' as const }) }
      const outcome = await edit(memory, edited, change)
      if (!outcome.ok) {
        return outcome.reason === 'not_found' ? failed(noSuchMemory(id)) : refuse(memory, content, context)
      }
      const also = await editRepetitions(repetitions, content, change)
      const cited = [memory, ...also].map((changed) => citeMemory(changed.id)).join(' ')
      return succeeded(`Changed ${cited}. memory_undo takes it back for 30 days.`)
    },
  })

  /** Notes and facts that say no more than it does. */
  async function repetitionsOf(memory: Memory, { userId, signal }: ToolContext): Promise<Memory[]> {
    const found = await recall.recall({ userId, text: memory.content, limit: looked, kinds: ['note', 'fact'], signal })
    return found
      .map((recalled) => recalled.memory)
      .filter((other) => other.id !== memory.id)
      .filter((other) => shareOf(tellingWordsOf(other.content), memory.content) >= sameShare)
  }

  /** What a model changes with words of others in sight is theirs from then on. */
  function edit({ userId, id }: Memory, content: string, { by, label }: Change): Promise<CorrectionOutcome> {
    return corrections.edit(userId, id, { content, ...(label && { label }) }, by)
  }

  async function editRepetitions(repetitions: readonly Memory[], content: string, change: Change): Promise<Memory[]> {
    const changed: Memory[] = []
    for (const other of repetitions) {
      const edited = await contentFor(other, content)
      if (edited === undefined) continue
      const outcome = await edit(other, edited, change)
      if (outcome.ok) changed.push(outcome.memory)
    }
    return changed
  }

  /** A fact's text has a form of its own: its new value is read from a plain sentence. Undefined where it tells none. */
  async function contentFor(memory: Memory, content: string): Promise<string | undefined> {
    const fact = memory.kind === 'fact' ? await needs.facts.get(memory.userId, memory.id) : undefined
    if (!fact || content.startsWith(factBeginning(fact))) return content
    const { facts } = readPlainStatements(content, needs.clock.now(), timeZone)
    const stated = facts.find(({ attribute }) => attributeKey(attribute) === attributeKey(fact.attribute))
    return stated && `${factBeginning(fact)}${stated.value}`
  }

  function refuse(memory: Memory, content: string, { userText }: ToolContext): ToolOutcome {
    const refusal = `Not changed: ${citeMemory(memory.id)} is the user's own, and only they can have it changed.`
    if (userText.trim() === '') return failed(refusal)
    return { ...succeeded(`${refusal} They are asked.`), question: editQuestion(memory, { content, timeZone }) }
  }
}
