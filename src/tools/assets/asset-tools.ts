import type { Assets } from '../../assets/assets.ts'
import type { Tool } from '../tool.ts'
import type { AssetNeeds } from './asset-needs.ts'
import { createFileEdit } from './file-edit.ts'
import { createFileRead } from './file-read.ts'
import { createFileWrite } from './file-write.ts'
import { createLastSeen } from './last-seen.ts'

/** Files and blocks, for the model: the same three tools for both (ASSET-1). */
export function createAssetTools(needs: AssetNeeds & { assets: Pick<Assets, 'stat'> }): Tool[] {
  const lastSeen = createLastSeen()
  return [createFileRead(needs, lastSeen), createFileWrite(needs, lastSeen), createFileEdit(needs, lastSeen)]
}
