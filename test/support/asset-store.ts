import { mkdirSync, mkdtempSync, realpathSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Label } from '../../src/protocol/messages.ts'
import type { AssetActor, AssetBackend } from '../../src/tools/files/assets.ts'
import type { FileBounds } from '../../src/tools/files/file-backend.ts'
import { openAssets } from '../../src/tools/files/open-assets.ts'
import { createManualClock } from './manual-clock.ts'
import { openTestDatabase } from './open-test-database.ts'

/** A real database with the users `max`, who has a workspace and one more folder, and `eve`, who has no files. */
export async function openAssetStore(options: { budget?: number; others?: AssetBackend[]; at?: string } = {}) {
  const base = options.at ?? realpathSync(mkdtempSync(join(tmpdir(), 'familiar-assets-')))
  const home = join(base, 'home')
  const workspace = join(home, 'workspace')
  const shared = join(base, 'shared')
  const outside = join(base, 'outside')
  for (const folder of [workspace, shared, outside]) mkdirSync(folder, { recursive: true, mode: 0o700 })
  const clock = createManualClock()
  const database = await openTestDatabase({ directory: base, clock })
  if (options.at === undefined) {
    await database.write(async (writer) => {
      const users = ['max', 'eve'].map((id) => ({ id, name: id, role: 'user' as const, created_at: clock.now() }))
      await writer.insertInto('users').values(users).execute()
    })
  }
  const limits = { budget: options.budget ?? 100_000 }
  const boundsOf = (userId: string): FileBounds => ({
    roots:
      userId === 'max'
        ? [
            { path: workspace, trust: 'owner' },
            { path: shared, trust: 'untrusted' },
          ]
        : [],
    closed: [home],
  })
  const opened = openAssets({
    database,
    clock,
    budget: () => limits.budget,
    boundsOf,
    promptFiles: () => ['TONE.md'],
    promptFolders: () => [join(shared, 'abilities')],
    ...(options.others && { others: options.others }),
  })
  await opened.pinned.start()
  return {
    ...opened,
    boundsOf,
    base,
    home,
    workspace,
    shared,
    outside,
    clock,
    database,
    limits,
    async close({ keep = false } = {}) {
      await database.close()
      if (!keep) await rm(base, { recursive: true, force: true })
    },
  }
}

export type AssetStore = Awaited<ReturnType<typeof openAssetStore>>

/** Max at the command line. */
export const max: AssetActor = { userId: 'max', author: 'user', agent: 'main', trust: 'owner' }
export const eve: AssetActor = { ...max, userId: 'eve' }

/** Max's agent. */
export function agentOfMax(trust: Label = 'internal'): AssetActor {
  return { userId: 'max', author: 'agent', agent: 'main', trust }
}

/** A text of about so many tokens. */
export function textOf(tokens: number): string {
  return 'tea '.repeat(tokens)
}
