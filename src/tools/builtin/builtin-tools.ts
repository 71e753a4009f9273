import { z } from 'zod'
import { endOfDay, parseDay } from '../../base/clock.ts'
import { sha256 } from '../../base/ids.ts'
import type { Commitment } from '../../memory/commitments.ts'
import type { ChangedBy, CorrectionOutcome, MemoryChange } from '../../memory/corrections.ts'
import { readDates, readDeadline } from '../../memory/dates.ts'
import { factBeginning, type WrittenFact } from '../../memory/facts.ts'
import { synthesisStyles } from '../../memory/learning/deep-recall.ts'
import { isGateQuestion } from '../../memory/learning/gate-questions.ts'
import { readPlainStatements } from '../../memory/learning/plain-statements.ts'
import type { Memory, MemoryFilter } from '../../memory/memory.ts'
import { attributeKey } from '../../memory/words.ts'
import { askInputSchema, choicesIn } from '../../protocol/choices.ts'
import { FamiliarError } from '../../protocol/errors.ts'
import type { Json } from '../../protocol/messages.ts'
import { defineTool, failed, succeeded, type Tool, type ToolContext, type ToolOutcome } from '../tool.ts'
import { createCalculate } from './calculate.ts'
import {
  agrees,
  authorOf,
  consentToEdit,
  consentToUndo,
  createMemoryForget,
  editQuestion,
  factQuestion,
  refuseAndAsk,
  tells,
} from './memory-forget.ts'
import {
  citeMemory,
  createHistoryOpen,
  createMemoryQuery,
  type FoundMemory,
  formatDate,
  type MemoryNeeds,
  noSuchMemory,
  type OpenHistory,
  readMemoryId,
  renderMemories,
  renderMemory,
  showCommitment,
  showMemories,
  tellMemories,
  toShownMemory,
  withPassage,
} from './memory-query.ts'
import { createMessage, type MessageUser } from './message.ts'

/** All built-in tools except `find_tools`, which needs the registry that contains these. */
export function createBuiltinTools(
  needs: MemoryNeeds & {
    /** Uptime, model, today's cost, tokens and session as text, for the user of the context only. */
    describeStatus(context: ToolContext): Promise<string>
    openHistory: OpenHistory
    messageUser?: MessageUser | undefined
  },
): Tool[] {
  return [
    askUser,
    createCalculate(needs),
    createCommitmentUpdate(needs),
    createDeepMemory(needs),
    createHistoryOpen(needs),
    createMemoryEdit(needs),
    createMemoryForget(needs),
    createMemoryGet(needs),
    createMemoryQuery(needs),
    createMemoryUndo(needs),
    createMemoryWrite(needs),
    createMessage(needs),
    react,
    reason,
    createRecallMemory(needs),
    defineTool({
      name: 'session_status',
      description: 'Uptime, model, cost, tokens, session.',
      input: z.object({}),
      effect: 'idempotent',
      core: true,
      run: async (_input, context) => succeeded(await needs.describeStatus(context)),
    }),
    createStoreMemory(needs),
  ]
}

const askUser = defineTool({
  name: 'ask_user',
  description: 'Ask the user and wait for the answer. Only when you cannot continue without it.',
  input: askInputSchema,
  effect: 'idempotent',
  core: true,
  async run(input) {
    const choices = choicesIn(input)
    return { text: 'The user was asked.', isError: false, question: input.question, ...(choices && { choices }) }
  },
})

function createCommitmentUpdate({ commitments, clock, timeZone }: MemoryNeeds): Tool {
  return defineTool({
    name: 'commitment_update',
    description:
      'Close or change a promise, debt or task by its id; or add one: who owes what to whom ("user" for the user). deadline: a date, or none.',
    input: z.object({
      id: z.string().optional(),
      state: z.enum(['open', 'done', 'cancelled']).optional(),
      deadline: z.string().optional(),
      who: z.string().optional(),
      what: z.string().optional(),
      to: z.string().optional(),
    }),
    effect: 'idempotent',
    async run({ id, state, deadline, who, what, to }, context) {
      const { userId, sessionId, turnId } = context
      const due = deadline === undefined ? undefined : readDue(deadline)
      if (id !== undefined) {
        const change = { ...(state && { state }), ...(due !== undefined && { deadline: due }) }
        const updated = await commitments.update(userId, readMemoryId(id), change)
        return updated ? tellMemories(render(updated), [updated]) : failed(noSuchMemory(id))
      }
      if (who === undefined || what === undefined) return failed('Give the id of a commitment, or who owes what.')
      const written = context.seen.untrusted ? [who, to ?? '', what].join(' ') : what
      const origin = { userId, sessionId, turnId, ...authorOf(written, context) }
      const added = await commitments.add({ ...origin, who, what, toWhom: to, deadline: due ?? undefined })
      const known = added.isNew && state && state !== 'open'
      const updated = known ? await commitments.update(userId, added.commitment.id, { state }) : undefined
      const commitment = updated ?? added.commitment
      return tellMemories(`${added.isNew ? 'Noted' : 'Known'} ${render(commitment)}`, [commitment])
    },
  })

  function readDue(text: string): number | null {
    if (['', 'none', 'null', 'no'].includes(text.trim().toLowerCase())) return null
    const day = parseDay(text) ?? readDeadline(text.trim(), clock.now(), timeZone)?.day
    if (!day) throw new FamiliarError('bad_request', 'The deadline could not be read. Write it as 2026-11-30.')
    return endOfDay(day, timeZone)
  }

  function render(commitment: Commitment): string {
    return renderMemory(showCommitment(commitment, timeZone), timeZone)
  }
}

