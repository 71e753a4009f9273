import type { LayoutInput } from './layout.ts'
import workerAddress from './layout-worker.ts?worker&url'

interface ScriptPolicy {
  createScriptURL(address: string): string
}

// The page's policy lets a worker begin only from an address that somebody vouches for: this one, and no other.
const { trustedTypes } = globalThis as unknown as {
  trustedTypes?: { createPolicy(name: string, rules: ScriptPolicy): ScriptPolicy }
}
const rules: ScriptPolicy = { createScriptURL: () => workerAddress }
const policy = trustedTypes?.createPolicy('familiar-layout', rules) ?? rules

/** Tells the positions as they become better, until the signal ends it. */
export function startLayout(input: LayoutInput, signal: AbortSignal, onPositions: (positions: Float32Array) => void) {
  const worker = new Worker(policy.createScriptURL(workerAddress), { type: 'module' })
  worker.onmessage = ({ data }: MessageEvent<Float32Array>) => onPositions(data)
  signal.addEventListener('abort', () => worker.terminate())
  worker.postMessage(input)
}
