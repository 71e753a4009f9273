import type { ExpandMessage } from '../agent/expand-message.ts'
import type { AssetActor } from '../assets/asset-backend.ts'
import type { AssetFailure } from '../assets/asset-failure.ts'
import type { Assets } from '../assets/assets.ts'
import { blockUri } from '../assets/blocks/block-label.ts'
import { expandReferences, type ReferenceText } from '../assets/expansion/expand-references.ts'
import type { FileBounds } from '../assets/files/locate-file.ts'
import { readFileBytes } from '../assets/files/read-file-bytes.ts'
import { asData } from '../sessions/as-data.ts'
import type { MediaStore } from '../sessions/media-store.ts'

/** What a message names, out of the user's files and blocks. */
export function createExpandMessage({
  assets,
  boundsOf,
  media,
}: {
  assets: Pick<Assets, 'read' | 'load'>
  boundsOf(userId: string): FileBounds
  media: Pick<MediaStore, 'put'>
}): ExpandMessage {
  /** Of what is too large to be written, its beginning. */
  async function read(userId: string, path: string): Promise<ReferenceText | AssetFailure> {
    const actor: AssetActor = { userId, author: 'user', agent: 'main', trust: 'owner' }
    const whole = await assets.load(actor, { path })
    if (whole.ok) return { ok: true, path: whole.path, text: whole.content, note: null, trust: whole.trust }
    if (whole.code !== 'too_large') return whole
    const page = await assets.read(actor, { path })
    return page.ok ? { ok: true, path: page.path, text: page.text, note: page.note, trust: page.trust } : page
  }

  return ({ userId, text, signal }) =>
    expandReferences({
      text,
      userId,
      signal,
      readFile: ({ path }) => read(userId, path),
      readBlock: ({ path }) => read(userId, blockUri(path)),
      readBytes: ({ path, mostBytes }) => readFileBytes(boundsOf(userId), { path, mostBytes }),
      keepMedia: media.put,
      asData,
    })
}
