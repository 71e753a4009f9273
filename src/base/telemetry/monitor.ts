import type { Clock } from '../clock.ts'

type ActivityState = 'thinking' | 'tools' | 'retry_wait'

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

export type Monitor = ReturnType<typeof createMonitor>

const publishEveryMs = 200

/** Familiar's current activity. Kept in memory; `publish` is called with every change, at most every 200 ms. */
export function createMonitor(dependencies: { clock: Clock; publish: (state: MonitorState) => Promise<void> }) {
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
    update(turnId: string, change: Partial<Activity> & { sessionId: string }): void {
      const now = clock.now()
      turns.set(turnId, { ...begun, turnId, startedAt: now, ...turns.get(turnId), ...change, updatedAt: now })
      changed()
    },
    end(turnId: string): void {
      turns.delete(turnId)
      changed()
    },
    current,
    /** Publishes the pending state and stops. */
    async close(): Promise<void> {
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

const begun = {
  contact: '',
  state: 'thinking',
  model: '',
  round: 1,
  tools: [],
  inputTokens: 0,
  outputTokens: 0,
} as const satisfies Partial<Activity>
