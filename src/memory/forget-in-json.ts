import type { Json } from '../protocol/json.ts'
import { isMentionedIn, type Mentions } from './mentions.ts'

const forgotten = '[forgotten]'

/** What holds the log together: ids, kinds, and the names of tools and models. Never what somebody said. */
const structure = new Set(
  `type id messageId messageIds callId fromSessionId hash mediaType model provider tier source outcome stopReason effect
  about failure foundTools`.split(/\s+/),
)

/** Whatever stands in there is somebody's own: no key of it has a meaning to us. */
const free = new Set(['input', 'metadata'])

/**
 * An event or a message of the inbox with `[forgotten]` for every text that mentions it; undefined where none does.
 * It stays as readable as it was: ids, kinds and names of tools are kept.
 */
export function forgetInRecord(record: Json, mentions: Mentions): Json | undefined {
  const changed = forgetIn(record, mentions)
  return changed === record ? undefined : changed
}

function forgetIn(value: Json, mentions: Mentions): Json {
  if (typeof value === 'string') return mentions(value) ? forgotten : value
  if (value === null || typeof value !== 'object') return value
  if (Array.isArray(value)) return sameOr(value, (item) => forgetIn(item, mentions))
  const { replay, ...rest } = value
  const changed = Object.fromEntries(
    Object.entries(rest).map(([key, item]) => {
      if (free.has(key)) return [key, forgetAnywhere(item, mentions)]
      const isKept = structure.has(key) || (key === 'name' && namesTool(value))
      return [key, isKept ? item : forgetIn(item, mentions)]
    }),
  )
  const isSame = Object.keys(rest).every((key) => changed[key] === rest[key])
  if (replay === undefined) return isSame ? value : changed
  // A provider would refuse a signature over a text that is no longer there.
  return isSame && !isMentionedIn(replay, mentions) ? value : changed
}

function forgetAnywhere(value: Json, mentions: Mentions): Json {
  if (typeof value === 'string') return mentions(value) ? forgotten : value
  if (value === null || typeof value !== 'object') return value
  if (Array.isArray(value)) return sameOr(value, (item) => forgetAnywhere(item, mentions))
  if (!isMentionedIn(value, mentions)) return value
  return Object.fromEntries(
    Object.entries(value).map(([key, item]) => [mentions(key) ? forgotten : key, forgetAnywhere(item, mentions)]),
  )
}

function sameOr(items: Json[], change: (item: Json) => Json): Json[] {
  const changed = items.map(change)
  return changed.every((item, index) => item === items[index]) ? items : changed
}

/** A call of a tool carries its arguments or its call's id; a file or a mark has a name that somebody gave it. */
function namesTool(value: { [key: string]: Json }): boolean {
  return 'callId' in value || 'input' in value
}
