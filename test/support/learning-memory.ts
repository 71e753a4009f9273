import { mkdtempSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createIds } from '../../src/base/ids.ts'
import type { Logger } from '../../src/base/logger.ts'
import { createCommitments } from '../../src/memory/commitments.ts'
import { createEpisodes } from '../../src/memory/episodes.ts'
import { createFacts } from '../../src/memory/facts.ts'
import { createGraph } from '../../src/memory/graph.ts'
import type { AskModel, ModelAnswer } from '../../src/memory/learning/ask-model.ts'
import type { Exchange, ExchangeLine } from '../../src/memory/learning/exchange.ts'
import { createMemories } from '../../src/memory/memories.ts'
import { createAliases } from '../../src/memory/names.ts'
import { createManualClock } from './manual-clock.ts'
import { openTestDatabase } from './open-test-database.ts'

/** A real database with two users and every store that learning writes to. */
export async function openLearningMemory(options: { home?: string; url?: string | undefined } = {}) {
  const home = options.home ?? mkdtempSync(join(tmpdir(), 'familiar-learning-'))
  const clock = createManualClock()
  const ids = createIds(clock)
  const database = await openTestDatabase({ directory: home, url: options.url, clock })
  await database.write(async (writer) => {
    const users = ['max', 'eve'].map((id) => ({ id, name: id, role: 'user' as const, created_at: clock.now() }))
    await writer
      .insertInto('users')
      .values(users)
      .onConflict((conflict) => conflict.doNothing())
      .execute()
  })
  const memories = createMemories({ database, clock, ids })
  const warnings: string[] = []
  const keep = (message: string, fields?: Readonly<Record<string, unknown>>) =>
    void warnings.push(`${message} ${JSON.stringify(fields ?? {})}`)
  const logger: Logger = { debug() {}, info() {}, warn: keep, error: keep }
  return {
    home,
    clock,
    ids,
    database,
    memories,
    facts: createFacts({ database, clock, memories }),
    commitments: createCommitments({ database, clock, ids, memories }),
    episodes: createEpisodes({ database, memories }),
    aliases: createAliases({ database }),
    graph: createGraph({ database, clock }),
    logger,
    warnings,
    timeZone: 'UTC',
    /** The user's memories by kind, as text, oldest first. */
    async contents(userId: string, kind: 'note' | 'fact' | 'episode' | 'commitment' | 'chunk') {
      const rows = await database.read
        .selectFrom('memories')
        .select('content')
        .where('user_id', '=', userId)
        .where('kind', '=', kind)
        .orderBy('number')
        .execute()
      return rows.map((row) => row.content)
    },
    /** Everything that could differ after a second run, as one value. */
    async everything() {
      const tables = ['memories', 'facts', 'episodes', 'commitments', 'entity_aliases', 'memory_edges'] as const
      return Promise.all(tables.map((table) => database.read.selectFrom(table).selectAll().execute()))
    },
    async close({ keep: stays = false } = {}) {
      await database.close()
      if (!stays) await rm(home, { recursive: true, force: true })
    },
  }
}

export type LearningMemory = Awaited<ReturnType<typeof openLearningMemory>>

/** A model that answers in order, the last answer again and again, and keeps what it was asked. */
export function scriptedAnswers(...answers: (string | ModelAnswer | ((text: string) => string))[]) {
  const asked: { purpose: string; system: string; text: string }[] = []
  const askModel: AskModel = async ({ purpose, system, text }) => {
    const answer = answers[Math.min(asked.push({ purpose, system, text }), answers.length) - 1]
    if (answer === undefined) return { ok: false, reason: 'failed', message: 'the script is at its end' }
    if (typeof answer === 'function') return { ok: true, text: answer(text) }
    return typeof answer === 'string' ? { ok: true, text: answer } : answer
  }
  return { askModel, asked }
}

export const noModel: ModelAnswer = { ok: false, reason: 'no_model', message: 'No language model is configured' }

/**
 * The messages, one per line: with `user:` or `assistant:` before each. Each turn takes ten sequence numbers of the
 * log.
 */
export function exchange(number: number, at: number, ...said: string[]): Exchange {
  const lines = said.map((line, index): ExchangeLine => {
    const speaker = line.startsWith('assistant:') ? 'assistant' : 'user'
    return { speaker, text: line.replace(/^(?:user|assistant):\s*/, ''), at: at + index, seq: number * 10 - 9 + index }
  })
  return { sessionId: 'session', turnId: `turn-${number}`, at, throughSeq: number * 10, lines, untrusted: false }
}
