import type { AssetWrittenReply } from '../../../src/protocol/asset-api.ts'
import { ApiError, ask } from '../api/ask.ts'
import { apiPath, labelOf } from './block-label.ts'
import type { Block } from './use-block.ts'

/** The same text under another label, at the same place in the prompt. The old one goes last: at no time is there none. */
export async function renameBlock(request: {
  label: string
  to: string
  block: Block
  /** Where it is pinned; undefined where it is not. */
  position: number | undefined
}): Promise<string> {
  const { label, to, block, position } = request
  // Both together may be larger than the budget: the old one makes room first.
  if (position !== undefined) await ask('/pins', { method: 'DELETE', query: { label } })
  try {
    const body = { content: block.content, etag: null }
    const written = await ask<AssetWrittenReply>(apiPath(to), { method: 'PUT', body })
    const renamed = labelOf(written.path)
    if (position !== undefined) await ask('/pins', { body: { label: renamed, position } })
    await ask(apiPath(label), { method: 'DELETE', query: { etag: block.etag } })
    return renamed
  } catch (error) {
    if (position !== undefined) await ask('/pins', { body: { label, position } }).catch(() => undefined)
    const isTaken = error instanceof ApiError && error.status === 409 && /changed in the meantime/.test(error.message)
    throw isTaken ? new Error('There is a block of this name already, or this one was changed just now.') : error
  }
}
