import { readBundledText } from '../../base/files.ts'
import { sha256 } from '../../base/ids.ts'
import { formatCount, formatDollars, plural, truncateText } from '../../base/text.ts'
import { estimateTokens, tokenizerName } from '../../base/tokens.ts'
import { setNewest } from '../../base/work.ts'
import { confirmationOf } from '../../tools/builtin/message.ts'
import { formatDue } from '../../tools/builtin/schedule-tools.ts'
import type { AssetText } from '../../tools/files/assets.ts'
import type { ContextReport } from '../conversations.ts'
import type { CostPeriod } from '../costs.ts'
import {
  asks,
  asksUser,
  type Command,
  type CommandAnswer,
  type CommandCall,
  type CommandProposal,
  type CommandServices,
  changesForUser,
  done,
  looks,
  marksOf,
  misused,
  quoted,
  readCount,
  readSessionLog,
  refused,
  saidOf,
  sessionHere,
  tell,
} from './command.ts'
import { actorOf, blockPath, labelsOf } from './memory-commands.ts'

const maxNameLength = 200
const lookedForMarks = 2_000

export function createSessionCommands(services: Pick<CommandServices, 'conversations' | 'timeZone'>): Command[] {
  const { conversations, timeZone } = services

  const mark: Command = {
    name: 'mark',
    usage: '/mark NAME',
    summary: 'set a mark to return to',
    ...changesForUser,
    async run(call) {
      const name = call.argument
      if (name === '') return misused('A mark needs a name, for example before-the-change.', mark)
      if (name.length > maxNameLength) return misused(`A name may have at most ${maxNameLength} characters.`, mark)
      if (readCount(name) !== undefined) return misused('A name cannot be just a number: numbers mean turns.', mark)
      await conversations.mark(call.userId, (await sessionHere(conversations, call)).id, name)
      return done(`Marked. To return here: /rewind ${name}`)
    },
  }

  const rewind: Command = {
    name: 'rewind',
    usage: '/rewind [N | MARK]',
    summary: 'go back by a number of turns (1), or to a mark',
    ...asksUser,
    async complete(call) {
      const session = await sessionHere(conversations, call)
      return marksOf(await readSessionLog(conversations, session, (events) => events.length >= lookedForMarks))
    },
    async run(call) {
      const { userId, argument } = call
      const session = await sessionHere(conversations, call)
      const turns = argument === '' ? 1 : readCount(argument)
      if (turns === undefined) {
        const marks = marksOf(
          await readSessionLog(conversations, session, (events) => marksOf(events).includes(argument)),
        )
        if (!marks.includes(argument)) return misused(`There is no mark named ${quoted(argument)}.`, rewind)
      }
      const events = await readSessionLog(conversations, session, (found) => turnStarts(found).length > (turns ?? 1))
      const starts = turnStarts(events)
      if (turns !== undefined && turns > starts.length) {
        return misused(`Cannot go back ${plural(turns, 'turn')}; there are ${starts.length}.`, rewind)
      }
      const first = turns === undefined ? undefined : starts.at(-turns)
      const last = starts.at(-1)
      const to = first
        ? `${plural(turns ?? 1, 'turn')}, to before ${quoted(first.text)} of ${formatDue(first.at, timeZone)}`
        : `to the mark ${quoted(argument)}`
      const here = `${quoted(session.contact)} (${plural(session.lastSeq, 'event')})`
      const newest = last ? ` The newest is ${quoted(last.text)}.` : ''
      return {
        question: `Go back in ${here} ${to}?${newest} Later messages are no longer sent to the model; the log keeps them.`,
        async carryOut() {
          await conversations.rewind(userId, session.id, turns === undefined ? { mark: argument } : { turns })
          return done(turns === undefined ? `Back at ${argument}.` : `Went back ${plural(turns, 'turn')}.`)
        },
      }
    },
  }

  const fork: Command = {
    name: 'fork',
    usage: '/fork [NAME]',
    summary: 'continue in a copy of the session',
    ...changesForUser,
    async run(call) {
      const session = await sessionHere(conversations, call)
      const name = call.argument || copyName(session.contact, await conversations.sessions(call.userId))
      if (name.length > maxNameLength) return misused(`A name may have at most ${maxNameLength} characters.`, fork)
      const forked = await conversations.fork(call.userId, session.id, name)
      const text = `You are in ${forked.contact} now. The previous session is unchanged.`
      return done(text, { goesOnIn: forked.id })
    },
  }

  const stop: Command = {
    name: 'stop',
    usage: '/stop',
    summary: 'stop the running reply',
    ...changesForUser,
    async run(call) {
      const session = await sessionHere(conversations, call)
      return done((await conversations.stop(call.userId, session.id)) ? 'Stopping.' : 'Nothing is running.')
    },
  }

  const reset: Command = {
    name: 'reset',
    usage: '/reset',
    summary: 'archive this conversation and start a new one',
    ...asksUser,
    async run(call) {
      const session = await sessionHere(conversations, call)
      const { id, contact, lastSeq } = session
      if (session.state === 'archived') return misused('The session is already archived.', reset)
      const size = `${plural(lastSeq, 'event')} up to ${formatDue(session.updatedAt, timeZone)}`
      return {
        question: `Archive ${quoted(contact)} (${size}) and start a new conversation? Nothing is deleted. Archived conversations do not reopen by themselves.`,
        async carryOut() {
          await conversations.reset(call.userId, { sessionId: id })
          return done(`Archived as ${id}. The next message starts a new session.`, { goesOnIn: contact })
        },
      }
    },
  }
  return [mark, rewind, fork, stop, reset]
}

