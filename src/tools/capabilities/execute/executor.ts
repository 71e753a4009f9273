import type { Card } from '../../../protocol/card.ts'
import type { Json } from '../../../protocol/json.ts'
import type { CapabilityManifest } from '../capability.ts'

/** What can be run: a version, or a draft on its way to become one. */
export interface Runnable {
  name: string
  manifest: CapabilityManifest
  /** Holds the files; never changes while it runs. */
  directory: string
  /** Its `requirements.txt`, line by line. */
  requirements: readonly string[]
}

/** One run, as its caller sees it. Without secrets; the card is rebuilt from what is allowed. */
export interface CapabilityRun {
  ok: boolean
  /** What `run` returned: a text, or an object. Null where it failed. */
  value: Json
  /** The same in words, for a model. */
  text: string
  card: Card | null
  /** In full sentences, with the last lines of the traceback where there is one. */
  error: string | null
  outcome: 'succeeded' | 'failed' | 'timed_out' | 'service_failed' | 'refused'
  /** What it printed, cut to its end and cleaned. */
  log: string
  /** Where it wanted to go and was not let through. */
  refusedHosts: readonly string[]
  durationMs: number
  driver: string | null
}

/**
 * Runs capabilities (CAP-5): a fresh sandbox for every call, with nothing of the call before but declared storage. The
 * result travels apart from what is printed. Whatever the code does is in the run; throws only where the signal aborts or
 * the sandbox is at fault.
 */
export interface CapabilityExecutor {
  run(call: {
    userId: string
    runnable: Runnable
    input: Json
    /** `kept`: what the capability has stored, and what it stores is written when the call has succeeded. `scratch`: empty, and gone after it. */
    storage: { kind: 'kept'; capabilityId: string } | { kind: 'scratch' }
    signal: AbortSignal
  }): Promise<CapabilityRun>
  /** Builds what the requirements need where it is not there yet; one build for all who need the same. */
  prepare(
    runnable: Pick<Runnable, 'manifest' | 'requirements'>,
    signal: AbortSignal,
  ): Promise<{ ok: true } | { ok: false; problem: string }>
  /**
   * Runs a command or a piece of code beside the files of a draft, for whoever builds it. `/capability` holds the files,
   * read-only, and is on the path; what is written to `/tmp` is gone afterwards.
   */
  tryOut(attempt: {
    userId: string
    runnable: Runnable
    command: { kind: 'code'; code: string } | { kind: 'shell'; command: string }
    signal: AbortSignal
  }): Promise<Omit<CapabilityRun, 'value' | 'card'>>
}
