import { checkCosts } from './audit/check-costs.ts'
import { checkHistories } from './audit/check-histories.ts'
import { checkMessages } from './audit/check-messages.ts'
import { checkStorage } from './audit/check-storage.ts'
import { checkTools } from './audit/check-tools.ts'
import { checkTurns } from './audit/check-turns.ts'
import type { Evidence } from './audit/evidence.ts'
import { type Recorded, readRecorded } from './audit/recorded.ts'

/**
 * Holds what the daemon wrote against what was seen from outside, and names everything that a crash must never do.
 * Reads the file and changes nothing. Each violation begins with its kind and a colon; none is the only good answer.
 */
export function audit(evidence: Evidence): string[] {
  const read = readOrDespair(evidence.databasePath)
  return read.ok ? auditRecorded(evidence, read.recorded) : [`broken integrity: ${read.message}`]
}

export function auditRecorded(evidence: Evidence, recorded: Recorded): string[] {
  return [
    ...checkStorage(recorded),
    ...checkMessages(evidence, recorded),
    ...checkTurns(evidence, recorded),
    ...checkTools(evidence, recorded),
    ...checkHistories(evidence, recorded),
    ...checkCosts(evidence, recorded),
  ]
}

/** A file that is broken enough cannot even be read. */
function readOrDespair(path: string): { ok: true; recorded: Recorded } | { ok: false; message: string } {
  try {
    return { ok: true, recorded: readRecorded(path) }
  } catch (cause) {
    return { ok: false, message: cause instanceof Error ? cause.message : String(cause) }
  }
}
