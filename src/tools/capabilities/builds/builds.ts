import type { Seen } from '../../../policy/gate.ts'
import type { BuildEvent } from '../../../protocol/build-api.ts'
import type { Json } from '../../../protocol/json.ts'
import type { BuildRow } from '../../../storage/capability-tables.ts'
import type { Writer } from '../../../storage/database.ts'

export interface Build {
  id: string
  userId: string
  capabilityId: string
  name: string
  kind: BuildRow['kind']
  state: BuildRow['state']
  request: BuildRequest
  /** The conversation that asked for it. */
  sessionId: string | null
  error: string | null
  createdAt: number
  endedAt: number | null
}

interface BuildRequest {
  description: string
  inputSchema: { [key: string]: Json }
  /** Of a repair: what failed, and with what. */
  failure: { input: Json; error: string } | null
  /** What the conversation that asked for it had in sight: the build inherits it (SEC-17). */
  seen: Seen
}

export interface BuildQuestion {
  id: string
  buildId: string
  name: string
  kind: 'question' | 'secret'
  question: string
  /** With `secret`: the name that it is kept under. */
  secret: string | null
  /** The Builder had words of others in sight when it asked. */
  isUntrusted: boolean
  askedAt: number
  expiresAt: number
}

/** What a worker for a build is told, and where: the loop that does it is the agent's. */
export interface BuildWork {
  /** Begins the loop, once for each build however often it is called; resolves when that is durable. */
  begin(build: Build, text: string): Promise<void>
  /** Ends it where it runs. */
  stop(build: Build): Promise<void>
  /** `alive`: it waits, runs or will be resumed. */
  state(build: Build): Promise<'unbegun' | 'alive' | 'over'>
}

/**
 * Builds of capabilities: durable work in the background (CAP-2, CAP-3, CAP-7). Every build ends as complete, failed or
 * stopped, after a crash too. Its events are written before anybody sees them, and read from any cursor.
 */
export interface Builds {
  /** At start, after the agent has taken up its turns: what is alive goes on, what is not has failed. */
  recover(): Promise<void>
  /** The same call of the same conversation is the same build. `conflict` where that name is being built already. */
  request(wanted: {
    userId: string
    name: string
    kind: BuildRow['kind']
    request: BuildRequest
    sessionId: string | null
    callId: string | null
  }): Promise<Build>
  /** The loop has ended: a build that did not register has failed, for this reason. */
  ended(buildId: string, why: { isStopped: boolean; reason: string }): Promise<void>
  stop(userId: string, buildId: string): Promise<boolean>
  find(userId: string, buildId: string): Promise<Build | undefined>
  /** Newest first. */
  list(userId: string, options?: { name?: string; state?: BuildRow['state']; limit?: number }): Promise<Build[]>
  questions(userId: string): Promise<BuildQuestion[]>
  /**
   * `conflict` where it was answered or has expired. `seen` is what a model had in sight that wrote the answer down; the
   * build inherits it with the words. Absent: they are the user's own.
   */
  answer(userId: string, questionId: string, answer: string, seen?: Seen): Promise<void>
  /** The value goes into the vault and nowhere else. */
  giveSecret(userId: string, questionId: string, value: string): Promise<void>
  /** A secret of the capability was set in another way: whoever waits for it goes on. */
  noticeSecret(userId: string, name: string, secret: string): Promise<void>
  /** The events after the cursor that are there already, in order: for a reader that does not wait. */
  eventsSoFar(build: { userId: string; buildId: string; after: number }): Promise<BuildEvent[]>
  /** Every event after the cursor, once each and in order; then what comes, until the build has ended or the signal aborts. */
  events(build: { userId: string; buildId: string; after: number; signal: AbortSignal }): AsyncGenerator<BuildEvent>
  /**
   * What a conversation has not heard yet: ends of the builds that it asked for, and questions that wait. With
   * `isUntrusted` a question among them may be in the words of others.
   */
  news(session: {
    userId: string
    sessionId: string
  }): Promise<{ lines: string[]; builds: string[]; isUntrusted: boolean }>
  /** In the unit that writes that it was told. */
  markToldIn(writer: Writer, builds: readonly string[]): Promise<void>
  /** Called after something was written about any build; carries nothing: whoever listens reads. */
  onChange(listener: () => void): () => void
  /** Ends no build; only no timer runs any more. */
  close(): Promise<void>
}
