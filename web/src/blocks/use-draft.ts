import { useState } from 'react'
import type { Block } from './use-block.ts'

export interface Draft {
  content: string
  /** Of what it was made from. */
  etag: string
}

/** What is typed and not saved, kept over a reload together with what it was made from. */
export function useDraft(label: string, block: Block) {
  const name = `familiar.block.${label}`
  const [typed, setTyped] = useState<Draft | undefined>(() => readDraft(sessionStorage.getItem(name)))

  function setDraft(draft: Draft | undefined): void {
    setTyped(draft)
    if (draft === undefined) sessionStorage.removeItem(name)
    else sessionStorage.setItem(name, JSON.stringify(draft))
  }

  return {
    // Nothing typed: whatever is there now.
    draft: typed ?? { content: block.content, etag: block.etag },
    setDraft,
    drop: () => setDraft(undefined),
  }
}

function readDraft(text: string | null): Draft | undefined {
  if (text === null) return undefined
  const { content, etag } = JSON.parse(text) as Partial<Draft>
  return typeof content === 'string' && typeof etag === 'string' ? { content, etag } : undefined
}
