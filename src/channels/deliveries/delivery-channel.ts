import type { LoggedEvent } from '../../sessions/session-event.ts'
import type { Outgoing } from '../outbox/outbox.ts'

/** Of a session, what never changes. */
export interface DeliverySession {
  id: string
  userId: string
  channel: string
  contact: string
}

/** What of the log of sessions goes out over one channel. */
export interface DeliveryChannel {
  channel: string
  /** By what never changes of a session: it is asked once. */
  wants(session: DeliverySession): boolean
  /**
   * What the events become, in their order. Called again after a crash, it must make the same keys of the same events.
   * It only reads.
   */
  toItems(session: DeliverySession, events: readonly LoggedEvent[]): Promise<Outgoing[]>
}
