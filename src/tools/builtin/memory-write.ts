import { z } from 'zod'
import { type Fact, factBeginning } from '../../memory/facts.ts'
import { defineTool, failed, succeeded } from '../define-tool.ts'
import type { Tool, ToolContext, ToolOutcome } from '../tool.ts'
import type { MemoryNeeds } from './memory-needs.ts'
import { citeMemory, formatDate } from './memory-text.ts'
import { agrees, factQuestion } from './users-consent.ts'
import { whoseWords } from './users-words.ts'

/** A surer fact, or the user's own, is not replaced: the user is asked. */
export function createMemoryWrite({ facts, timeZone }: Pick<MemoryNeeds, 'facts' | 'timeZone'>): Tool {
  return defineTool({
    name: 'memory_write',
    description: 'Write one fact: of whom or what (entity; "user" for the user), which attribute, which value.',
    input: z.object({
      entity: z.string().min(1),
      attribute: z.string().min(1),
      value: z.string().min(1),
      confidence: z.number().min(0).max(1).optional(),
    }),
    effect: 'idempotent',
    async run(fact, context) {
      const { userId, sessionId, turnId, userText } = context
      const origin = { userId, sessionId, turnId }
      const source = whoseWords(`${fact.entity} ${fact.value}`, userText)
      const written = await facts.write({ ...fact, ...origin, source })
      if (written.outcome !== 'refused') return succeeded(tell(written.outcome, written.fact, oldOf(written)))
      if (!agrees(context, factQuestion(written.known, fact.value))) return refuse(written.known, fact.value, context)
      const agreed = await facts.write({ ...fact, ...origin, source: 'user', confidence: 1 })
      return succeeded(tell(agreed.outcome, agreed.fact, oldOf(agreed)))
    },
  })

  function refuse(known: Fact, value: string, { userText }: ToolContext): ToolOutcome {
    const refusal = `Not written: surer is ${citeMemory(known.id)} ${factBeginning(known)}${known.value}.`
    if (userText.trim() === '') return failed(refusal)
    return { ...succeeded(`${refusal} The user is asked.`), question: factQuestion(known, value) }
  }

  function tell(outcome: string, { id, entity, attribute, value, validFrom }: Fact, old: Fact | undefined): string {
    const text = `${citeMemory(id)} ${factBeginning({ entity, attribute })}${value}`
    if (outcome === 'confirmed') return `Known since ${formatDate(validFrom, timeZone)} ${text}`
    return old ? `Changed ${text} (was ${old.value})` : `Noted ${text}`
  }
}

function oldOf(written: { outcome: string; old?: Fact }): Fact | undefined {
  return written.old
}
