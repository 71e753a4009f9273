import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { estimateTokens } from '../../src/base/tokens.ts'
import type { RecordedRequest } from '../../test/support/fake-model/recorded-request.ts'
import { startFakeModel } from '../../test/support/fake-model/start-fake-model.ts'
import { rounded } from '../statistics.ts'
import { respond, toolCue } from './answer.ts'
import { createPeerContestants } from './peer-contestants.ts'

export interface RequestFigures {
  name: string
  /** Of the whole body that a first "hello" sends, tools included. */
  firstRequestTokens: number
  /** The share of a request that the next one of the session repeats from its beginning: the mean, and the worst. */
  meanPrefix: number
  worstPrefix: number
  /** Of the last turn: what a session costs once it is long. */
  lastRequestTokens: number
}

/** A session of `turns` turns, each fifth with a tool, and what each contestant sent for it. */
export async function measureRequests(turns: number): Promise<RequestFigures[]> {
  const model = await startFakeModel({ script: respond })
  const folder = mkdtempSync(join(tmpdir(), 'familiar-bench-peers-'))
  const figures: RequestFigures[] = []
  try {
    for (const contestant of await createPeerContestants(model.url, folder)) {
      const target = await contestant.start()
      const before = model.requests.length
      for (let turn = 1; turn <= turns; turn += 1) await contestant.chat(target, 'main', messageOf(turn))
      await target.stop()
      figures.push({ name: contestant.name, ...describe(model.requests.slice(before)) })
    }
    const refused = model.rejections()[0]
    if (refused) throw new Error(`The model refused a request: ${refused.rejection}`)
    return figures
  } finally {
    await model.close()
    rmSync(folder, { recursive: true, force: true })
  }
}

function messageOf(turn: number): string {
  if (turn === 1) return 'hello'
  return turn % 5 === 0 ? `${toolCue} sea, turn ${turn}` : `This is turn ${turn}. What do you think of the sea?`
}

function describe(requests: readonly RecordedRequest[]): Omit<RequestFigures, 'name'> {
  const texts = requests.map(asProvidersRead)
  const shares = texts.slice(1).map((text, index) => repeated(texts[index] ?? '', text))
  return {
    firstRequestTokens: estimateTokens(requests[0]?.bytes ?? ''),
    lastRequestTokens: estimateTokens(requests.at(-1)?.bytes ?? ''),
    meanPrefix: rounded(shares.reduce((sum, share) => sum + share, 0) / shares.length, 4),
    worstPrefix: rounded(Math.min(...shares), 4),
  }
}

/**
 * Tools, then messages in their order: what a provider's cache compares. The order of the keys in the body, which differs
 * between contestants, counts for nothing there.
 */
export function asProvidersRead({ body }: Pick<RecordedRequest, 'body'>): string {
  const messages = Array.isArray(body.messages) ? body.messages : []
  return [JSON.stringify(body.tools ?? []), ...messages.map((message) => JSON.stringify(message))].join('\n')
}

/** The share of `before` with which `after` begins, too. */
export function repeated(before: string, after: string): number {
  let length = 0
  while (length < before.length && before[length] === after[length]) length += 1
  return before.length === 0 ? 1 : length / before.length
}
