import { percentile } from '../statistics.ts'
import { createAgenda } from './agenda.ts'

/** A place with so many servers and one line before them, first come, first served. */
export interface Station {
  name: string
  servers: number
}

/**
 * The steps of a call in order: a time at a place. Without a place it is a wait that is not shared, such as the model.
 */
export interface Visit {
  station: string | null
  ms: number
}

export interface StationFigures {
  name: string
  waitMeanMs: number
  waitP50Ms: number
  waitP95Ms: number
  /** The share of the servers' time that was worked. */
  utilisation: number
}

interface Call {
  visits: readonly Visit[]
  place: number
}

interface Line {
  servers: number
  free: number
  waiting: { call: Call; since: number }[]
  /** The index of the first entry: removing the head of an array would copy it each time. */
  head: number
  waits: number[]
  workedMs: number
}

/**
 * Calls come at random (Poisson) at `perSecond` and walk through their visits. Waits are counted once `warmUp` calls have
 * come, so that the empty beginning does not flatter them. `random` gives numbers in [0, 1): the same ones, the same run.
 */
export function simulateStations(options: {
  stations: readonly Station[]
  perSecond: number
  calls: number
  warmUp?: number
  visits(random: () => number): Visit[]
  random: () => number
}): StationFigures[] {
  const { stations, perSecond, calls, warmUp = Math.round(calls / 10), random } = options
  const lines = new Map<string, Line>(
    stations.map(({ name, servers }) => [
      name,
      { servers, free: servers, waiting: [], head: 0, waits: [], workedMs: 0 },
    ]),
  )
  const agenda = createAgenda<{ kind: 'came' } | { kind: 'done'; call: Call; line: Line | null }>()
  let came = 0
  let now = 0

  const serve = (line: Line, call: Call, since: number) => {
    const { ms } = call.visits[call.place] as Visit
    line.free -= 1
    line.workedMs += ms
    if (came > warmUp) line.waits.push(now - since)
    agenda.add(now + ms, { kind: 'done', call, line })
  }
  const enter = (call: Call) => {
    const visit = call.visits[call.place]
    if (!visit) return
    const line = visit.station === null ? null : lines.get(visit.station)
    if (line === undefined) throw new Error(`There is no station ${visit.station}`)
    if (line === null) agenda.add(now + visit.ms, { kind: 'done', call, line })
    else if (line.free > 0) serve(line, call, now)
    else line.waiting.push({ call, since: now })
  }
  const leave = (line: Line) => {
    line.free += 1
    const next = line.waiting[line.head]
    if (!next) return
    line.head += 1
    if (line.head > 10_000) {
      line.waiting.splice(0, line.head)
      line.head = 0
    }
    serve(line, next.call, next.since)
  }

  agenda.add(exponential(1_000 / perSecond, random), { kind: 'came' })
  for (let event = agenda.next(); event; event = agenda.next()) {
    now = event.at
    if (event.item.kind === 'came') {
      came += 1
      if (came < calls) agenda.add(now + exponential(1_000 / perSecond, random), { kind: 'came' })
      enter({ visits: options.visits(random), place: 0 })
      continue
    }
    const { call, line } = event.item
    if (line) leave(line)
    call.place += 1
    enter(call)
  }
  return stations.map(({ name }) => figuresOf(name, lines.get(name) as Line, now))
}

function figuresOf(name: string, { waits, workedMs, servers }: Line, wholeMs: number): StationFigures {
  return {
    name,
    waitMeanMs: waits.reduce((sum, wait) => sum + wait, 0) / Math.max(1, waits.length),
    waitP50Ms: waits.length > 0 ? percentile(waits, 0.5) : 0,
    waitP95Ms: waits.length > 0 ? percentile(waits, 0.95) : 0,
    utilisation: workedMs / (servers * wholeMs),
  }
}

/** A length of time with no memory, `mean` on average. */
export function exponential(mean: number, random: () => number): number {
  return -Math.log(1 - random()) * mean
}
