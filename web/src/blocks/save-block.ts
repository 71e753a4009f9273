import type { AssetWrittenReply } from '../../../src/protocol/asset-api.ts'
import { ApiError, ask } from '../api/ask.ts'
import { apiPath } from './block-label.ts'
import { type Block, loadBlock } from './use-block.ts'

export type Saved =
  | { kind: 'saved'; block: Block }
  | { kind: 'conflict'; theirs: Block }
  | { kind: 'refused'; message: string }

/** Writes over what the etag is of, and over nothing else. */
export async function saveBlock(write: { label: string; content: string; etag: string }): Promise<Saved> {
  const { label, content, etag } = write
  try {
    await ask<AssetWrittenReply>(apiPath(label), { method: 'PUT', body: { content, etag } })
    return { kind: 'saved', block: await loadBlock(label) }
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error)
    if (!(error instanceof ApiError) || error.status !== 409) return { kind: 'refused', message }
    // The budget is refused in the same way: only another text is a conflict.
    const theirs = await loadBlock(label).catch(() => undefined)
    return theirs && theirs.etag !== etag ? { kind: 'conflict', theirs } : { kind: 'refused', message }
  }
}
