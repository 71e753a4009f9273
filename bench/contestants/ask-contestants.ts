import type { ProcessUnderTest } from '../process-under-test.ts'
import { median, percentile } from '../statistics.ts'
import type { Contestant } from './contestant.ts'

/** From the start of the process until it says that it is there; the median of `runs`, in turns. */
export async function measureReady(contestants: readonly Contestant[], runs = 5): Promise<number[]> {
  const times: number[][] = contestants.map(() => [])
  for (let run = 0; run < runs; run += 1) {
    for (const [index, contestant] of contestants.entries()) {
      const target = await contestant.start()
      times[index]?.push(target.readyMs)
      await target.stop()
    }
  }
  return times.map(median)
}

export async function throughput(
  contestant: Contestant,
  target: ProcessUnderTest,
  sessions: number,
  turns: number,
): Promise<{ turnsPerSecond: number; p95Ms: number }> {
  const start = performance.now()
  const times: number[] = []
  await Promise.all(
    Array.from({ length: sessions }, async (_, session) => {
      for (let turn = 0; turn < turns; turn += 1)
        times.push(await timed(() => contestant.chat(target, `s${session}`, `message ${turn}`)))
    }),
  )
  const seconds = (performance.now() - start) / 1_000
  return { turnsPerSecond: (sessions * turns) / seconds, p95Ms: percentile(times, 0.95) }
}

export async function timed(work: () => Promise<unknown>): Promise<number> {
  const start = performance.now()
  await work()
  return performance.now() - start
}

/** The time that the model itself has spent on its answers. */
export async function answeringMs(url: string): Promise<number> {
  const stats = (await (await fetch(`${url}/fake/stats`)).json()) as { answeringMs: number }
  return stats.answeringMs
}
