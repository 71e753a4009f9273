import type { AssetActor, AssetList } from '../../../../assets/asset-backend.ts'
import type { AssetFailure, AssetFailureCode } from '../../../../assets/asset-failure.ts'
import type { AssetRead, Assets, AssetWritten } from '../../../../assets/assets.ts'
import type { Pin, PinnedList } from '../../../../assets/blocks/pins.ts'
import type {
  AssetHistoryReply,
  AssetReadReply,
  AssetsReply,
  AssetVersionReply,
  AssetWrittenReply,
  PinReply,
  PinsReply,
} from '../../../../protocol/asset-api.ts'
import { type ErrorCode, FamiliarError } from '../../../../protocol/error.ts'
import { callerOf } from '../../guards/token-guard.ts'
import type { HttpContext } from '../../http-dependencies.ts'
import { isoTime } from '../../iso-time.ts'

type History = Extract<Awaited<ReturnType<Assets['history']>>, { ok: true }>

/** Whoever holds a token writes as the user that it is of. */
export function actorOf(context: HttpContext, agent = 'main'): AssetActor {
  return { userId: callerOf(context).userId, author: 'user', agent, trust: 'owner' }
}

/** What went well, or the refusal in its words. */
export function orRefuse<T extends { ok: true }>(outcome: T | AssetFailure): T {
  if (outcome.ok) return outcome
  throw new FamiliarError(errorCodes[outcome.code] ?? 'bad_request', outcome.message)
}

const errorCodes: Partial<Record<AssetFailureCode, ErrorCode>> = {
  not_found: 'not_found',
  no_version: 'not_found',
  outside: 'forbidden',
  protected: 'forbidden',
  no_permission: 'forbidden',
  linked: 'forbidden',
  read_only: 'forbidden',
  conflict: 'conflict',
  moved: 'conflict',
  budget: 'conflict',
  absent: 'conflict',
  ambiguous: 'conflict',
  too_large: 'payload_too_large',
  binary: 'unsupported_media_type',
}

export function readReply(read: AssetRead): AssetReadReply {
  const { uri, path, text, lines, note, etag, version, trust } = read
  return {
    uri,
    path,
    text,
    first_line: read.firstLine,
    last_line: read.lastLine,
    lines,
    note,
    etag,
    version,
    trust,
    modified_at: isoTime(read.modifiedAt),
  }
}

export function writtenReply(
  written: AssetWritten & { count?: number | undefined; restored?: number | undefined },
): AssetWrittenReply {
  const { uri, path, isNew, isChanged, etag, version, trust, count, restored } = written
  return { uri, path, is_new: isNew, is_changed: isChanged, etag, version, trust, count, restored }
}

export function listReply({ entries, isCut }: AssetList): AssetsReply {
  return {
    entries: entries.map(({ uri, path, bytes, modifiedAt }) => {
      return { uri, path, bytes, modified_at: isoTime(modifiedAt) }
    }),
    is_cut: isCut,
  }
}

export function historyReply({ uri, path, versions }: History): AssetHistoryReply {
  return {
    uri,
    path,
    versions: versions.map(({ version, at, author, trust, tokens, content }) => {
      return { version, at: isoTime(at), author, trust, tokens, was_there: content !== null }
    }),
  }
}

export function versionReply({ uri, path, versions }: History, wanted: string): AssetVersionReply {
  const found = versions.find(({ version }) => String(version) === wanted)
  if (!found) throw new FamiliarError('not_found', `There is no such version of ${path}.`)
  return { uri, path, version: found.version, content: found.content }
}

export function pinReply({ label, position, tokens, trust, pinnedAt }: Pin): PinReply {
  return { label, position, tokens, trust, pinned_at: isoTime(pinnedAt) }
}

export function pinsReply({ pins, tokens, budget }: PinnedList): PinsReply {
  return { pins: pins.map(pinReply), tokens, budget }
}
