import { FamiliarError } from '../../protocol/error.ts'
import type { Spawn } from './subagents.ts'

const mostAtOnce = 20

/** Those that are named, in that order, each once; without names the newest that `isMeant`. */
export function chooseSpawns(
  known: readonly Spawn[],
  ids: readonly string[] | undefined,
  isMeant: (spawn: Spawn) => boolean,
): Spawn[] {
  if (!ids) return known.filter(isMeant).slice(-mostAtOnce)
  return [...new Set(ids)].map((id) => {
    const spawn = known.find((one) => one.id === id)
    if (!spawn) throw new FamiliarError('not_found', `You have spawned no sub-agent ${id} in this conversation`)
    return spawn
  })
}
