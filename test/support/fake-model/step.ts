export type StopKind = 'end' | 'tool_use' | 'max_tokens' | 'refusal'

/**
 * Token counts as a ledger needs them. `input` is what was read at full price: it excludes both cache counts, and the
 * wires that report an inclusive prompt count add the three together.
 */
export interface Usage {
  input: number
  output: number
  cacheRead: number
  cacheWrite: number
}

export interface StepToolCall {
  /** Counted (`toolu_1`, `call_2`, …) when left out. */
  id?: string
  name: string
  input?: unknown
  /** Sent verbatim instead of `input` on the wires whose arguments are text: half a JSON document, or none. */
  rawInput?: string
}

/**
 * The model's next reply, described once and rendered in the wire format of the request.
 *
 * A chunk is one piece of content (some text, some thinking, some arguments), never a protocol event, so that a count
 * of chunks means the same on every wire. A count of 0 means before the first event. A step has at most one of the four
 * `…AfterChunks`.
 */
export interface Step {
  text?: string
  thinking?: { text: string; signature?: string }
  redactedThinking?: string
  toolCalls?: StepToolCall[]
  /** `tool_use` when there are tool calls, otherwise `end`. */
  stop?: StopKind
  /** Missing values are estimated from the characters of the request and of the reply, four to a token. */
  usage?: Partial<Usage>

  /** Before the status line. */
  delayMs?: number
  /** Before every event after the first. Without it the whole reply goes out in one write. */
  chunkDelayMs?: number
  /** Characters of content in a chunk. */
  chunkSize?: number
  /** Bytes in a write, so that events and characters arrive torn apart. */
  writeSize?: number

  /** Answers with this error status and no content. */
  status?: number
  /** Seconds, sent as the `retry-after` header. */
  retryAfter?: number
  /** The words of the error that `status` or `errorEventAfterChunks` sends. */
  errorMessage?: string
  /** Never answers; the client has to give up. */
  hang?: true
  /** Goes silent after this many chunks, with the connection open. */
  stallAfterChunks?: number
  /** Destroys the socket after this many chunks. */
  cutAfterChunks?: number
  /** Ends the response properly after this many chunks, as if that were all, the way a truncating proxy does. */
  endAfterChunks?: number
  /** Sends an in-stream error after this many chunks and ends; outside a stream, the status of an overload. */
  errorEventAfterChunks?: number
}
