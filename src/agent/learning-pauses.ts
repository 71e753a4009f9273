import type { Clock } from '../base/clock.ts'
import type { Session } from '../sessions/sessions.ts'

type SessionId = Pick<Session, 'id' | 'userId'>

/** Sessions that wait for a pause in their talk, so that several turns become one piece of work. */
interface LearningPauses {
  /** Another turn has ended. The session's time comes when no further one ends for a moment, or after some seconds. */
  wait(session: SessionId): void
  /** Now, for whichever waits of that user, or of all. */
  end(userId?: string): void
  /** Nobody's time comes any more. */
  cancel(): void
  waiting(): SessionId[]
}

const quietMs = 500
/** Whoever talks without a pause, or with many voices at once, is kept up with all the same. */
const longestMs = 5_000

export function createLearningPauses(dependencies: {
  clock: Clock
  /** The session's time has come. */
  onPause(session: SessionId): void
}): LearningPauses {
  const { clock, onPause } = dependencies
  const pauses = new Map<string, { session: SessionId; since: number; cancel(): void }>()

  function end(session: SessionId): void {
    pauses.get(session.id)?.cancel()
    if (pauses.delete(session.id)) onPause(session)
  }

  function waiting(): SessionId[] {
    return Array.from(pauses.values(), ({ session }) => session)
  }

  return {
    wait(session) {
      const known = pauses.get(session.id)
      known?.cancel()
      const since = known?.since ?? clock.now()
      const delay = Math.max(0, Math.min(quietMs, since + longestMs - clock.now()))
      pauses.set(session.id, { session, since, cancel: clock.after(delay, () => end(session)) })
    },
    end(userId) {
      for (const session of waiting()) if (userId === undefined || session.userId === userId) end(session)
    },
    cancel() {
      for (const pause of pauses.values()) pause.cancel()
      pauses.clear()
    },
    waiting,
  }
}
