import type { AssetText } from '../../assets/assets.ts'
import { sha256 } from '../../base/hash.ts'
import { truncateText } from '../../base/text.ts'
import { readBundledText } from '../../base/text-file.ts'
import { estimateTokens, tokenizerName } from '../../base/tokens.ts'
import { confirmationOf } from '../../tools/builtin/slash-command.ts'
import { actorOf, blockPath, labelsOf } from './block-commands.ts'
import {
  type Command,
  type CommandAnswer,
  type CommandCall,
  type CommandProposal,
  done,
  misused,
  never,
  refused,
} from './command.ts'
import type { CommandServices } from './command-services.ts'
import { formatTokens, quoted } from './command-text.ts'
import { sessionHere } from './session-of.ts'
import { squeezeText } from './squeeze-text.ts'

const prompt = readBundledText(new URL('./prompts/compact-block.md', import.meta.url))
const shownBefore = 2_000
const shownAfter = 12_000
/** A summary costs a call: it is kept until the user has answered, or this many newer ones have come. */
const mostKept = 20

interface Draft {
  userId: string
  etag: string
  after: string
  /** How it came about. */
  means: string
}

/** Makes a block or the conversation smaller, and shows what would become of it before anything does (ASSET-5). */
export function createCompactCommand(
  services: Pick<CommandServices, 'conversations' | 'assets' | 'agentOf' | 'askModel'>,
): Command {
  const { conversations, assets, askModel } = services
  /** By the confirmation of the question that showed it: what is written is what was shown, to the letter. */
  const drafts = new Map<string, Draft>()

  const compact: Command = {
    name: 'compact',
    usage: '/compact [LABEL]',
    summary: 'make a block smaller, or the oldest part of this conversation a summary',
    changesForGood: true,
    agentMay: true,
    acts: never,
    complete: ({ userId, sessionId }) => labelsOf(services, { userId, sessionId }),
    run: (call) => (call.argument === '' ? compactConversation(call) : compactBlock(call)),
  }
  return compact

  async function compactConversation(call: CommandCall): Promise<CommandAnswer | CommandProposal> {
    if (call.by === 'agent')
      return misused('The conversation is compacted by itself, or by the user. Name a block.', compact)
    const session = await sessionHere(conversations, call)
    const report = await conversations.contextReport(call.userId, session.id)
    const sum = (blocks: typeof report.blocks) => blocks.reduce((total, block) => total + block.tokens, 0)
    const talk = report.blocks.filter(({ tier }) => tier === 'history' || tier === 'dynamic')
    const now = `${formatTokens(sum(talk))} of ${formatTokens(sum(report.blocks))} tokens in the window are conversation`
    return {
      question: `Summarise the oldest part of ${quoted(session.contact)}? ${now} (${report.tokenizer}); by itself it happens at ${formatTokens(report.thresholdTokens)}. The newest part stays word for word, the model reads a summary of the rest, and the log keeps all of it.`,
      async carryOut() {
        const isDone = await conversations.compact(call.userId, session.id)
        if (!isDone) return refused('There was too little to summarise, or no model that could do it. Nothing changed.')
        const left = await conversations.contextReport(call.userId, session.id)
        return done(
          `The oldest part is a summary now: ${formatTokens(sum(report.blocks))} → ${formatTokens(sum(left.blocks))} tokens.`,
        )
      },
    }
  }

  async function compactBlock(call: CommandCall): Promise<CommandAnswer | CommandProposal> {
    const path = blockPath(call.argument)
    if (!/^(familiar|ikigai):/i.test(path)) return misused('Only blocks are compacted.', compact)
    const actor = await actorOf(services, call)
    const block = await assets.load(actor, { path })
    if (!block.ok) return refused(block.message)
    const kept = call.confirm === undefined ? undefined : drafts.get(call.confirm)
    const isAsShown = kept?.userId === call.userId && kept.etag === block.etag
    const draft = isAsShown ? kept : await draftOf(call, block)
    if ('ok' in draft) return draft
    const question = describe(block, draft)
    keep(confirmationOf(question), draft)
    return {
      question,
      label: block.trust === 'untrusted' ? block.trust : undefined,
      async carryOut() {
        drafts.delete(confirmationOf(question))
        // Whoever writes it, it is still made of the words that were there.
        const writer = { ...actor, author: 'agent' as const, trust: block.trust }
        const written = await assets.write(writer, { path: block.path, content: draft.after, etag: draft.etag })
        if (!written.ok && written.code === 'conflict') return compactBlock({ ...call, confirm: undefined })
        if (!written.ok) return refused(written.message)
        const sizes = `${formatTokens(estimateTokens(block.content))} → ${formatTokens(estimateTokens(draft.after))} tokens`
        return done(`${block.path} is smaller now: ${sizes}. What was there is version ${written.version - 1}.`, {
          isPrivate: true,
        })
      },
    }
  }

  async function draftOf(call: CommandCall, block: AssetText): Promise<Draft | CommandAnswer> {
    const { userId, sessionId, signal } = call
    const { etag, content } = block
    const squeezed = squeezeText(content)
    const answer = await askModel({
      userId,
      sessionId,
      purpose: 'compact_block',
      system: prompt,
      text: content,
      signal,
    })
    if (!answer.ok && answer.reason === 'aborted') return refused('Stopped. Nothing changed.')
    const summary = answer.ok ? answer.text.trim() : ''
    if (summary !== '' && estimateTokens(summary) < estimateTokens(squeezed)) {
      return { userId, etag, after: summary, means: 'summarised by the fast model' }
    }
    const why = answer.ok ? 'the model found nothing shorter' : answer.message
    if (estimateTokens(squeezed) >= estimateTokens(content)) {
      return refused(`${block.path} cannot be made smaller: ${why}, and no line in it is blank or repeated needlessly.`)
    }
    const means = `without a model (${why}): only blank runs and repeated lines are dropped`
    return { userId, etag, after: squeezed, means }
  }

  function keep(confirm: string, draft: Draft): void {
    drafts.delete(confirm)
    drafts.set(confirm, draft)
    for (const oldest of drafts.keys()) {
      if (drafts.size <= mostKept) return
      drafts.delete(oldest)
    }
  }
}

/** The marks at the end stand for both texts whole, whatever is cut of them here. */
function describe({ path, content, etag }: AssetText, { after, means }: Draft): string {
  return [
    `${path}, ${means}.`,
    `Before (${formatTokens(estimateTokens(content))} tokens by ${tokenizerName}):`,
    truncateText(content, shownBefore),
    `After (${formatTokens(estimateTokens(after))} tokens):`,
    truncateText(after, shownAfter),
    `Replace it? [${etag.slice(0, 12)} → ${sha256(after).slice(0, 12)}]`,
  ].join('\n')
}
