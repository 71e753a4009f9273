import type { Wakeups } from '../../../base/wakeups.ts'
import type { BuildEvent } from '../../../protocol/build-api.ts'
import type { Database } from '../../../storage/database.ts'
import { hasSeenEnd, isTerminal, readEvents } from './build-events.ts'
import { listenToBuild } from './listen-to-build.ts'

/** What was written after the cursor, then what comes, until the build has ended or the signal aborts (CAP-7). */
export async function* streamBuildEvents(
  { database, wakeups }: { database: Database; wakeups: Wakeups },
  build: { buildId: string; after: number; signal: AbortSignal },
): AsyncGenerator<BuildEvent> {
  const { buildId, signal } = build
  const listener = listenToBuild(buildId, { wakeups, signal })
  try {
    if (await hasSeenEnd(database.read, buildId, build.after)) return
    let cursor = build.after
    while (!signal.aborted) {
      for (const event of await readEvents(database.read, buildId, cursor)) {
        cursor = event.seq
        yield event
        if (isTerminal(event)) return
      }
      await listener.wait()
    }
  } finally {
    listener.stop()
  }
}
