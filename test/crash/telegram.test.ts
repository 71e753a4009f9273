import { describe, expect, it } from 'vitest'
import { outboxStepNames } from '../../src/channels/outbox.ts'
import { chosenPassings } from './chosen-passings.ts'
import { type KillPoint, playTelegram } from './telegram-kill-bench.ts'
import { inTwoLanes } from './two-lanes.ts'

/** Steps of the way in that a message passes; commands and buttons have tests of their own. */
const pollSteps = ['updates_received', 'files_fetched', 'message_submitted', 'place_written']

/** At the point, or at an earlier passing of the step where it was not passed that often this time. */
async function killNear(point: KillPoint): Promise<{ step: string; isKilled: boolean; violations: string[] }> {
  const { isKilled, violations } = await playTelegram(point)
  if (isKilled || point.passing === 1) return { step: point.step, isKilled, violations }
  const earlier = await killNear({ ...point, passing: Math.ceil(point.passing / 2) })
  return { ...earlier, violations: [...violations, ...earlier.violations] }
}

describe('killed while talking over Telegram', () => {
  it('CHAN-1 OUT-2 at every step of fetching and sending, nothing is lost and nothing is heard twice', {
    timeout: 600_000,
  }, async () => {
    const whole = await playTelegram()
    expect(whole.violations).toEqual([])
    expect(Object.keys(whole.passings).sort()).toEqual([...pollSteps, ...outboxStepNames].sort())
    const points = Object.entries(whole.passings).flatMap(([step, count]) =>
      chosenPassings(count).map((passing): KillPoint => ({ step, passing })),
    )
    const played = await inTwoLanes(points, killNear)
    const killed = played.filter(({ isKilled }) => isKilled)
    expect(new Set(killed.map(({ step }) => step))).toEqual(new Set(Object.keys(whole.passings)))
    expect(killed.length).toBeGreaterThan(points.length / 2)
    expect(played.flatMap(({ violations }) => violations)).toEqual([])
  })
})
