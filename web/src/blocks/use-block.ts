import { useCallback, useEffect, useState } from 'react'
import type { AssetReadReply, AssetVersionReply } from '../../../src/protocol/asset-api.ts'
import { ask } from '../api/ask.ts'
import { apiPath } from './block-label.ts'

export interface Block {
  content: string
  etag: string
  version: number
  trust: AssetReadReply['trust']
  modifiedAt: string
}

/** A block as a whole. What is too long for one reading is taken from its version, which never changes. */
export async function loadBlock(label: string, signal?: AbortSignal): Promise<Block> {
  const options = signal ? { signal } : {}
  const read = await ask<AssetReadReply>(apiPath(label), options)
  const { etag, version, trust, modified_at: modifiedAt } = read
  const content = read.note === null ? read.text : await loadVersion(label, version, signal)
  return { content: content ?? read.text, etag, version, trust, modifiedAt }
}

export async function loadVersion(label: string, version: number, signal?: AbortSignal): Promise<string | null> {
  const path = `${apiPath(label)}/versions/${version}`
  const { content } = await ask<AssetVersionReply>(path, signal ? { signal } : {})
  return content
}

/** The block as it was last read; read again by `refresh`. */
export function useBlock(label: string) {
  const [block, setBlock] = useState<Block>()
  const [error, setError] = useState<Error>()
  const [turn, setTurn] = useState(0)
  // biome-ignore lint/correctness/useExhaustiveDependencies: `turn` is what reads again.
  useEffect(() => {
    const controller = new AbortController()
    loadBlock(label, controller.signal).then(
      (loaded) => {
        setBlock(loaded)
        setError(undefined)
      },
      (cause: Error) => {
        if (controller.signal.aborted) return
        setBlock(undefined)
        setError(cause)
      },
    )
    return () => controller.abort()
  }, [label, turn])
  const refresh = useCallback(() => setTurn((before) => before + 1), [])
  return { block, error, refresh, put: setBlock }
}