/** A name that no other session has: `trip copy`, `trip copy 2`, … */
function copyName(contact: string, sessions: readonly { contact: string }[]): string {
  const taken = new Set(sessions.map((session) => session.contact))
  const base = `${contact.replace(/ copy(?: \d+)?$/, '').slice(0, maxNameLength - 12)} copy`
  let name = base
  for (let count = 2; taken.has(name); count += 1) name = `${base} ${count}`
  return name
}

/** The first that the user said in each turn, oldest first. */
function turnStarts(events: Parameters<typeof saidOf>[0]) {
  const said = saidOf(events).filter(({ who, turnId }) => who === 'user' && turnId !== null)
  return said.filter(({ turnId }, at) => said.findIndex((other) => other.turnId === turnId) === at)
}

/** The text without what says nothing twice: runs of blank lines, spaces at line ends, and lines that came before. */
export function squeezeText(text: string): string {
  const seen = new Set<string>()
  const kept: string[] = []
  for (const line of text.replaceAll('\r\n', '\n').split('\n')) {
    const bare = line.trim()
    if (bare === '') {
      if (kept.length > 0 && kept.at(-1) !== '') kept.push('')
      continue
    }
    // A bracket or a rule by itself is part of a form, and no repetition.
    const isWorded = /[\p{L}\p{N}]/u.test(bare)
    if (isWorded && seen.has(bare)) continue
    seen.add(bare)
    kept.push(line.trimEnd())
  }
  return kept.join('\n').trim()
}

const prompt = readBundledText(new URL('../prompts/compact-block.md', import.meta.url))
const shownBefore = 2_000
const shownAfter = 12_000
/** A summary costs a call: it is kept until the user has answered, or this many newer ones have come. */
const maxKept = 20

interface Draft {
  userId: string
  etag: string
  after: string
  means: string
}

