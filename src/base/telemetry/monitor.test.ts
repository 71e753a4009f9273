import { describe, expect, it } from 'vitest'
import { createManualClock } from '../../../test/support/manual-clock.ts'
import { openScriptedFamiliar, said, toolOf } from '../../../test/support/scripted-familiar.ts'
import { createScriptedModel } from '../../../test/support/scripted-model.ts'
import { createMonitor, type MonitorState } from './monitor.ts'

describe('MON-1 current activity', () => {
  it('MON-1 shows thinking, then the tools, then idle', async () => {
    const seen: MonitorState[] = []
    const look = toolOf('look', async () => {
      seen.push(familiar.monitor.current())
      return said('there')
    })
    const model = createScriptedModel({
      script: (_request, call) => {
        seen.push(familiar.monitor.current())
        return call === 1 ? { toolCalls: [{ name: 'look' }] } : { text: 'ok' }
      },
    })
    const familiar = await openScriptedFamiliar({ model, tools: [look] })
    await familiar.say('hi')
    expect(seen.map(({ state, turns }) => [state, turns[0]?.round, turns[0]?.tools])).toEqual([
      ['thinking', 1, []],
      ['tools', 1, ['look']],
      ['thinking', 2, []],
    ])
    expect(seen[0]?.turns[0]).toMatchObject({ contact: 'main', model: 'scripted/main' })
    expect(familiar.monitor.current()).toMatchObject({ state: 'idle', turns: [] })
    await familiar.close()
    expect(familiar.published.at(-1)?.state).toBe('idle')
  })

  it('MON-1 publishes at most every 200 ms and always the last state', async () => {
    const clock = createManualClock()
    const published: MonitorState[] = []
    const monitor = createMonitor({ clock, publish: async (state) => void published.push(state) })
    for (let n = 0; n < 100; n += 1) {
      monitor.update('t', { sessionId: 's', round: n })
      await clock.advance(10)
    }
    monitor.end('t')
    await clock.advance(200)
    expect(published.length).toBeLessThanOrEqual(6)
    expect(published.at(-1)?.state).toBe('idle')
    await clock.advance(60_000)
    expect(clock.timers()).toBe(0)
  })
})
