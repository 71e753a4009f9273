import { EventEmitter } from 'node:events'
import type { WorkerEvents } from 'graphile-worker'

/**
 * Whoever fetches a job holds every lane that is free for that moment, and who comes in this moment sees none. So one who
 * was told of a job and found nothing comes again, this often and this much later each time.
 */
const mostTimesInVain = 2
const inVainMs = 25

/** The places of one kind in this process, and how those who wait for a job there are told to look. */
export interface LaneWorkers {
  /** To be given to graphile-worker, which tells of its workers here. */
  events: WorkerEvents
  hasPlace(): boolean
  /** There is a job: one who waits looks for it. */
  expectOne(): void
  /** There may be a job that nobody was told of. */
  lookOnce(): void
  stop(): void
}

export function createLaneWorkers(atOnce: number): LaneWorkers {
  const events: WorkerEvents = new EventEmitter()
  let wakeOne = () => {}
  let busy = 0
  let expected = 0
  let timesInVain = 0
  let again: NodeJS.Timeout | undefined

  events.on('pool:create', ({ workerPool }) => {
    const nudge = workerPool.nudge.bind(workerPool)
    wakeOne = () => nudge(1)
    // It would wake everybody at every daemon for a job of any kind.
    workerPool.nudge = () => {}
  })
  // Nor is its word heard: each notice of anybody's would wake this connection as well.
  events.on('pool:listen:success', ({ client }) => {
    setImmediate(() => client.query('unlisten *').catch(() => undefined))
  })
  events.on('job:start', () => {
    busy += 1
    timesInVain = 0
    if (expected > 0) expected -= 1
    // Where there was one that nobody told of, there may be another.
    else wakeOne()
  })
  events.on('job:complete', () => {
    busy -= 1
  })
  events.on('worker:getJob:empty', () => {
    if (expected === 0 || again) return
    timesInVain += 1
    if (timesInVain > mostTimesInVain) {
      expected = 0
      timesInVain = 0
      return
    }
    again = setTimeout(() => {
      again = undefined
      wakeOne()
    }, inVainMs * timesInVain)
  })

  return {
    events,
    hasPlace: () => busy + expected < atOnce,
    expectOne() {
      expected += 1
      wakeOne()
    },
    lookOnce: () => wakeOne(),
    stop() {
      clearTimeout(again)
      wakeOne = () => {}
    },
  }
}
