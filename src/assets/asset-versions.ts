import type { Clock } from '../base/clock.ts'
import { estimateTokens } from '../base/tokens.ts'
import type { Label } from '../protocol/label.ts'
import type { Database, Reader, Writer } from '../storage/database.ts'
import { toIndexKey } from '../storage/index-key.ts'
import type { AssetVersionRow } from '../storage/workspace-tables.ts'
import type { AssetActor, RecordedStep } from './asset-backend.ts'

export interface AssetVersion {
  version: number
  /** Null: it was not there. */
  content: string | null
  tokens: number
  author: 'user' | 'agent'
  trust: Label
  at: number
}

/** Every state that something was in, as far as it was seen: 0 is what was found before the first change. */
export interface AssetVersions {
  /** The newest first. */
  list(userId: string, uri: string): Promise<AssetVersion[]>
  newest(userId: string, uri: string): Promise<AssetVersion | undefined>
  /** In the unit of `writer`, or in one of its own. Answers with the version that is there from now on. */
  record(actor: AssetActor, uri: string, step: RecordedStep, writer?: Writer): Promise<number>
  /** The change that was recorded as this version was not made after all. */
  drop(userId: string, uri: string, version: number): Promise<void>
}

// The oldest go first. What was found before the first change goes with them.
const mostVersions = 50

export function createAssetVersions({ database, clock }: { database: Database; clock: Clock }): AssetVersions {
  async function recordIn(writer: Writer, actor: AssetActor, given: string, step: RecordedStep): Promise<number> {
    const { userId: user_id, author } = actor
    const uri = toIndexKey(given)
    const at = clock.now()
    const known = await newestIn(writer, user_id, uri)
    const { found, next } = step
    let version = known?.version ?? -1
    const insert = async (row: Pick<AssetVersionRow, 'content' | 'author' | 'trust' | 'at'>) => {
      version += 1
      const tokens = row.content === null ? 0 : estimateTokens(row.content)
      await writer
        .insertInto('asset_versions')
        .values({ user_id, uri, version, tokens, ...row })
        .execute()
    }
    // Changed by other means since, or never changed by us: it must come back as it was.
    if (!known || known.content !== (found?.content ?? null)) {
      const trust = known?.trust ?? found?.trust ?? next.trust
      await insert({ content: found?.content ?? null, author: 'user', trust, at: found?.modifiedAt ?? at })
    }
    await insert({ content: next.content, author, trust: next.trust, at })
    await writer
      .deleteFrom('asset_versions')
      .where('user_id', '=', user_id)
      .where('uri', '=', uri)
      .where('version', '<=', version - mostVersions)
      .execute()
    return version
  }

  return {
    list: (userId, uri) => select(database.read, userId, uri).execute(),
    newest: (userId, uri) => newestIn(database.read, userId, uri),
    record: (actor, uri, step, writer) =>
      writer ? recordIn(writer, actor, uri, step) : database.write((own) => recordIn(own, actor, uri, step)),
    async drop(userId, uri, version) {
      await database.write(async (writer) => {
        await writer
          .deleteFrom('asset_versions')
          .where('user_id', '=', userId)
          .where('uri', '=', toIndexKey(uri))
          .where('version', '=', version)
          .execute()
      })
    },
  }
}

function newestIn(reader: Reader | Writer, userId: string, uri: string): Promise<AssetVersion | undefined> {
  return select(reader, userId, uri).limit(1).executeTakeFirst()
}

function select(reader: Reader | Writer, userId: string, uri: string) {
  return reader
    .selectFrom('asset_versions')
    .select(['version', 'content', 'tokens', 'author', 'trust', 'at'])
    .where('user_id', '=', userId)
    .where('uri', '=', toIndexKey(uri))
    .orderBy('version', 'desc')
}
