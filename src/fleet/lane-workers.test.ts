import { afterEach, beforeEach, expect, it, vi } from 'vitest'
import { createLaneWorkers } from './join-fleet.ts'

beforeEach(() => void vi.useFakeTimers())
afterEach(() => void vi.useRealTimers())

/** Around a pool that only counts how often one of its workers is woken. */
function open(atOnce: number) {
  const workers = createLaneWorkers(atOnce)
  let woken = 0
  const workerPool = {
    nudge() {
      woken += 1
    },
  }
  const tell = (event: string, told: object = {}) => workers.events.emit(event as 'job:start', told as never)
  tell('pool:create', { workerPool })
  return { workers, workerPool, tell, woken: () => woken }
}

it('SCALE-4 a worker that was notified of a job and found none looks again, a few times', () => {
  const { workers, tell, woken } = open(4)
  workers.expectOne()
  for (const after of [25, 50]) {
    tell('worker:getJob:empty')
    vi.advanceTimersByTime(after)
  }
  expect(woken()).toBe(3)
  tell('worker:getJob:empty')
  vi.advanceTimersByTime(1_000)
  expect(woken()).toBe(3)
})

it('SCALE-4 a worker that polled and found none does not look again, and one that found a job looks for another', () => {
  const { workers, tell, woken } = open(4)
  workers.lookOnce()
  tell('worker:getJob:empty')
  vi.advanceTimersByTime(1_000)
  expect(woken()).toBe(1)
  tell('job:start')
  expect(woken()).toBe(2)
})

it('SCALE-4 a place is taken by running and expected jobs, and free again afterwards', () => {
  const { workers, tell } = open(2)
  workers.expectOne()
  workers.expectOne()
  expect(workers.hasPlace()).toBe(false)
  tell('job:start')
  tell('job:start')
  expect(workers.hasPlace()).toBe(false)
  tell('job:complete')
  expect(workers.hasPlace()).toBe(true)
})

it('SCALE-4 the events of graphile-worker wake no worker, and nothing does after the stop', () => {
  const { workers, workerPool, woken } = open(2)
  workerPool.nudge()
  expect(woken()).toBe(0)
  workers.stop()
  workers.lookOnce()
  expect(woken()).toBe(0)
})
