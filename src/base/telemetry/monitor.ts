import type { Clock } from '../clock.ts'

type ActivityState = 'thinking' | 'tools' | 'retry_wait'

/** One running turn. */
export interface Activity {
  sessionId: string
  contact: string
  turnId: string
  state: ActivityState
  model: string
  round: number
  tools: string[]
  inputTokens: number
  outputTokens: number
  startedAt: number
  updatedAt: number
}

export interface MonitorState {
  state: 'idle' | ActivityState
  updatedAt: number
  turns: Activity[]
}

/** Familiar's current activity. Kept in memory; `publish` is called with every change, at most every 200 ms. */
export interface Monitor {
  update(turnId: string, change: Partial<Activity> & { sessionId: string }): void
  end(turnId: string): void
  current(): MonitorState
  /** Publishes the pending state and stops. */
  close(): Promise<void>
}

const publishEveryMs = 200

export function createMonitor(dependencies: {
  clock: Clock
  publish: (state: MonitorState) => Promise<void>
}): Monitor {
  const { clock, publish } = dependencies
  const turns = new Map<string, Activity>()
  let updatedAt = clock.now()
  let cancelTimer: (() => void) | undefined
  let publishing: Promise<void> = Promise.resolve()

  function current(): MonitorState {
    const active = [...turns.values()]
    return { state: stateOf(active), updatedAt, turns: active }
  }
  function changed(): void {
    updatedAt = clock.now()
    cancelTimer ??= clock.after(publishEveryMs, () => {
      cancelTimer = undefined
      publishing = publishing.then(() => publish(current()))
    })
  }

  return {
    update(turnId, change) {
      const now = clock.now()
      const known = turns.get(turnId) ?? newActivity(turnId, change.sessionId, now)
      turns.set(turnId, { ...known, ...change, updatedAt: now })
      changed()
    },
    end(turnId) {
      turns.delete(turnId)
      changed()
    },
    current,
    async close() {
      cancelTimer?.()
      turns.clear()
      await publishing
      await publish(current())
    },
  }
}

/** The combined state of several turns. */
export function stateOf(turns: readonly Activity[]): MonitorState['state'] {
  return turns.find((turn) => turn.state === 'tools')?.state ?? turns[0]?.state ?? 'idle'
}

function newActivity(turnId: string, sessionId: string, now: number): Activity {
  return {
    sessionId,
    contact: '',
    turnId,
    state: 'thinking',
    model: '',
    round: 1,
    tools: [],
    inputTokens: 0,
    outputTokens: 0,
    startedAt: now,
    updatedAt: now,
  }
}
