import type { z } from 'zod'
import type { Json } from '../../../protocol/json.ts'

/** What came of one call of the Bot API, as far as it is known. */
export type TelegramAnswer<T> =
  | { kind: 'ok'; result: T }
  /** It was refused; with 429 Telegram says how long to wait. */
  | { kind: 'refused'; code: number; description: string; retryAfterSeconds: number | null; movedTo: number | null }
  /** Nothing reached Telegram: no address, no connection. */
  | { kind: 'unreached'; reason: string }
  /** It was sent, and no answer that can be understood came: it may have been done. */
  | { kind: 'unknown'; reason: string }

export interface TelegramFile {
  name: string
  mediaType: string
  data: Uint8Array
}

/**
 * The Bot API over the guarded fetch. Never throws but for an abort. The token stands in every address: no reason and no log
 * line holds one.
 */
export interface TelegramApi {
  call<T>(
    method: string,
    parameters: Readonly<Record<string, Json>>,
    options: {
      result: z.ZodType<T>
      signal: AbortSignal
      /** How long an answer may take, beside what a long poll waits. */
      timeoutMs?: number
      /** Sent along, each under the name of its parameter. */
      files?: Readonly<Record<string, TelegramFile>>
    },
  ): Promise<TelegramAnswer<T>>
  /** A file that `getFile` has named, of `maxBytes` at most. */
  download(path: string, options: { maxBytes: number; signal: AbortSignal }): Promise<TelegramAnswer<Uint8Array>>
  close(): Promise<void>
}
