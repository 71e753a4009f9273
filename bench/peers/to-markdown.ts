import type { PeersReport } from './measure-peers.ts'
import type { Spread } from './measure-work.ts'
import type { SearchFigures } from './search/search-and-tell.ts'

/** The report as tables, contestants below one another; in brackets how many times the bare loop's. */
export function toMarkdown(report: PeersReport): string {
  const { work, requests, search, characters, versions, turns, sessions, modelP50Ms, loadBefore, loadAfter } = report
  const bare = work[0]
  const times = (value: number, base: number | undefined) =>
    base && base > 0 ? ` (${(value / base).toPrecision(2)} ×)` : ''
  const spread = (value: Spread, base?: Spread) => `${value.p50Ms} / ${value.p95Ms}${times(value.p50Ms, base?.p50Ms)}`
  const sizes = Object.keys(search[0]?.sizes ?? {})
  return `# Beside the peers

\`npm run bench -- peers\`, one run, all on the same fake model over the OpenAI wire; what the model takes itself (${modelP50Ms} ms a
turn) is taken off. ${turns} turns of one session, in rows by turns; p50 / p95; in brackets how many times the bare loop's. Where
times differ between runs, processor time is the steadier figure. The machine's load before the run was ${loadBefore.toFixed(1)}, after it
${loadAfter.toFixed(1)}: above its cores, other work ran beside it, and times say little. Versions: ${Object.entries(
    versions,
  )
    .map(([name, version]) => `${name} ${version}`)
    .join(', ')}.

## A turn

${table(
  ['', 'over HTTP, ms', 'in process, ms', 'with a tool, ms', 'processor, ms a turn'],
  work.map(({ name, overHttp, inProcess, toolTurn, processorMsPerTurn }) => [
    name,
    spread(overHttp, bare?.overHttp),
    inProcess ? spread(inProcess, bare?.inProcess ?? undefined) : '–',
    spread(toolTurn, bare?.toolTurn),
    `${processorMsPerTurn}${times(processorMsPerTurn, bare?.processorMsPerTurn)}`,
  ]),
)}

## The process

${table(
  ['', 'ready, ms', 'first reply, ms', 'idle, MB', 'after work, MB', `${sessions} sessions: turns/s`, 'p95, ms'],
  work.map((row) => [
    row.name,
    `${row.readyMs}${times(row.readyMs, bare?.readyMs)}`,
    String(row.firstReplyMs),
    String(row.idleMegabytes),
    String(row.megabytesAfterWork),
    `${row.turnsPerSecond}${times(row.turnsPerSecond, bare?.turnsPerSecond)}`,
    String(row.atOnceP95Ms),
  ]),
)}

## What is sent

A session of 30 turns, each fifth with a tool. Tokens by one estimate for all. The prefix is the share of a request that the
next one repeats from its beginning, tools first, as providers' caches compare.

${table(
  ['', 'first request, tokens', 'last request, tokens', 'prefix, mean', 'prefix, worst'],
  requests.map((row) => [
    row.name,
    String(row.firstRequestTokens),
    String(row.lastRequestTokens),
    percent(row.meanPrefix),
    percent(row.worstPrefix),
  ]),
)}

## Memory search

The same lines, questions and hash vectors for all; p50 / p95, and the share of questions whose answer is among the first
twenty. No model's time is in it. Familiar's recall weighs words, vectors, people and time; the others compare vectors.
LangGraph's store lies in memory alone. The bare loop and the AI SDK have none.

${table(
  ['', ...sizes.map((size) => Number(size).toLocaleString('en'))],
  search.map((row) => [row.name, ...sizes.map((size) => searchCell(row.sizes[size]))]),
)}

## What each does for it

${table(
  ['', 'keeps', 'after a crash in a turn', 'does in a turn', 'sends'],
  characters.map(({ name, keeps, afterCrash, does, sends }) => [name, keeps, afterCrash, does, sends]),
)}

LangGraph's checkpointer asks for better-sqlite3 12, which ends the process on Node 24.19 and newer at the first collected
statement; it ran with better-sqlite3 13 instead.
`
}

function searchCell(figures: SearchFigures | string | undefined): string {
  if (figures === undefined) return '–'
  if (typeof figures === 'string') return figures
  const { p50Ms, p95Ms, hits, memoriesPerSecond } = figures
  return `${p50Ms} / ${p95Ms} ms, ${percent(hits)}; filled at ${memoriesPerSecond ?? '–'}/s`
}

function percent(share: number): string {
  return `${Number((share * 100).toFixed(1))} %`
}

function table(head: string[], rows: string[][]): string {
  const line = (cells: string[]) => `| ${cells.join(' | ')} |`
  return [line(head), line(head.map(() => '---')), ...rows.map(line)].join('\n')
}
