import type { Json } from '../../../protocol/json.ts'
import type { JsonObject } from '../manifest/manifest.ts'

/** What came out of one run, as the tool said it: nothing is cleaned or redacted yet. */
export interface ToolResult {
  text: string | null
  html: string | null
  title: string | null
  /** Set: it failed, and the rest counts for nothing. */
  error: string | null
  timedOut: boolean
  /** What failed lies outside of it. Published tools may say so. */
  isServiceFailure: boolean
  budgetRemaining: number | null
  /** Whether there is anything to tell; undefined where it leaves that to its manifest. */
  notify: boolean | undefined
  /** What it wants to be given at its next run; undefined where it says nothing of it. */
  state: Json | undefined
  /** Keys that are not of the contract. */
  extra: JsonObject
  notes: string[]
}

export const emptyResult: ToolResult = {
  text: null,
  html: null,
  title: null,
  error: null,
  timedOut: false,
  isServiceFailure: false,
  budgetRemaining: null,
  notify: undefined,
  state: undefined,
  extra: {},
  notes: [],
}
