import type { Logger } from '../../../base/logger.ts'
import { createTurnstile, type Turnstile } from '../../../base/turnstile.ts'
import type { Embedder } from '../../../memory/embedding/embedder.ts'
import type { Database } from '../../../storage/database.ts'
import { closenessOf } from '../../tool-meaning.ts'
import type { CapabilityVectors } from './capability-vectors.ts'
import type { CapabilityCatalog } from './catalog.ts'
import { createMeaningJob } from './meaning-job.ts'
import { duplicateFrom } from './meaning-scale.ts'
import type { CapabilitySearch, FoundCapability } from './search.ts'
import { serves } from './serves.ts'
import { createUserIndex, type UserIndex } from './user-index.ts'
import type { VectorTable } from './vector-table.ts'
import { wordsOf } from './word-index.ts'

export interface OpenCapabilitySearch extends CapabilitySearch {
  /** Fills the indexes of all users, and begins to give vectors to what has none. Without it the first search does. */
  start(): Promise<void>
  /** When what is there now has been read and embedded as far as it can be. */
  settled(): Promise<void>
  close(): Promise<void>
}

/** How many of each kind are looked at together. */
const mostCandidates = 60
/** Whoever looks for a tool waits no longer for the model, which may have to be started first. */
const mostMs = 1_500
/** What the words count beside the meaning: chosen on one half of the questions of bench/capability-search. */
const wordShare = 0.1

export function createCapabilitySearch(dependencies: {
  catalog: CapabilityCatalog
  database: Database
  /** Absent: by words alone. */
  embedder?: Embedder | undefined
  logger: Logger
}): OpenCapabilitySearch {
  const { catalog, database, embedder, logger } = dependencies
  const users = new Map<string, { index: UserIndex; inOrder: Turnstile; isCurrent: boolean }>()
  const job = createMeaningJob({ catalog, database, embedder, logger })
  const unfollow = catalog.onChange((userId) => {
    userOf(userId).isCurrent = false
    // A new version has its vector before anybody asks for it.
    current(userId).catch((error) => logger.warn('a change of the capabilities is not indexed yet', { error }))
  })

  function userOf(userId: string) {
    const user = users.get(userId) ?? { index: createUserIndex(), inOrder: createTurnstile(1), isCurrent: false }
    users.set(userId, user)
    return user
  }

  async function current(userId: string): Promise<UserIndex> {
    const user = userOf(userId)
    if (!user.isCurrent) {
      await user.inOrder(async () => {
        if (user.isCurrent) return
        user.isCurrent = true
        const changed = await user.index.follow(catalog.list(userId))
        job.add({ userId, index: user.index, capabilities: changed })
      })
    }
    return user.index
  }

  /** Undefined where there is no telling in time. */
  async function compare(
    index: UserIndex,
    { text, by }: { text: string; by: keyof CapabilityVectors<unknown> },
    signal: AbortSignal,
  ): Promise<Compared | undefined> {
    if (!embedder) return undefined
    try {
      const limited = AbortSignal.any([signal, AbortSignal.timeout(mostMs)])
      const [question] = await embedder.embed([text], 'question', limited)
      job.retry()
      const table = index.vectors()?.[by]
      return question && table?.dimensions === question.length ? table.compare(question) : undefined
    } catch (error) {
      signal.throwIfAborted()
      logger.debug('capabilities are searched by their words alone', { error })
      return undefined
    }
  }

  return {
    async start() {
      const rows = await database.read.selectFrom('capabilities').select('user_id').distinct().execute()
      for (const { user_id } of rows) await current(user_id)
    },
    async search({ userId, text, limit, signal }) {
      const index = await current(userId)
      const meaning = await compare(index, { text, by: 'whole' }, signal)
      const words = index.words.compare(text)
      const ids = new Set(
        [...words.best(mostCandidates), ...(meaning?.nearest(mostCandidates) ?? [])].map(({ id }) => id),
      )
      const named = text.trim().replace(/^cap_/, '')
      const found = Array.from(ids, (id): FoundCapability | undefined => {
        // As it is by now: it may have been switched off since the index was looked at.
        const capability = catalog.find(userId, index.nameOf(id) ?? '')
        if (!capability || !serves(capability)) return undefined
        const closeness = closenessOf(meaning?.cosineOf(id) ?? 0, embedder?.model ?? '')
        const said = words.scoreOf(id)
        const score = meaning ? wordShare * said + (1 - wordShare) * closeness : said
        return { capability, score: capability.name === named ? 1 : score, closeness }
      })
      return found
        .filter((one) => one !== undefined)
        .filter(({ score }) => score > 0)
        .sort((a, b) => b.score - a.score || (a.capability.name < b.capability.name ? -1 : 1))
        .slice(0, limit)
    },
    async findDuplicate({ userId, name, description, signal }) {
      const others = catalog.list(userId).filter((other) => other.name !== name)
      const nameWords = wordsOf(name).sort().join(' ')
      const renamed = others.find((other) => wordsOf(other.name).sort().join(' ') === nameWords)
      if (renamed) return renamed
      const wish = `${name.replaceAll('_', ' ')}: ${description}`
      const compared = await compare(await current(userId), { text: wish, by: 'said' }, signal)
      const nearest = compared
        ?.nearest(2)
        .filter(({ cosine }) => cosine >= duplicateFrom(embedder?.model ?? '', 'asked'))
      return nearest?.flatMap(({ id }) => others.find((other) => other.id === id) ?? [])[0]
    },
    settled: () => job.settled(),
    async close() {
      unfollow()
      await job.close()
    },
  }
}

type Compared = ReturnType<VectorTable['compare']>