const looked = 20

function createDeepMemory(needs: MemoryNeeds): Tool {
  const { memories, deepRecall, timeZone } = needs
  return defineTool({
    name: 'deep_memory',
    description:
      'Search memory thoroughly: asks in several ways, follows links, summarizes. Slow; use it when recall_memory is not enough.',
    input: z.object({ question: z.string().trim().min(1), style: z.enum(synthesisStyles).optional() }),
    effect: 'idempotent',
    async run({ question, style = 'factual' }, { userId, sessionId, signal, progress }) {
      const onProgress = (step: object) => progress({ ...step } as Json)
      const answer = await deepRecall({ userId, sessionId, question, limit: looked, style, signal, onProgress })
      const found = answer.memories.map(({ memory }) => memory)
      if (found.length === 0) return succeeded('Nothing found.')
      const ids = found.map(({ id }) => id)
      await memories.used(userId, ids)
      const { synthesis } = answer
      const text =
        synthesis.style === 'structured'
          ? renderMemories(await showMemories(needs, userId, found), question, timeZone)
          : `${synthesis.text}\nFrom: ${ids.map(citeMemory).join(' ')}`
      const notes = [answer.note, synthesis.note].filter((note) => note !== undefined)
      return tellMemories([text, ...new Set(notes)].join('\n'), found)
    },
  })
}

interface Change {
  by: ChangedBy
  label?: 'untrusted'
}

/** The user's own memories change only on their request. Repetitions of a memory are corrected with it. */
function createMemoryEdit(needs: MemoryNeeds): Tool {
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
      if (edited === memory.content) return succeeded(`It already has this text ${citeMemory(memory.id)}`)
      const by = consentToEdit(context, memory, { content, timeZone }) ? 'user' : 'agent'
      const repetitions = await repetitionsOf(memory, context)
      const change: Change = { by, ...(by === 'agent' && context.seen.untrusted && { label: 'untrusted' as const }) }
      const outcome = await edit(memory, edited, change)
      if (!outcome.ok && outcome.reason === 'not_found') return failed(noSuchMemory(id))
      if (!outcome.ok) {
        const refusal = `Not changed: ${citeMemory(memory.id)} is the user's own; only they can change it.`
        return refuseAndAsk(refusal, editQuestion(memory, { content, timeZone }), context)
      }
      const changed = [memory]
      for (const other of repetitions) {
        const repeated = await contentFor(other, content)
        const also = repeated === undefined ? undefined : await edit(other, repeated, change)
        if (also?.ok) changed.push(also.memory)
      }
      const cited = changed.map((each) => citeMemory(each.id)).join(' ')
      return succeeded(`Changed ${cited}. memory_undo reverts it for 30 days.`)
    },
  })

  async function repetitionsOf(memory: Memory, { userId, signal }: ToolContext): Promise<Memory[]> {
    const found = await recall.recall({ userId, text: memory.content, limit: looked, kinds: ['note', 'fact'], signal })
    return found.map((recalled) => recalled.memory).filter((other) => other.id !== memory.id && tells(memory, other))
  }

  /** An edit by a model that has seen untrusted content is untrusted from then on. */
  function edit({ userId, id }: Memory, content: string, { by, label }: Change): Promise<CorrectionOutcome> {
    return corrections.edit(userId, id, { content, ...(label && { label }) }, by)
  }

  /** A fact's text has a fixed form: its new value is read from a plain sentence. Undefined if there is none. */
  async function contentFor(memory: Memory, content: string): Promise<string | undefined> {
    const fact = memory.kind === 'fact' ? await needs.facts.get(memory.userId, memory.id) : undefined
    if (!fact || content.startsWith(factBeginning(fact, content))) return content
    const { facts } = readPlainStatements(content, needs.clock.now(), timeZone)
    const stated = facts.find(({ attribute }) => attributeKey(attribute) === attributeKey(fact.attribute))
    return stated && `${factBeginning(fact)}${stated.value}`
  }
}

