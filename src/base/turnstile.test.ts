import { describe, expect, it } from 'vitest'
import { createTurnstile } from './work.ts'

describe('createTurnstile', () => {
  it('runs a limited number of tasks at a time, in order, also after a failure', async () => {
    const turnstile = createTurnstile(2)
    const started: number[] = []
    let running = 0
    let most = 0
    const tasks = Array.from({ length: 10 }, (_, index) =>
      turnstile(async () => {
        started.push(index)
        running += 1
        most = Math.max(most, running)
        await new Promise(setImmediate)
        running -= 1
        if (index === 3) throw new Error('failed')
        return index
      }),
    )
    const results = await Promise.allSettled(tasks)
    expect(results.map(({ status }) => status)).toEqual(
      tasks.map((_, index) => (index === 3 ? 'rejected' : 'fulfilled')),
    )
    expect(started).toEqual([0, 1, 2, 3, 4, 5, 6, 7, 8, 9])
    expect(most).toBe(2)
    expect(await turnstile(async () => 'again')).toBe('again')
  })
})
