import type { Clock } from '../../../base/clock.ts'
import type { Reader } from '../../../storage/database.ts'

/** How long each build may still work. It begins anew where a build is taken up after a restart. */
export interface BuildLives {
  begin(buildId: string): void
  end(buildId: string): void
  /** Resolves when nothing is being ended any more. */
  close(): Promise<void>
}

export function createBuildLives(dependencies: {
  read: Reader
  clock: Clock
  lifeMs(): number
  /** Its time is up. */
  onOver(buildId: string): Promise<void>
  onError(cause: unknown): void
}): BuildLives {
  const { read, clock, lifeMs, onOver, onError } = dependencies
  const timers = new Map<string, () => void>()
  const running = new Set<Promise<void>>()

  function end(buildId: string): void {
    timers.get(buildId)?.()
    timers.delete(buildId)
  }

  function look(buildId: string, since: number, delayMs: number): void {
    end(buildId)
    const cancel = clock.after(delayMs, () => {
      const looking = lookNow(buildId, since, cancel).catch(onError)
      running.add(looking)
      void looking.then(() => running.delete(looking))
    })
    timers.set(buildId, cancel)
  }

  async function lookNow(buildId: string, since: number, timer: () => void): Promise<void> {
    const now = clock.now()
    const left = lifeMs() - (now - since - (await waitedSince(read, { buildId, since, now })))
    if (timers.get(buildId) !== timer) return
    if (left > 0) return look(buildId, since, left)
    end(buildId)
    await onOver(buildId)
  }

  return {
    begin: (buildId) => look(buildId, clock.now(), lifeMs()),
    end,
    async close() {
      for (const buildId of [...timers.keys()]) end(buildId)
      await Promise.all(running)
    },
  }
}

/** How long the user was waited for: from each question to its answer, and where several waited at once, once. */
async function waitedSince(
  read: Reader,
  { buildId, since, now }: { buildId: string; since: number; now: number },
): Promise<number> {
  const rows = await read
    .selectFrom('build_events')
    .select(['type', 'at'])
    .where('build_id', '=', buildId)
    .where('type', 'in', ['question', 'secret_request', 'answer'])
    .orderBy('seq')
    .execute()
  let open = 0
  let waited = 0
  let from = 0
  for (const { type, at } of rows) {
    if (type !== 'answer') {
      if (open === 0) from = Math.max(since, Number(at))
      open += 1
    } else {
      open -= 1
      if (open === 0) waited += Math.max(0, Number(at) - from)
    }
  }
  return open > 0 ? waited + now - from : waited
}