/** Makes a block or the conversation smaller, and shows what would become of it before anything does (ASSET-5). */
export function createCompactCommand(
  services: Pick<CommandServices, 'conversations' | 'assets' | 'agentOf' | 'askModel'>,
): Command {
  const { conversations, assets, askModel } = services
  /** By the confirmation of the question that showed it: exactly the shown text is written. */
  const drafts = new Map<string, Draft>()

  const compact: Command = {
    name: 'compact',
    usage: '/compact [LABEL]',
    summary: 'shorten a block, or summarize the oldest part of this conversation',
    ...asks,
    complete: ({ userId, sessionId }) => labelsOf(services, { userId, sessionId }),
    run: (call) => (call.argument === '' ? compactConversation(call) : compactBlock(call)),
  }
  return compact

  async function compactConversation(call: CommandCall): Promise<CommandAnswer | CommandProposal> {
    if (call.by === 'agent') return misused('Name a block. Only the user can compact the conversation.', compact)
    const session = await sessionHere(conversations, call)
    const report = await conversations.contextReport(call.userId, session.id)
    const sum = (blocks: typeof report.blocks) => blocks.reduce((total, block) => total + block.tokens, 0)
    const talk = report.blocks.filter(({ tier }) => tier === 'history' || tier === 'dynamic')
    const now = `${formatCount(sum(talk))} of ${formatCount(sum(report.blocks))} tokens in the window are conversation`
    return {
      question: `Summarize the oldest part of ${quoted(session.contact)}? ${now} (${report.tokenizer}). This happens automatically at ${formatCount(report.thresholdTokens)}. The newest part is kept in full, the model reads a summary of the rest, and the log keeps everything.`,
      async carryOut() {
        const isDone = await conversations.compact(call.userId, session.id)
        if (!isDone) return refused('Nothing changed: there was too little to summarize, or no model was available.')
        const left = await conversations.contextReport(call.userId, session.id)
        return done(
          `The oldest part is now a summary: ${formatCount(sum(report.blocks))} → ${formatCount(sum(left.blocks))} tokens.`,
        )
      },
    }
  }

  async function compactBlock(call: CommandCall): Promise<CommandAnswer | CommandProposal> {
    const path = blockPath(call.argument)
    if (!/^(familiar|ikigai):/i.test(path)) return misused('Only blocks can be compacted.', compact)
    const actor = await actorOf(services, call)
    const block = await assets.load(actor, { path })
    if (!block.ok) return refused(block.message)
    const kept = call.confirm === undefined ? undefined : drafts.get(call.confirm)
    const isAsShown = kept?.userId === call.userId && kept.etag === block.etag
    const draft = isAsShown ? kept : await draftOf(call, block)
    if ('ok' in draft) return draft
    const question = describe(block, draft)
    setNewest(drafts, confirmationOf(question), draft, maxKept)
    return {
      question,
      label: block.trust === 'untrusted' ? block.trust : undefined,
      async carryOut() {
        drafts.delete(confirmationOf(question))
        // The block keeps its trust, because the new text is derived from the old one.
        const writer = { ...actor, author: 'agent' as const, trust: block.trust }
        const written = await assets.write(writer, { path: block.path, content: draft.after, etag: draft.etag })
        if (!written.ok && written.code === 'conflict') return compactBlock({ ...call, confirm: undefined })
        if (!written.ok) return refused(written.message)
        const sizes = `${formatCount(estimateTokens(block.content))} → ${formatCount(estimateTokens(draft.after))} tokens`
        return tell(`${block.path} is smaller now: ${sizes}. The previous text is version ${written.version - 1}.`)
      },
    }
  }

  async function draftOf(call: CommandCall, block: AssetText): Promise<Draft | CommandAnswer> {
    const { userId, sessionId, signal } = call
    const { etag, content } = block
    const squeezed = squeezeText(content)
    const asked = { userId, sessionId, purpose: 'compact_block', system: prompt, text: content, signal }
    const answer = await askModel(asked)
    if (!answer.ok && answer.reason === 'aborted') return refused('Stopped. Nothing changed.')
    const summary = answer.ok ? answer.text.trim() : ''
    if (summary !== '' && estimateTokens(summary) < estimateTokens(squeezed)) {
      return { userId, etag, after: summary, means: 'summarized by the fast model' }
    }
    const why = answer.ok ? 'the model found nothing shorter' : answer.message
    if (estimateTokens(squeezed) >= estimateTokens(content)) {
      return refused(`${block.path} cannot be shortened: ${why}, and it has no blank or repeated lines.`)
    }
    const means = `without a model (${why}): only blank runs and repeated lines are dropped`
    return { userId, etag, after: squeezed, means }
  }
}

/** The hashes at the end identify both texts completely, even if they are shortened here. */
function describe({ path, content, etag }: AssetText, { after, means }: Draft): string {
  return [
    `${path}, ${means}.`,
    `Before (${formatCount(estimateTokens(content))} tokens by ${tokenizerName}):`,
    truncateText(content, shownBefore),
    `After (${formatCount(estimateTokens(after))} tokens):`,
    truncateText(after, shownAfter),
    `Replace it? [${etag.slice(0, 12)} → ${sha256(after).slice(0, 12)}]`,
  ].join('\n')
}

