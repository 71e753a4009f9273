/** What goes out of the house and who may come in from outside: the outbox, the contacts of channels, links of one use. */
export interface ChannelTables {
  outbox: OutboxRow
  delivery_cursors: DeliveryCursorRow
  channel_marks: ChannelMarkRow
  channel_contacts: ChannelContactRow
  pairing_codes: PairingCodeRow
  one_time_links: OneTimeLinkRow
}

/** What is to be sent, and what is known of whether it arrived. */
export interface OutboxRow {
  id: string
  user_id: string
  /** Who sends it: `telegram`, `callback`. */
  channel: string
  /** Where to, in the words of the channel. What goes to one address goes in order. */
  address: string
  /** What it is made of; the same one is put in once (unique in its channel). */
  key: string
  /** JSON, as the channel's sender reads it. */
  payload: string
  state: 'pending' | 'sending' | 'sent' | 'unknown' | 'failed' | 'cancelled'
  attempts: number
  /** Not before; null once nothing more is tried. */
  next_at: number | null
  error: string | null
  /** What the other side calls it. */
  external_id: string | null
  session_id: string | null
  /** The one of unknown outcome that this one says again. */
  repeats: string | null
  created_at: number
  updated_at: number
}

/** How far the log of a session has been put into the outbox of a channel. */
interface DeliveryCursorRow {
  channel: string
  session_id: string
  seq: number
}

/** What a channel keeps of itself: how far it has read, since when it is in use. */
interface ChannelMarkRow {
  channel: string
  name: string
  value: string
  updated_at: number
}

/** Who speaks as which user from outside. */
interface ChannelContactRow {
  channel: string
  /** The number that the channel knows the person by. */
  address: string
  user_id: string
  /** As they call themselves there: shown, never believed. */
  name: string
  paired_at: number
}

/** Of one use and a short life: whoever sends it from outside becomes a contact of the user who made it. */
interface PairingCodeRow {
  id: string
  channel: string
  user_id: string
  code_hash: string
  created_at: number
  expires_at: number
  used_at: number | null
}

/** An address that does one thing, once, for a short time. */
export interface OneTimeLinkRow {
  id: string
  user_id: string
  /** sha256 of what stands in the address. */
  token_hash: string
  purpose: 'secret' | 'sign_in'
  /** With `secret`: the question that it answers. */
  subject: string
  created_at: number
  expires_at: number
  used_at: number | null
}
