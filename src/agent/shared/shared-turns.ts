import { z } from 'zod'
import type { Clock } from '../../base/clock.ts'
import type { Logger } from '../../base/logger.ts'
import type { Inbox, InboxMessage } from '../../sessions/inbox.ts'
import { createSessionHolders } from '../../sessions/session-holders.ts'
import type { Session } from '../../sessions/sessions.ts'
import { isWorkChannel, subagentChannel } from '../../sessions/work-channels.ts'
import type { Database, Writer } from '../../storage/database.ts'
import type { Fleet } from '../../storage/fleet.ts'
import type { Lane } from '../../storage/lane-jobs.ts'
import type { JobResult, TurnJob, TurnQueue } from '../turn-queue.ts'
import { createSharedTurnQueue } from './shared-turn-queue.ts'

/** Work in the background has places of its own, and sub-agents have theirs beside it. */
export type TurnKind = 'talk' | 'work' | 'helpers'

export function turnKindOf(channel: string): TurnKind {
  if (channel === subagentChannel) return 'helpers'
  return isWorkChannel(channel) ? 'work' : 'talk'
}

interface TurnPlace {
  sessionId: string
  turnId: string
}

/** What conversations need of the other daemons where several share the work. */
export interface SharedTurns {
  createQueue(
    kind: TurnKind,
    options: {
      clock: Clock
      debounceMs: number
      maxConcurrent: number
      run(sessionId: string, job: TurnJob): Promise<JobResult>
    },
  ): TurnQueue
  /** In the unit that takes a message in: some daemon will look at its session. */
  askFor(writer: Writer, message: InboxMessage): Promise<void>
  /** In the unit that moves messages to the session. */
  askForSession(writer: Writer, session: Pick<Session, 'id' | 'channel'>): Promise<void>
  guardOf(sessionId: string): (writer: Writer) => Promise<void>
  /** Whether the turns of the session run here. */
  isHere(sessionId: string): Promise<boolean>
  /** Wherever it runs. */
  runningTurn(sessionId: string): Promise<string | undefined>
  tellStop(turn: TurnPlace): void
  onStop(listener: (turn: TurnPlace) => void): void
  /** Has every session looked at in which something is open, in case that nobody was asked to. */
  recover(): Promise<{ resumedTurns: number; queuedMessages: number }>
  /** Begins to take turns, where this daemon is to. After everything that turns need is there. */
  begin(): Promise<void>
}

const placeSchema = z.object({ sessionId: z.string(), turnId: z.string() })

export function createSharedTurns(dependencies: {
  fleet: Fleet
  database: Database
  /** Looked up at every use: it is made after this. */
  inbox: () => Inbox
  debounceMs: () => number
  /** Before a turn of a sub-agent runs here: it may have been spawned elsewhere. */
  beforeHelper(): Promise<void>
  logger: Logger
}): SharedTurns {
  const { fleet, database, inbox, debounceMs, logger } = dependencies
  const { jobs, notices } = fleet
  const holders = createSessionHolders({ database, daemonId: fleet.daemonId })
  const queues = new Map<TurnKind, { atOnce: number; look(sessionId: string): Promise<void> }>()

  function laneOf(sessionId: string, channel: string): Lane {
    return { kind: turnKindOf(channel), id: sessionId }
  }

  return {
    createQueue(kind, options) {
      const queue = createSharedTurnQueue({
        ...options,
        kind,
        jobs,
        holders,
        logger,
        inbox: { openIn: (sessionId) => inbox().openIn(sessionId) },
      })
      queues.set(kind, { atOnce: options.maxConcurrent, look: queue.look })
      return queue
    },
    async askFor(writer, { sessionId, source, immediate, receivedAt }) {
      const isJoined = !immediate && debounceMs() > 0
      const when = isJoined ? { notBefore: receivedAt + debounceMs() } : {}
      // Of work the source is the channel: nobody else speaks there.
      await jobs.askIn(writer, laneOf(sessionId, source), when)
    },
    askForSession: (writer, { id, channel }) => jobs.askIn(writer, laneOf(id, channel)),
    guardOf: (sessionId) => (writer) => holders.requireIn(writer, sessionId),
    isHere: holders.has,
    runningTurn: async (sessionId) => (await inbox().openIn(sessionId))?.turnId,
    tellStop: (turn) => notices.publish('stop', { ...turn }),
    onStop(listener) {
      notices.on('stop', (data) => {
        const turn = placeSchema.safeParse(data)
        if (turn.success) listener(turn.data)
      })
    },
    async recover() {
      const lanes = await inbox().openLanes()
      for (const { sessionId, channel } of lanes) await jobs.ask(laneOf(sessionId, channel))
      return { resumedTurns: 0, queuedMessages: lanes.length }
    },
    async begin() {
      if (fleet.role === 'api') return
      for (const [kind, { atOnce, look }] of queues) {
        const prepared = async (sessionId: string) => {
          if (kind === 'helpers') await dependencies.beforeHelper()
          await look(sessionId)
        }
        await jobs.work(kind, { atOnce, look: prepared })
      }
    },
  }
}
