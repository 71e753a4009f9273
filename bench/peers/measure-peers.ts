import { loadavg } from 'node:os'
import { installPeers } from './install-peers.ts'
import { measureRequests, type RequestFigures } from './measure-requests.ts'
import { measureWork, type WorkFigures } from './measure-work.ts'
import { type Character, peerCharacters } from './peer-characters.ts'
import { peerNames } from './peer-contestants.ts'
import { measureSearch, type SearchRow } from './search/measure-search.ts'

export interface PeersReport {
  versions: Record<string, string>
  turns: number
  sessions: number
  /** Of the machine in the minute before the run and its last one: with other work on it, times say little. */
  loadBefore: number
  loadAfter: number
  /** The time of the fake model itself; it is subtracted everywhere. */
  modelP50Ms: number
  work: WorkFigures[]
  requests: RequestFigures[]
  /** Peers that are not listed have no search. */
  search: SearchRow[]
  characters: ({ name: string } & Character)[]
}

/** All contestants in one run on one machine. */
export async function measurePeers(options: {
  turns: number
  sessions: number
  sizes: readonly number[]
  questions: number
  say(line: string): void
}): Promise<PeersReport> {
  const { turns, sessions, sizes, questions, say } = options
  const installed = installPeers(say)
  const [loadBefore = 0] = loadavg()
  const { ai } = (await import('../../package.json', { with: { type: 'json' } })).default.devDependencies
  const { modelP50Ms, figures: work } = await measureWork({ turns, sessions, say })
  say('what is sent: a session of 30 turns')
  const requests = await measureRequests(30)
  const search = await measureSearch({ sizes, questions, limitMinutes: 8, say })
  return {
    versions: { ai, ...installed },
    turns,
    sessions,
    loadBefore,
    loadAfter: loadavg()[0] ?? 0,
    modelP50Ms,
    work,
    requests,
    search,
    characters: peerNames.map((name) => ({ name, ...peerCharacters[name] })),
  }
}
