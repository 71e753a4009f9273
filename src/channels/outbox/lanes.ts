import type { Clock } from '../../base/clock.ts'
import type { Logger } from '../../base/logger.ts'
import type { Address } from './outbox-items.ts'

/** What came of looking at a lane: it may go on at once, not before a time, or nothing is there. */
export type LaneState = 'more' | 'empty' | { notBefore: number }

interface Lane extends Address {
  isRunning: boolean
  /** It was woken while it was looking, and what it saw may be old. */
  isWoken: boolean
  stopTimer(): void
}

/** A timer counts the time that the machine is awake, and the clock may be set: after this long it is looked at again. */
const longestWaitMs = 5 * 60_000
const pauseAfterErrorMs = 5_000

/**
 * One lane for each address: within it one thing at a time, and no lane waits for another. Nothing is read unless
 * something was put in or its time has come.
 */
export function createLanes(dependencies: {
  clock: Clock
  logger: Logger
  /** Does the next thing of a lane, if it is time. */
  advance(address: Address): Promise<LaneState>
}) {
  const { clock, logger, advance } = dependencies
  const lanes = new Map<string, Lane>()
  const running = new Set<Promise<void>>()
  let isClosed = false

  function laneOf({ channel, address }: Address): Lane {
    const name = `${channel}\n${address}`
    const known = lanes.get(name)
    if (known) return known
    const lane = { channel, address, isRunning: false, isWoken: false, stopTimer: () => {} }
    lanes.set(name, lane)
    return lane
  }

  function wake(lane: Lane): void {
    if (isClosed) return
    lane.stopTimer()
    if (lane.isRunning) {
      lane.isWoken = true
      return
    }
    lane.isRunning = true
    const run = follow(lane).finally(() => running.delete(run))
    running.add(run)
  }

  async function follow(lane: Lane): Promise<void> {
    try {
      for (;;) {
        lane.isWoken = false
        const state = await advance(lane)
        if (isClosed) return
        if (state === 'more' || lane.isWoken) continue
        if (state !== 'empty') wakeAt(lane, state.notBefore)
        return
      }
    } catch (error) {
      logger.error('the outbox could not go on; it tries again', { channel: lane.channel, error })
      wakeAt(lane, clock.now() + pauseAfterErrorMs)
    } finally {
      lane.isRunning = false
    }
  }

  function wakeAt(lane: Lane, time: number): void {
    const wait = Math.min(longestWaitMs, Math.max(0, time - clock.now()))
    lane.stopTimer = clock.after(wait, () => wake(lane))
  }

  return {
    /** From now on it is looked at with the others. */
    add: (address: Address) => void laneOf(address),
    wake: (address: Address) => wake(laneOf(address)),
    /** All of them: whoever wakes does not know whose unit is committed by now, and there are few. */
    wakeAll(): void {
      for (const lane of lanes.values()) wake(lane)
    },
    /** Begins nothing more; resolves when nothing runs. */
    async close(): Promise<void> {
      isClosed = true
      for (const lane of lanes.values()) lane.stopTimer()
      await Promise.all(running)
    },
  }
}