const barWidth = 30

/** One bar per block for its share: filled for cached tokens, light for tokens that are read again. */
function describeContext(report: ContextReport): string {
  const { blocks, lastRequestTokens, thresholdTokens } = report
  const sum = (some: ContextReport['blocks']) => some.reduce((total, { tokens }) => total + tokens, 0)
  const total = sum(blocks)
  const rows = blocks.map(({ name, tier, tokens, cached }) => {
    const share = total === 0 ? 0 : tokens / total
    const bar = (cached ? '█' : '░').repeat(Math.max(1, Math.round(share * barWidth)))
    return [name, tier, formatCount(tokens), cached ? 'cached' : 'fresh', `${bar} ${Math.round(share * 100)}%`]
  })
  const widths = [0, 1, 2, 3].map((column) => Math.max(0, ...rows.map((row) => row[column]?.length ?? 0)))
  const cached = sum(blocks.filter((block) => block.cached))
  return [
    ...rows.map((row) => row.map((cell, at) => cell.padEnd(widths[at] ?? 0)).join('  ')),
    `${formatCount(total)} tokens (${report.tokenizer}), of which ${formatCount(cached)} cached.`,
    lastRequestTokens === null
      ? 'No request has been sent yet.'
      : `The last request had ${formatCount(lastRequestTokens)} tokens by the provider's count.`,
    `The oldest part is summarized at ${formatCount(thresholdTokens)} tokens.`,
  ].join('\n')
}

const periods: readonly CostPeriod[] = ['today', 'week', 'month', 'all']

export function createLookCommands(
  services: Pick<CommandServices, 'conversations' | 'costReport' | 'pinned' | 'skills'>,
): Command[] {
  const { conversations } = services

  const context: Command = {
    name: 'context',
    usage: '/context',
    summary: 'show how the context window is used',
    ...looks,
    async run(call) {
      const session = await sessionHere(conversations, call)
      return done(describeContext(await conversations.contextReport(call.userId, session.id)))
    },
  }

  const refresh: Command = {
    name: 'refresh',
    usage: '/refresh',
    summary: 'reload the files and blocks of the prompt',
    ...looks,
    async run(call) {
      // The files are looked at before every message by themselves.
      await Promise.all([services.skills.reload(), services.pinned.refresh(call.userId)])
      if (call.sessionId === null) return done('Reloaded. Takes effect with the next message.')
      const session = await sessionHere(conversations, call)
      const { blocks } = await conversations.contextReport(call.userId, session.id)
      const read = blocks.filter(({ name, tier }) => name !== 'tools' && (tier === 'stable' || tier === 'semi_stable'))
      const lines = read.map(({ name, tokens }) => `${name} (${formatCount(tokens)} tokens)`)
      return done(`Reloaded. Takes effect with the next message:\n${lines.join('\n')}`)
    },
  }

  const cost: Command = {
    name: 'cost',
    usage: `/cost [${periods.join(' | ')}]`,
    summary: 'show the cost of the models',
    ...looks,
    complete: async () => periods,
    async run({ userId, argument }) {
      const period = periods.find((one) => one === (argument.toLowerCase() || 'today'))
      if (!period) return misused('Unknown period.', cost)
      const report = await services.costReport(userId, period)
      const unpriced = report.unpricedCalls > 0 ? `, ${report.unpricedCalls} of them without a price` : ''
      const estimated = report.estimatedCalls > 0 ? `, ${report.estimatedCalls} estimated` : ''
      const lines = report.byModel.map(({ model, calls, costUsd }) => `${model}: ${formatDollars(costUsd)} in ${calls}`)
      const total = `${formatDollars(report.totalUsd)} in ${plural(report.calls, 'model call')}${unpriced}${estimated} (${period})`
      return done([total, ...(lines.length > 1 ? lines : [])].join('\n'))
    },
  }
  return [context, refresh, cost]
}