const pageCharacters = 2_500

function createMemoryGet(needs: MemoryNeeds): Tool {
  const { memories, timeZone } = needs
  return defineTool({
    name: 'memory_get',
    description: 'Read one memory in full by its id. A long one comes in pages: pass the offset that it states.',
    input: z.object({ id: z.string().min(1), offset: z.int().min(0).default(0) }),
    effect: 'idempotent',
    async run({ id, offset }, { userId }) {
      const memory = await memories.get(userId, readMemoryId(id))
      if (!memory) return failed(noSuchMemory(id))
      await memories.used(userId, [memory.id])
      const [shown] = await showMemories(needs, userId, [memory])
      const end = offset + pageCharacters
      const page = memory.content.slice(offset, end).toWellFormed()
      const text = shown ? renderMemory({ ...shown, text: page }, timeZone) : ''
      if (end >= memory.content.length) return tellMemories(text, [memory])
      return tellMemories(`${text}\n[${memory.content.length - end} more characters: offset ${end}]`, [memory])
    },
  })
}

const shownCharacters = 500
const lastChanges = 20
const oneChangeMs = 1_000

/** Changes that the user requested are undone only on their request. */
function createMemoryUndo({ corrections, timeZone }: MemoryNeeds): Tool {
  return defineTool({
    name: 'memory_undo',
    description: 'Undo the newest change to a memory: restore a deleted or edited one.',
    input: z.object({}),
    // A second run would undo an earlier change.
    effect: 'at-most-once',
    async run(_input, context) {
      const [newest, ...earlier] = await corrections.changes(context.userId, lastChanges)
      if (!newest) return failed('There is no change that can be undone.')
      if (newest.madeBy === 'user' && !consentToUndo(context)) {
        return failed('The user requested this change and has not asked to undo it.')
      }
      const undone = await corrections.undo(context.userId, newest.id)
      if (!undone) return failed('That change can no longer be undone.')
      // Repetitions of a memory are changed at the same moment; all of them are undone together.
      const belongs = ({ action, madeBy, at }: MemoryChange) =>
        action === newest.action && madeBy === newest.madeBy && Math.abs(newest.at - at) <= oneChangeMs
      for (const change of earlier.filter(belongs)) await corrections.undo(context.userId, change.id)
      const shown = toShownMemory(undone.before)
      const text = renderMemory({ ...shown, text: shown.text.slice(0, shownCharacters).toWellFormed() }, timeZone)
      return tellMemories(`${undone.action === 'forgotten' ? 'Brought back' : 'As before'}:\n${text}`, [shown])
    },
  })
}

type RefusedFact = Extract<WrittenFact, { outcome: 'refused' }>

/** A more certain fact, or the user's own, is not replaced: the user is asked. */
function createMemoryWrite({ facts, timeZone }: MemoryNeeds): Tool {
  return defineTool({
    name: 'memory_write',
    description: 'Write one fact: entity ("user" for the user), attribute and value.',
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
      const written = await facts.write({ ...fact, ...origin, ...authorOf(wordsOf(fact, context), context) })
      if (written.outcome !== 'refused') return tell(written)
      if (!agrees(context, factQuestion(written.known, fact.value))) return refuse(written, fact.value, context)
      const agreed = await facts.write({ ...fact, ...origin, source: 'user', confidence: 1 })
      return agreed.outcome === 'refused' ? refuse(agreed, fact.value, context) : tell(agreed)
    },
  })

  function refuse({ known, label }: RefusedFact, value: string, { userText }: ToolContext): ToolOutcome {
    const refusal = `Not written, a more certain fact exists: ${citeMemory(known.id)} ${factBeginning(known)}${known.value}.`
    if (userText.trim() === '') return { ...tellMemories(refusal, [{ label }]), isError: true }
    return { ...tellMemories(`${refusal} The user has been asked.`, [{ label }]), question: factQuestion(known, value) }
  }

  function tell(written: Exclude<WrittenFact, RefusedFact>): ToolOutcome {
    const { fact } = written
    const text = `${citeMemory(fact.id)} ${factBeginning(fact)}${fact.value}`
    if (written.outcome === 'confirmed') {
      return tellMemories(`Known since ${formatDate(fact.validFrom, timeZone)} ${text}`, [])
    }
    if (written.outcome === 'added') return tellMemories(`Noted ${text}`, [])
    return tellMemories(`Changed ${text} (was ${written.old.value})`, [{ label: written.label }])
  }
}

/** Usually the attribute is the model's own word; after untrusted content it counts too. */
function wordsOf(fact: { entity: string; attribute: string; value: string }, { seen }: ToolContext): string {
  return [fact.entity, ...(seen.untrusted ? [fact.attribute] : []), fact.value].join(' ')
}

