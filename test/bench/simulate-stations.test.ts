import { expect, it } from 'vitest'
import { seededRandom } from '../../bench/recall-scale/seeded-random.ts'
import { erlangC, meanWaitMs, waitAtMs } from '../../bench/simulate/queueing-theory.ts'
import { exponential, type StationFigures, simulateStations } from '../../bench/simulate/simulate-stations.ts'

/** Near its limit a line forgets slowly: that takes the longer run to be seen. */
const takesLong = Boolean(process.env.FAMILIAR_TEST_ALL)
const calls = takesLong ? 300_000 : 100_000

/** One line before `servers`, with service times from `serviceTime`. */
function oneStation(options: {
  servers: number
  perSecond: number
  serviceTime(random: () => number): number
}): StationFigures {
  const [figures] = simulateStations({
    stations: [{ name: 'counter', servers: options.servers }],
    perSecond: options.perSecond,
    calls,
    visits: (random) => [{ station: 'counter', ms: options.serviceTime(random) }],
    random: seededRandom(11, options.servers, options.perSecond).next,
  })
  return figures as StationFigures
}

/** Within so many parts of a hundred of what theory says. */
function expectNear(found: number, theory: number, percent: number): void {
  expect(Math.abs(found - theory) / theory, `${found} beside ${theory}`).toBeLessThan(percent / 100)
}

it('has the chance to wait that is known for small numbers of servers', () => {
  expect(erlangC(1, 0.5)).toBeCloseTo(0.5, 10)
  expect(erlangC(2, 1)).toBeCloseTo(1 / 3, 10)
  expect(erlangC(3, 2)).toBeCloseTo(4 / 9, 10)
  expect(erlangC(2, 2)).toBe(1)
  expect(meanWaitMs({ servers: 1, perSecond: 100, serviceMs: 11 })).toBe(Number.POSITIVE_INFINITY)
})

it.each([
  { servers: 1, perSecond: 50, serviceMs: 10 },
  { servers: 1, perSecond: 80, serviceMs: 10 },
  { servers: 2, perSecond: 140, serviceMs: 10 },
  { servers: 8, perSecond: 680, serviceMs: 10 },
  { servers: 40, perSecond: 3_400, serviceMs: 10 },
  ...(takesLong ? [{ servers: 40, perSecond: 3_700, serviceMs: 10 }] : []),
])('waits as M/M/$servers does at $perSecond calls a second', ({ servers, perSecond, serviceMs }) => {
  const theory = { servers, perSecond, serviceMs }
  const found = oneStation({ servers, perSecond, serviceTime: (random) => exponential(serviceMs, random) })
  expectNear(found.utilisation, (perSecond * serviceMs) / 1_000 / servers, 2)
  expectNear(found.waitMeanMs, meanWaitMs(theory), 10)
  expectNear(found.waitP95Ms, waitAtMs(theory, 0.95), 10)
})

it('waits half as long where every service takes the same time, as Pollaczek and Khinchine have it', () => {
  const found = oneStation({ servers: 1, perSecond: 70, serviceTime: () => 10 })
  expectNear(found.waitMeanMs, meanWaitMs({ servers: 1, perSecond: 70, serviceMs: 10 }) / 2, 5)
})

it('lets a second station see the calls as if they came to it at random, as Burke has it', () => {
  const [first, second] = simulateStations({
    stations: [
      { name: 'first', servers: 2 },
      { name: 'second', servers: 1 },
    ],
    perSecond: 60,
    calls,
    visits: (random) => [
      { station: 'first', ms: exponential(20, random) },
      { station: null, ms: exponential(500, random) },
      { station: 'second', ms: exponential(12, random) },
    ],
    random: seededRandom(5).next,
  })
  expectNear(first?.waitMeanMs ?? 0, meanWaitMs({ servers: 2, perSecond: 60, serviceMs: 20 }), 10)
  expectNear(second?.waitMeanMs ?? 0, meanWaitMs({ servers: 1, perSecond: 60, serviceMs: 12 }), 10)
})

it('gives the same figures for the same numbers', () => {
  const station = { servers: 3, perSecond: 200, serviceTime: (random: () => number) => exponential(10, random) }
  expect(oneStation(station)).toEqual(oneStation(station))
})
