import type { IncomingHttpHeaders } from 'node:http'
import type { Conversation } from './conversation.ts'
import type { Issued } from './issued.ts'
import type { JsonObject } from './json.ts'
import type { Reply } from './reply.ts'

export type WireName = 'anthropic' | 'openai-chat' | 'openai-responses' | 'google' | 'ollama'

/** A request whose body has been parsed but not yet believed. */
export interface Call {
  path: string
  headers: IncomingHttpHeaders
  body: JsonObject
}

/** Why a provider would refuse a request. */
export interface Rejection {
  status: number
  message: string
  param?: string
  code?: string
}

/** One event of a stream. Only frames that carry content count as chunks. */
export interface Frame {
  data: string
  content: boolean
}

/** One provider's protocol. Reads and renders; it holds no state and never touches the socket. */
export interface Wire {
  name: WireName
  matches(path: string): boolean
  streamType: string
  toolCallPrefix: string
  model(call: Call): string
  wantsStream(call: Call): boolean
  read(body: JsonObject): Conversation
  /** The provider's objections to the request, in its own words. */
  validate(call: Call, issued: Issued): Rejection | undefined
  /** Notes what the reply hands out, so that `validate` knows it again. */
  remember(reply: Reply, call: Call, issued: Issued): void
  stream(reply: Reply, call: Call): Frame[]
  whole(reply: Reply, call: Call): JsonObject
  /** Body of an error response. */
  error(rejection: Rejection): JsonObject
  /** An error in the middle of a stream. */
  errorFrame(message: string): string
  loneSurrogates?: 'accepted'
}

export function invalid(message: string, fields: Omit<Rejection, 'status' | 'message'> = {}): Rejection {
  return { status: 400, message, ...fields }
}