export const react = defineTool({
  name: 'react',
  description: 'React to the user’s message with one emoji.',
  input: z.object({ emoji: z.string().trim().min(1).max(40) }),
  effect: 'idempotent',
  async run({ emoji }) {
    // The fully qualified emoji: "❤" means "❤️".
    const reaction = [emoji, `${emoji}\ufe0f`].find((candidate) => /^\p{RGI_Emoji}$/v.test(candidate))
    if (reaction === undefined) return failed('emoji: must be exactly one emoji, such as 👍')
    return { text: 'Done.', isError: false, reaction }
  },
})

/** Lets models without reasoning think step by step. It changes nothing; the thought stays in the log. */
export const reason = defineTool({
  name: 'reason',
  description: 'Think through a hard problem step by step before you act. It has no other effect.',
  input: z.object({ thought: z.string().min(1) }),
  effect: 'idempotent',
  run: async () => succeeded('Go on.'),
})

const input = z.object({
  query: z.string(),
  limit: z.int().min(1).max(20).default(5),
  tag: z.string().optional(),
  kind: z.enum(['note', 'fact', 'episode', 'commitment', 'chunk']).optional(),
  from: z.string().optional().describe('a day: 2026-05-03'),
  until: z.string().optional(),
})

function createRecallMemory(needs: MemoryNeeds): Tool {
  const { memories, recall, clock, timeZone } = needs

  /** Notes first; if there are none, all kinds. */
  async function listNewest(userId: string, { limit, kind }: z.output<typeof input>, filter: MemoryFilter) {
    const listed = await memories.list(userId, { limit, kinds: [kind ?? 'note'], filter })
    const found = listed.length > 0 || kind ? listed : await memories.list(userId, { limit, filter })
    return found.filter((memory) => !isGateQuestion(memory))
  }

  function filterOf({ tag, from, until }: z.output<typeof input>): MemoryFilter | undefined {
    const [first, last] = [from, until].map((day) => day && readDates(day, clock.now(), timeZone))
    if ((from && !first) || (until && !last)) return undefined
    return { tag: tag || undefined, from: first ? first.from : undefined, until: last ? last.until : undefined }
  }

  return defineTool({
    name: 'recall_memory',
    description: 'Search the notes about the user. Cite as [memory:ID]. An empty query lists the newest.',
    input,
    effect: 'idempotent',
    core: true,
    aliases: ['memory_search'],
    async run(asked, { userId, signal }) {
      const { query, limit, kind } = asked
      const filter = filterOf(asked)
      if (!filter) return failed('"from" or "until" is not a valid day. Write it as 2026-05-03.')
      const isList = query.trim() === ''
      const kinds = kind && [kind]
      const found: FoundMemory[] = isList
        ? await listNewest(userId, asked, filter)
        : (await recall.recall({ userId, text: query, limit, kinds, filter, signal })).map(withPassage)
      if (found.length === 0) return succeeded('Nothing noted.')
      const ids = found.map(({ id }) => id)
      if (!isList) await memories.used(userId, ids)
      const shown = await showMemories(needs, userId, found)
      return tellMemories(renderMemories(shown, query, timeZone), shown)
    },
  })
}

function createStoreMemory({ memories, timeZone }: MemoryNeeds): Tool {
  return defineTool({
    name: 'store_memory',
    description:
      'Save a lasting fact, wish or instruction of the user, in their words. Not for things that matter only now.',
    input: z.object({
      content: z.string().min(1),
      title: z.string().optional(),
      category: z.string().optional(),
      tags: z.array(z.string()).optional(),
      tier: z.enum(['short_term', 'long_term']).optional(),
    }),
    effect: 'idempotent',
    core: true,
    aliases: ['save_memory'],
    async run(input, context) {
      const { userId, sessionId, turnId, callId } = context
      // The same call always makes the same note. Providers guarantee unique call ids only within one response.
      const id = sha256(JSON.stringify([userId, sessionId, turnId, callId])).slice(0, 16)
      const { content, title = '', category = '', tags = [] } = input
      // Only the note's text unless untrusted content could have written the rest.
      const written = context.seen.untrusted ? [content, title, category, ...tags].join(' ') : content
      const origin = authorOf(written, context)
      const added = await memories.add({ ...input, ...origin, kind: 'note', userId, sessionId, turnId, id })
      const { memory } = added
      // A call repeated after a crash finds its own note: that is not a repetition.
      const isOwn = added.isNew || memory.id === id
      const text = isOwn ? 'Noted' : `Known since ${formatDate(memory.createdAt, timeZone)}`
      // The stored text is now in view, whatever its source.
      return tellMemories(`${text} ${citeMemory(memory.id)}`, [memory])
    },
  })
}
