import type { IncomingHttpHeaders } from 'node:http'
import type { Conversation, Message } from './conversation.ts'
import type { JsonObject } from './json.ts'
import type { WireName } from './wire.ts'

/** A model call as it came in, and what became of it. */
export interface RecordedRequest {
  /** Order of arrival, from 1. */
  n: number
  wire: WireName
  path: string
  headers: IncomingHttpHeaders
  /** Empty when the bytes are not a JSON object. */
  body: JsonObject
  bytes: string
  /** Milliseconds since the epoch. */
  at: number
  endedAt?: number
  /** The status sent; missing when none was. */
  status?: number
  /** The reasons for which the provider would have rejected it. */
  rejection?: string
  /** The client closed the connection before the reply was complete. */
  aborted: boolean
}

/** The input of a function that decides on a reply: the same for every wire. */
export interface ModelRequest extends Conversation {
  n: number
  wire: WireName
  model: string
  stream: boolean
  lastUserText: string
  /** The results that answer the assistant's last message. */
  toolResults: Message['toolResults']
  bytes: string
}
