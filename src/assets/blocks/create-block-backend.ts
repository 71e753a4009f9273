import type { Clock } from '../../base/clock.ts'
import { estimateTokens } from '../../base/tokens.ts'
import type { Database, Reader, Writer } from '../../storage/database.ts'
import type { BlockRow } from '../../storage/workspace-tables.ts'
import type { AssetActor, AssetBackend, AssetChange, AssetChanged, AssetEntry, StoredAsset } from '../asset-backend.ts'
import { type AssetFailure, notThere, tooLarge } from '../asset-failure.ts'
import { checkBudget, pinnedTokens } from './block-budget.ts'
import { blockUri, readBlockFolder, readBlockLabel } from './block-label.ts'

const mostEntries = 1_000

/** Texts in the database, under labels. Those that are pinned are in the prompt, so all of them have a budget. */
export function createBlockBackend(dependencies: {
  database: Database
  clock: Clock
  /** Tokens, as the config has it now. */
  budget: () => number
  /** A block that somebody has pinned is another one now. After the commit. */
  onPinnedChanged(userId: string): Promise<void>
}): AssetBackend {
  const { database, clock, budget, onPinnedChanged } = dependencies

  async function writeIn(
    writer: Writer,
    actor: AssetActor,
    label: string,
    change: AssetChange,
  ): Promise<(AssetChanged & { isPinned: boolean }) | AssetFailure> {
    const { userId: user_id } = actor
    const row = await findRow(writer, user_id, label)
    const found = row && storedOf(row)
    const next = change.next(found)
    if (!next.ok) return next
    if (next.isSame) return { ok: true, next, version: null, isPinned: false }
    const tokens = next.content === null ? 0 : estimateTokens(next.content)
    const pinning = await agentsPinning(writer, user_id, label)
    if (next.content !== null) {
      for (const agent of new Set([actor.agent, ...pinning])) {
        const pinned = await pinnedTokens(writer, { userId: user_id, agent, label })
        const problem = checkBudget(pinned, tokens, budget())
        if (problem) return problem
      }
    }
    const version = await change.record({ found, next }, writer)
    const now = clock.now()
    const written = {
      content: next.content ?? '',
      tokens,
      version,
      is_deleted: next.content === null ? (1 as const) : (0 as const),
      trust: next.trust,
      updated_at: now,
    }
    await writer
      .insertInto('blocks')
      .values({ user_id, label, created_at: now, ...written })
      .onConflict((conflict) => conflict.columns(['user_id', 'label']).doUpdateSet(written))
      .execute()
    return { ok: true, next, version, isPinned: pinning.length > 0 }
  }

  return {
    scheme: 'familiar',
    async locate(_actor, path) {
      const read = readBlockLabel(path)
      if (!read.ok) return read
      return { ok: true, uri: blockUri(read.label), path: blockUri(read.label) }
    },
    async read({ userId }, { uri, path }, mostBytes) {
      const row = await findRow(database.read, userId, labelOf(uri))
      const stored = row && storedOf(row)
      if (!stored) return notThere(path)
      if (Buffer.byteLength(stored.content) > mostBytes) return tooLarge(path, mostBytes)
      return { ok: true, ...stored }
    },
    async stat({ userId }, { uri, path }) {
      const row = await findRow(database.read, userId, labelOf(uri))
      return row && row.is_deleted === 0 ? { ok: true, ...entryOf(row) } : notThere(path)
    },
    async list({ userId }, path) {
      const folder = readBlockFolder(path)
      if (!folder.ok) return folder
      const rows = await database.read
        .selectFrom('blocks')
        .selectAll()
        .where('user_id', '=', userId)
        .where('is_deleted', '=', 0)
        .orderBy('label')
        .execute()
      const { prefix } = folder
      const inside = rows.filter(({ label }) => prefix === '' || label === prefix || label.startsWith(`${prefix}/`))
      const under = inside.length > 0 ? inside : rows.filter(({ label }) => label === `${prefix}.md`)
      if (prefix !== '' && under.length === 0) return notThere(blockUri(prefix))
      return { ok: true, entries: under.slice(0, mostEntries).map(entryOf), isCut: under.length > mostEntries }
    },
    async write(actor, { uri }, change) {
      const changed = await database.write((writer) => writeIn(writer, actor, labelOf(uri), change))
      if (!changed.ok) return changed
      const { isPinned, ...outcome } = changed
      if (isPinned) await onPinnedChanged(actor.userId)
      return outcome
    },
  }
}

function labelOf(uri: string): string {
  return uri.slice(blockUri('').length)
}

function findRow(reader: Reader | Writer, userId: string, label: string): Promise<BlockRow | undefined> {
  return reader
    .selectFrom('blocks')
    .selectAll()
    .where('user_id', '=', userId)
    .where('label', '=', label)
    .executeTakeFirst()
}

async function agentsPinning(writer: Writer, userId: string, label: string): Promise<string[]> {
  const rows = await writer
    .selectFrom('pins')
    .select('agent')
    .where('user_id', '=', userId)
    .where('label', '=', label)
    .execute()
  return rows.map(({ agent }) => agent)
}

function storedOf(row: BlockRow): StoredAsset | undefined {
  if (row.is_deleted) return undefined
  return { content: row.content, trust: row.trust, modifiedAt: row.updated_at }
}

function entryOf({ label, content, updated_at }: BlockRow): AssetEntry {
  const uri = blockUri(label)
  return { uri, path: uri, bytes: Buffer.byteLength(content), modifiedAt: updated_at }
}
