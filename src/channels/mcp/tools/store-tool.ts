import { z } from 'zod'
import { endOfDay, parseDay } from '../../../base/calendar.ts'
import { factBeginning } from '../../../memory/facts.ts'
import { citeMemory } from '../../../tools/builtin/memory-text.ts'
import { describeIssues } from '../../http/describe-issues.ts'
import type { McpCaller } from '../mcp-caller.ts'
import type { McpNeeds } from '../mcp-needs.ts'
import { defineMcpTool, type McpAnswer, type McpTool } from '../mcp-tool.ts'
import { memoryUri } from '../resources/resource-uri.ts'

const text = (longest: number) => z.string().trim().min(1).max(longest)

/** One object for all three: clients refuse a schema that is a choice. */
const input = z.strictObject({
  kind: z.enum(['note', 'fact', 'commitment']),
  text: z.string().optional().describe('of a note'),
  title: z.string().optional().describe('of a note'),
  tags: z.array(z.string()).optional().describe('of a note'),
  entity: z.string().optional().describe('of a fact: of whom or what; "user" for the user'),
  attribute: z.string().optional().describe('of a fact'),
  value: z.string().optional().describe('of a fact'),
  what: z.string().optional().describe('of a commitment: what was promised'),
  who: z.string().optional().describe('of a commitment: who has promised it; "user" where nothing is said'),
  to: z.string().optional().describe('of a commitment: to whom'),
  deadline: z.string().optional().describe('of a commitment: a day such as 2026-11-20'),
})

const storedThing = z.discriminatedUnion('kind', [
  z.strictObject({
    kind: z.literal('note'),
    text: text(100_000),
    title: text(200).optional(),
    tags: z.array(text(64)).max(16).optional(),
  }),
  z.strictObject({
    kind: z.literal('fact'),
    entity: text(200),
    attribute: text(200),
    value: text(2_000),
  }),
  z.strictObject({
    kind: z.literal('commitment'),
    what: text(2_000),
    who: text(200).default('user'),
    to: text(200).optional(),
    deadline: z.iso.date().optional(),
  }),
])

const output = z.object({ id: z.string(), uri: z.string(), is_new: z.boolean() })

/**
 * `store`: something to be remembered. It is the client's model that writes it, and nobody here knows what that has read:
 * it is never the user's own word, and only with a token for everything more than anybody's (SEC-15).
 */
export function createStoreTool(needs: Pick<McpNeeds, 'memory' | 'timeZone'>, caller: McpCaller): McpTool {
  const { memories, facts, commitments } = needs.memory
  const { userId, scope } = caller
  const origin = { userId, source: 'agent', label: scope === 'owner' ? 'internal' : 'untrusted' } as const

  return defineMcpTool({
    name: 'store',
    title: 'Store',
    description:
      'Remember something for good: a note (text), a fact (entity, attribute, value) or a commitment (what, who, to, deadline). The same thing twice is kept once.',
    scope: 'chat',
    annotations: { readOnlyHint: false, destructiveHint: false, idempotentHint: true, openWorldHint: false },
    input,
    output,
    async run(asked) {
      const parsed = storedThing.safeParse(asked)
      if (!parsed.success) return { refusal: describeIssues(parsed.error, 'arguments') }
      const given = parsed.data
      switch (given.kind) {
        case 'note': {
          const { text: content, title, tags } = given
          const { memory, isNew } = await memories.add({ ...origin, kind: 'note', content, title, tags })
          return stored(memory.id, isNew, isNew ? 'Noted' : 'Known already:')
        }
        case 'fact':
          return await storeFact(given)
        case 'commitment': {
          const { what, who, to: toWhom, deadline } = given
          const due = deadline === undefined ? undefined : dueAt(deadline)
          const { commitment, isNew } = await commitments.add({ ...origin, what, who, toWhom, deadline: due })
          return stored(commitment.id, isNew, isNew ? 'Noted' : 'Known already:')
        }
      }
    },
  })

  /** What is surer, or the user's own, is not replaced from here. */
  async function storeFact({ entity, attribute, value }: { entity: string; attribute: string; value: string }) {
    const written = await facts.write({ ...origin, entity, attribute, value })
    if (written.outcome === 'refused') {
      const { known } = written
      return { refusal: `Not stored: surer is ${citeMemory(known.id)} ${factBeginning(known)}${known.value}.` }
    }
    const isNew = written.outcome !== 'confirmed'
    const words = { added: 'Noted', confirmed: 'Known already:', replaced: 'Changed' }[written.outcome]
    return stored(written.fact.id, isNew, words)
  }

  function dueAt(deadline: string): number | undefined {
    const day = parseDay(deadline)
    return day && endOfDay(day, needs.timeZone)
  }
}

function stored(id: string, isNew: boolean, words: string): McpAnswer<z.infer<typeof output>> {
  return { text: `${words} ${citeMemory(id)}`, data: { id, uri: memoryUri(id), is_new: isNew } }
}
