import { z } from 'zod'
import { factBeginning, type WrittenFact } from '../../memory/facts.ts'
import { defineTool } from '../define-tool.ts'
import type { Tool, ToolContext, ToolOutcome } from '../tool.ts'
import type { MemoryNeeds } from './memory-needs.ts'
import { citeMemory, formatDate, tellMemories } from './memory-text.ts'
import { agrees, factQuestion } from './users-consent.ts'
import { originOf } from './users-words.ts'

type RefusedFact = Extract<WrittenFact, { outcome: 'refused' }>

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
      const { userId, sessionId, turnId } = context
      const origin = { userId, sessionId, turnId }
      const written = await facts.write({ ...fact, ...origin, ...originOf(wordsOf(fact, context), context) })
      if (written.outcome !== 'refused') return tell(written)
      if (!agrees(context, factQuestion(written.known, fact.value))) return refuse(written, fact.value, context)
      const agreed = await facts.write({ ...fact, ...origin, source: 'user', confidence: 1 })
      return agreed.outcome === 'refused' ? refuse(agreed, fact.value, context) : tell(agreed)
    },
  })

  function refuse({ known, label }: RefusedFact, value: string, { userText }: ToolContext): ToolOutcome {
    const refusal = `Not written: surer is ${citeMemory(known.id)} ${factBeginning(known)}${known.value}.`
    if (userText.trim() === '') return { ...tellMemories(refusal, [{ label }]), isError: true }
    return { ...tellMemories(`${refusal} The user is asked.`, [{ label }]), question: factQuestion(known, value) }
  }

  function tell(written: Exclude<WrittenFact, RefusedFact>): ToolOutcome {
    const { id, entity, attribute, value, validFrom } = written.fact
    const text = `${citeMemory(id)} ${factBeginning({ entity, attribute })}${value}`
    if (written.outcome === 'confirmed') {
      return tellMemories(`Known since ${formatDate(validFrom, timeZone)} ${text}`, [])
    }
    if (written.outcome === 'added') return tellMemories(`Noted ${text}`, [])
    return tellMemories(`Changed ${text} (was ${written.old.value})`, [{ label: written.label }])
  }
}

/** The attribute is the model's word for it, as a rule; with words of others in sight it counts too. */
function wordsOf(fact: { entity: string; attribute: string; value: string }, { seen }: ToolContext): string {
  return [fact.entity, ...(seen.untrusted ? [fact.attribute] : []), fact.value].join(' ')
}
