import { bars, type Panel } from './bars.ts'
import type { PeersReport } from './measure-peers.ts'

/** Four panels of bars, short is good but for the rate. */
export function toPicture({ work, requests, sessions }: PeersReport): string {
  const panels: Panel[] = [
    { title: 'Overhead of a turn over HTTP, ms (median)', values: work.map(({ overHttp }) => overHttp.p50Ms) },
    { title: 'Processor, ms a turn', values: work.map(({ processorMsPerTurn }) => processorMsPerTurn) },
    { title: `Turns a second, ${sessions} sessions (more is better)`, values: work.map((row) => row.turnsPerSecond) },
    { title: 'Memory after work, MB', values: work.map(({ megabytesAfterWork }) => megabytesAfterWork) },
    {
      title: 'Of each request repeated by the next, % (more is better)',
      values: requests.map(({ meanPrefix }) => Math.round(meanPrefix * 1_000) / 10),
    },
    { title: 'First request, tokens', values: requests.map(({ firstRequestTokens }) => firstRequestTokens) },
  ]
  return bars({ names: work.map(({ name }) => name), panels, marked: (name) => name.startsWith('Familiar') })
}
