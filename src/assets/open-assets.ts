import type { Clock } from '../base/clock.ts'
import type { Database } from '../storage/database.ts'
import type { AssetBackend } from './asset-backend.ts'
import type { Assets } from './assets.ts'
import { createBlockBackend } from './blocks/create-block-backend.ts'
import { createPinnedBlocks, type PinnedBlocks } from './blocks/pinned-blocks.ts'
import { createPins, type Pins } from './blocks/pins.ts'
import { createAssets } from './create-assets.ts'
import { createFileBackend } from './files/create-file-backend.ts'
import type { FileBounds } from './files/locate-file.ts'

/** Files, blocks and pins, and what of them is in the prompt. */
export interface OpenAssets {
  assets: Assets
  pins: Pins
  pinned: PinnedBlocks
  /** Whose pins a session has: `main` where nothing else is said. */
  agentOf(userId: string, sessionId: string): Promise<string>
}

export function openAssets(dependencies: {
  database: Database
  clock: Clock
  /** Tokens of blocks, as the config has it now. */
  budget: () => number
  /** Which folders a user reaches. */
  boundsOf(userId: string): FileBounds
  /** Further files of the workspace that the config puts into the prompt. */
  promptFiles?: () => readonly string[]
  /** Folders of skills beside the workspace's own. */
  promptFolders?: () => readonly string[]
  /** Backends beside files and blocks. */
  others?: readonly AssetBackend[]
}): OpenAssets {
  const { database, others = [] } = dependencies
  const pinned = createPinnedBlocks(dependencies)
  const needs = { ...dependencies, onPinnedChanged: pinned.refresh }
  const backends = [createFileBackend(dependencies), createBlockBackend(needs), ...others]
  return {
    assets: createAssets({ ...dependencies, backends }),
    pins: createPins(needs),
    pinned,
    async agentOf(userId, sessionId) {
      const row = await database.read
        .selectFrom('sessions')
        .select('agent')
        .where('id', '=', sessionId)
        .where('user_id', '=', userId)
        .executeTakeFirst()
      return row?.agent ?? 'main'
    },
  }
}
