import { sha256 } from '../../../base/hash.ts'
import { canonicalJson } from '../../../base/json.ts'
import type { BegunTurn } from './begun-turn.ts'
import type { ClientList } from './client-list.ts'

/** The newest message of each conversation, for the moment in which it waits and its log knows nothing of it. */
interface WaitingTurns {
  /** Undefined where the newest was another list. */
  find(conversation: string, list: ClientList): BegunTurn | undefined
  put(conversation: string, list: ClientList, begun: BegunTurn): void
}

const maxKept = 256

export function createWaitingTurns(): WaitingTurns {
  const kept = new Map<string, { list: string; begun: BegunTurn }>()
  return {
    find(conversation, list) {
      const newest = kept.get(conversation)
      return newest?.list === hashOf(list) ? newest.begun : undefined
    },
    put(conversation, list, begun) {
      kept.delete(conversation)
      kept.set(conversation, { list: hashOf(list), begun })
      const oldest = kept.size > maxKept ? kept.keys().next().value : undefined
      if (oldest !== undefined) kept.delete(oldest)
    },
  }
}

function hashOf(list: ClientList): string {
  return sha256(canonicalJson(list))
}
